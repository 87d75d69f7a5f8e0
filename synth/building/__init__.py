"""Building sets: requests, plans executed by workers, sets made again."""

PRELOAD = f"{__name__}.preload"
"""The module that loads what workers need; a name, so that asking for it loads nothing."""
