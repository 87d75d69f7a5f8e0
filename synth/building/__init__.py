"""Building sets: requests, plans executed by workers, sets made again."""

WARM = f"{__name__}.warm"
"""The module that loads what workers need; a name, so that asking for it loads nothing."""
