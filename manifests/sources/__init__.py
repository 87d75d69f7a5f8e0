"""Sources of photographs.

Containers (folder, tar, zip), the layouts of known collections, and reading one image.
"""

from .collections import KINDS, Listed, counted, list_source
from .containers import Location, read
from .spec import Source, parse_source

__all__ = [
    "KINDS",
    "Listed",
    "Location",
    "Source",
    "counted",
    "list_source",
    "parse_source",
    "read",
]
