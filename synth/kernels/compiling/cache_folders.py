"""The folders of compiled kernels, so that they are compiled once on a machine.

The first of these folders that has them, compiled from these very sources, is read; the first that
can be written takes what is compiled:

1. `NUMBA_CACHE_DIR`, where it is set;
2. `__pycache__` beside the kernels, where an image or a package can bring them along;
3. `gloam` in the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`);
4. a folder of the user's own in the temporary folder, with a warning.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ....engines.process import is_own_process
from ....errors import GloamWarning

_KERNELS = Path(__file__).parent.parent


def announce(gpu: bool = False) -> None:
    """Announce that kernels are about to be compiled, for this CPU or a GPU: here, do nothing.

    The command puts another function in its place, which says so.
    """


@dataclass(frozen=True)
class Places:
    """Folders that hold compiled kernels already, and the one that takes new ones.

    The latter is None where nothing can be written.
    """

    readable: tuple[Path, ...]
    writable: Path | None


@lru_cache(maxsize=1)
def places() -> Places:
    """Find where compiled kernels are, and where new ones go."""
    name = f"gloam-{sources_hash()[:16]}"
    readable = tuple(folder / name for folder in _folders() if any((folder / name).glob("*.nbi")))
    writable = next((folder / name for folder in _folders() if _can_write(folder / name)), None)
    if writable is not None and writable.parent.name == "__pycache__":
        for old in set(writable.parent.glob("gloam-*")) - {
            writable
        }:  # of sources that are not there any more
            shutil.rmtree(old, ignore_errors=True)
    if writable is None:
        writable = _temporary(name)
        if not readable and not is_own_process() and not (writable and any(writable.glob("*.nbi"))):
            warnings.warn(
                "compiled kernels can be kept neither beside gloam nor in the user's cache folder; "
                f"they go to {writable or 'nowhere'} (NUMBA_CACHE_DIR names another place)",
                GloamWarning,
                stacklevel=2,
            )
    return Places(tuple(folder for folder in readable if folder != writable), writable)


def announce_compiling() -> None:
    """Announce that kernels are about to be compiled, if they are."""
    if not are_compiled():
        announce()


def are_compiled() -> bool:
    """Return whether kernels were compiled from these sources before."""
    found = places()
    return bool(found.readable) or (
        found.writable is not None and any(found.writable.glob("*.nbi"))
    )


@lru_cache(maxsize=1)
def sources_hash() -> str:
    """Hash all that may be compiled into a kernel; Numba looks at the file that holds one."""
    digest = hashlib.sha256()
    for path in sorted(_KERNELS.rglob("*.py")):
        digest.update(path.relative_to(_KERNELS).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _folders() -> Iterator[Path]:
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"])
    yield _KERNELS / "__pycache__"
    with suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gloam"


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _temporary(name: str) -> Path | None:
    """Return a folder that nobody else can write to: what lies in it is run."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"gloam-kernels-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if status.st_uid == user and not status.st_mode & 0o022 and _can_write(folder / name):
            return folder / name
    return None
