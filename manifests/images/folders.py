"""Folders of images that are nobody's set: which images lie below one, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import SourceError
from .header import SUFFIXES


def image_files(folder: Path) -> dict[str, Path]:
    """List the images below a folder, in the order of their paths.

    Each is under its relative path without suffix.

    Raises
    ------
    SourceError
        When there is no such folder, no image in it, or two of one name.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder}: not a folder", path=folder)
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            name = path.relative_to(folder).with_suffix("").as_posix()
            if name in found:
                raise SourceError(
                    f"{path}: {found[name].name} has the same name but for its suffix; which of the"
                    " two is meant?",
                    path=path,
                )
            found[name] = path
    if not found:
        raise SourceError(f"{folder}: holds no images ({', '.join(sorted(SUFFIXES))})", path=folder)
    return found


def image_pairs(lows: Path, normals: Path | None, most: int) -> list[tuple[str, Path, Path | None]]:
    """List at most `most` images of a folder, evenly spread, each with its partner in another.

    Parameters
    ----------
    lows, normals : Path
        Partners have equal names in both; suffixes may differ. Without `normals` they have none.
    most : int

    Returns
    -------
    list of (name, low, normal or None)

    Raises
    ------
    SourceError
        When there is nothing in a folder, or an image has no partner.
    """
    files = image_files(lows)
    partners: dict[str, Path] = {} if normals is None else image_files(normals)
    if normals is not None:
        alone = sorted(files.keys() ^ partners.keys())
        if alone:
            where = lows if alone[0] in files else normals
            raise SourceError(
                f"{where}: {alone[0]} has no partner of that name, nor have {len(alone) - 1} others"
            )
    names = list(files)
    chosen = np.unique(np.linspace(0, len(names) - 1, min(most, len(names))).astype(int))
    return [(name, files[name], partners.get(name)) for name in (names[i] for i in chosen)]
