"""Sources of photographs: containers, layouts of known collections, and reading one image."""

from .collections import KINDS, Listed, format_counts, list_source
from .containers import Location, read
from .spec import Source, parse_source

__all__ = ["KINDS", "Listed", "Location", "Source"]
__all__ += ["format_counts", "list_source", "parse_source", "read"]
