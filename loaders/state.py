"""States of loaders: small dicts of the epoch, the position in it, and the data.

Any other loader refuses them.
"""

from __future__ import annotations

from typing import Any

from ..errors import LoaderError
from ..manifests.sets.info import differences
from .index import Contents
from .options import Options
from .ranks import Rank

VERSION = 1


def fingerprint(contents: Contents, options: Options, rank: Rank, reader: str) -> dict[str, Any]:
    """Return the facts that two loaders must share for their states to be exchanged."""
    return {
        "version": VERSION,
        "data": contents.identity,
        "split": contents.split,
        "pairs": contents.count,
        "reader": reader,
        "rank": rank.rank,
        "world_size": rank.world,
        "options": options.fingerprint(),
    }


def check_state(state: dict[str, Any], own: dict[str, Any]) -> None:
    """Check that a state is one of this very loader.

    Raises LoaderError with everything that differs.
    """
    if not isinstance(state, dict) or "fingerprint" not in state:
        raise LoaderError("not a state of a gloam loader")
    found = differences(state["fingerprint"], own)
    if found:
        raise LoaderError("the state is of another loader: " + "; ".join(found))
