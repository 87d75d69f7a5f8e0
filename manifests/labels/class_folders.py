"""Classes that folders are named by: ImageNet's synsets, and any folder of class folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

_SYNSET = re.compile(r"n\d{8}")


def synset_of(path: str) -> str:
    """Return the synset in a path of ImageNet's, "" where there is none (its validation images)."""
    return next((part for part in PurePosixPath(path).parts[:-1] if _SYNSET.fullmatch(part)), "")


def classes_in(paths: Sequence[str]) -> list[str]:
    """Return the class of each of all paths of a `classes` source: the folder it lies in.

    Like torchvision's ImageFolder it takes the first folder below the source; or below the one
    folder that all lies in, as archives have it.
    """
    parts = [PurePosixPath(path).parts for path in paths]
    level = 0
    while all(len(one) > level + 2 for one in parts) and len({one[level] for one in parts}) == 1:
        level += 1
    return [one[level] for one in parts]
