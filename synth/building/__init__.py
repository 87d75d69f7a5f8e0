"""Building sets: requests, plans executed by workers, sets made again."""

WARM = f"{__name__}.preload_kernels"
"""The module that loads what workers need, compiled kernels included; a name, so that asking for it
loads nothing."""
LOADED = f"{__name__}.make_unit"
"""The same for workers that make no lows, and need no kernels."""
