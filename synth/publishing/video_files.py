"""Clips as video files: lossless ones to keep, and small ones to look at."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from ...engines.engine import Engine
from ...errors import ConfigError, ImageRefused, SetError
from ...manifests.clips.video import pyav
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.units import Unit
from ...progress import Progress
from ...storage.atomic import atomic_write, sha256_file
from ...storage.stores import in_store
from ..clips import frames_of
from ..kernels.arrays import Pixels
from .unit_by_unit import Note, write_units

Codec = Literal["ffv1", "mp4"]
CODECS: dict[str, str] = {
    "ffv1": "KEY.low.mkv and KEY.normal.mkv, lossless (FFV1, RFC 9043): every sample as stored",
    "mp4": (
        "KEY.mp4, low and normal side by side, to look at: its coding destroys the noise; do not"
        " train on it"
    ),
}
_RATE = 25
_SAME_BYTES = {"fflags": "+bitexact"}
"""Matroska's writer draws the numbers of files and tracks at random else."""


def export_videos(
    pairs: PairSet, root: Path, codec: Codec, engine: Engine, progress: Progress
) -> int:
    """Write the clips of a set as video files ("ffv1" or "mp4", see `CODECS`), a folder a split.

    Beside them lie their checksums, `SHA256SUMS`. See `gloam.export`.

    Returns how many clips there are. Raises SetError when the set holds no clips, one of them is
    damaged, or the folder holds something else; ConfigError when PyAV is missing, or the folder
    lies in a store.
    """
    if codec not in CODECS:
        raise ConfigError(f"video {codec!r}: must be one of {', '.join(CODECS)}", key="video")
    if in_store(root):
        raise ConfigError(f"{root}: videos are written to a folder", value=str(root))
    if not pairs.frames:
        raise SetError.at(pairs.root, "holds pairs of images, no clips")
    pyav()
    write_units(
        pairs,
        root,
        {"video": codec},
        partial(_write_unit, codec),
        lambda written: None,  # all is said by the files of the units
        engine,
        progress,
    )
    return len(pairs)


def _write_unit(codec: Codec, unit: Unit, root: Path) -> Note:
    """Write the clips of a unit."""
    sums: dict[str, str] = {}

    def write(name: str, frames: Sequence[Pixels]) -> None:
        _write(root / unit.split / name, frames, codec)
        sums[f"{unit.split}/{name}"] = sha256_file(root / unit.split / name)

    for clip in unit.pairs():
        try:
            lows, normals = frames_of(clip)
        except (ImageRefused, ValueError) as error:
            raise unit.fault(clip.key, str(error)) from error
        if codec == "mp4":
            both = [np.hstack(pair) for pair in zip(lows, normals, strict=True)]
            write(f"{clip.key}.mp4", both)
        else:
            write(f"{clip.key}.low.mkv", lows)
            write(f"{clip.key}.normal.mkv", normals)
    return {"sums": sums}


def _write(path: Path, frames: Sequence[Pixels], codec: Codec) -> None:
    av, lossless = pyav(), codec == "ffv1"
    kind, coder, pixels = ("matroska", codec, "bgr0") if lossless else ("mp4", "libx264", "yuv420p")
    height, width = frames[0].shape[:2]
    # As 4:2:0 wants even sides, the last row and column of odd ones are repeated.
    more = ((0, 0),) * 3 if lossless else ((0, height % 2), (0, width % 2), (0, 0))
    with atomic_write(path) as file, av.open(file, "w", format=kind, options=_SAME_BYTES) as made:
        stream = made.add_stream(coder, rate=_RATE)
        stream.width, stream.height = width + more[1][1], height + more[0][1]
        stream.codec_context.time_base = Fraction(1, _RATE)
        stream.codec_context.thread_count = 1
        stream.pix_fmt, stream.options = pixels, {} if lossless else {"crf": "18"}
        for number, frame in enumerate(frames):
            image = av.VideoFrame.from_ndarray(np.pad(frame, more, mode="edge"), format="rgb24")
            if lossless:  # what it stores: samples in another order, none changed
                image = image.reformat(format=pixels)
            image.pts, image.time_base = number, Fraction(1, _RATE)
            made.mux(stream.encode(image))
        made.mux(stream.encode(None))
