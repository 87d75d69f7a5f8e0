"""Folders of images that are nobody's set: which images lie below one, by name."""

from __future__ import annotations

from pathlib import Path

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
