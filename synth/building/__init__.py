"""Building sets: requests, plans executed by workers, sets made again."""

WARM = f"{__name__}.preloading.warm"
"""The module that loads what workers need, compiled kernels included; a name, so that asking for it
loads nothing."""
LOADED = f"{__name__}.preloading.loaded"
"""The same for workers that make no lows, and need no kernels."""
