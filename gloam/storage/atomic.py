"""Artefacts that are either whole or not there, and are read back as exact bytes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..errors import SetError

TEMPORARY_MARK = ".tmp-"
_URI = re.compile(
    r"(s3|gs|gcs|az|abfss?|wasbs?|hdfs|hf|https?|ftp|file|memory):/"
)  # pathlib leaves one slash of two


def refuse_uri(path: Path | str) -> None:
    """Refuse the address of an object store where a folder is wanted.

    Before a folder of that name is made.

    Raises
    ------
    SetError
        When it is one.
    """
    if _URI.match(str(path)) and not Path(Path(path).parts[0]).exists():
        raise SetError(
            f"{path}: sets lie in folders; build it in one, and copy it to the store", path=path
        )


def temporary_beside(path: Path) -> Path:
    """Return the name under which this process writes what is to become `path`.

    It lies in the same folder, so that renaming is atomic.
    """
    return path.with_name(f"{path.name}{TEMPORARY_MARK}{os.getpid()}")


def publish(temporary: Path, path: Path) -> None:
    """Rename a flushed temporary file to its final name, and make the rename durable."""
    os.replace(temporary, path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Make what was written to a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file that appears under `path` only when the block ends without an exception.

    It is flushed to disk by then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    try:
        with open(temporary, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        publish(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file atomically."""
    with atomic_write(path) as handle:
        handle.write(data)


def canonical_json(value: Any) -> bytes:
    """Return a value as JSON: equal values give equal bytes.

    Keys are sorted, there are no blanks, and a newline ends it. NaN and infinity are refused.
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode("ascii") + b"\n"


def sha256_bytes(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file, read in pieces."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def remove_temporaries(folder: Path) -> None:
    """Delete what killed writers left under temporary names, anywhere below `folder`."""
    for path in folder.rglob(f"*{TEMPORARY_MARK}*"):
        path.unlink(missing_ok=True)
