"""Contents of folders, as tests compare them."""

from __future__ import annotations

from pathlib import Path


def files_of(root: Path) -> dict[str, bytes]:
    """All files below a folder or an address, by their paths."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
