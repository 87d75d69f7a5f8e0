"""Targets of fuzzing: the readers of things that come from elsewhere. Each target takes any bytes
and raises nothing.

    pip install atheris
    python tests/fuzz/targets.py image tests/fuzz/corpus/image -max_total_time=600 -max_len=65536
    python tests/fuzz/targets.py archive tests/fuzz/corpus/archive -max_total_time=600
    -max_len=65536

atheris (libFuzzer for Python) follows the branches of gloam's modules and of Pillow's and
tifffile's. What it finds is kept in `corpus`, which test_corpus.py runs through the same functions.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MAX_PIXELS = 1_000_000


def image(data: bytes) -> str:
    """A photograph's bytes become a normal or are refused; the reason, or ""."""
    from gloam.errors import ImageRefused
    from gloam.manifests.images.normals import load_normal
    from gloam.manifests.selection.measures import measure

    try:
        normal = load_normal(data, max_pixels=MAX_PIXELS)
    except ImageRefused as refusal:
        return _reason(refusal)
    assert normal.pixels.dtype == np.uint8
    assert normal.pixels.ndim == 3
    assert normal.pixels.shape[2] == 3
    assert 0 < normal.pixels.shape[0] * normal.pixels.shape[1] <= MAX_PIXELS
    assert (
        load_normal(normal.data, max_pixels=MAX_PIXELS).converted == ""
    )  # what is stored can be read again, as it is
    measure(data, MAX_PIXELS)
    return ""


def _reason(refusal: Any) -> str:
    """The reason of a refusal, which has one, and a detail of one line."""
    assert refusal.reason
    assert "\n" not in refusal.detail
    return str(refusal.reason)


def archive(data: bytes) -> str:
    """A file given as an archive is listed and read, or refused; the message, or ""."""
    from gloam.errors import ImageRefused, SourceError
    from gloam.manifests.sources import list_source, read

    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path = Path(temporary, "fuzzed")
        path.write_bytes(data)
        try:
            for photograph in list_source("archive", str(path)):
                try:
                    assert len(read(photograph.location)) <= max(photograph.location.size, 0)
                except ImageRefused as refusal:
                    _reason(refusal)
        except SourceError as error:
            return str(error)
        finally:
            assert [p.name for p in Path(temporary).iterdir()] == ["fuzzed"]
    return ""


TARGETS: dict[str, Callable[[bytes], str]] = {"image": image, "archive": archive}


def main() -> None:
    import atheris

    target = TARGETS[sys.argv.pop(1)]
    with atheris.instrument_imports(include=["gloam", "PIL", "tifffile", "tarfile", "zipfile"]):
        import gloam.manifests.selection.measures
        import gloam.manifests.sources  # noqa: F401
    atheris.Setup(sys.argv, lambda data: target(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
