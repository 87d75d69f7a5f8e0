"""Contents of folders, as tests compare them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from gloam.storage.stores import place


def files_of(root: Path) -> dict[str, bytes]:
    """All files below a folder or an address, by their paths."""
    names = place(root).facts()
    if names is None:
        found = (path for path in root.rglob("*") if path.is_file())
        names = dict.fromkeys(path.relative_to(root).as_posix() for path in found)
    return {name: (root / name).read_bytes() for name in sorted(names, key=PurePosixPath)}
