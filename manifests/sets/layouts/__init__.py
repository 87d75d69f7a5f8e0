"""The two ways in which a set holds its samples, by name."""

from __future__ import annotations

from ....errors import SetError
from .files import Files
from .layout import Layout
from .shards import Shards

SHARDS, FILES = Shards(), Files()
LAYOUTS: dict[str, Layout] = {layout.name: layout for layout in (SHARDS, FILES)}


def layout_named(name: str) -> Layout:
    """Return the layout of a name.

    Raises SetError when there is none.
    """
    if name not in LAYOUTS:
        raise SetError(f"layout {name!r}: must be one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]
