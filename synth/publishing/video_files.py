"""Clips as video files: lossless ones to keep, and small ones to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np

from ...engines.engine import Engine
from ...engines.local import LocalEngine, count
from ...errors import ConfigError, ImageRefused, SetError
from ...manifests.sets.pair_set import PairSet, Unit, open_set
from ...progress import Progress, Silent
from ...storage.atomic import temporary_beside
from ...storage.stores import in_store
from ..clips import frames_of
from ..kernels.arrays import Pixels

Form = Literal["ffv1", "mp4"]
FORMS: dict[str, str] = {
    "ffv1": "KEY.low.mkv and KEY.normal.mkv, lossless (FFV1, RFC 9043): every sample as stored",
    "mp4": (
        "KEY.mp4, low and normal side by side, to look at: its coding destroys the noise; do not"
        " train on it"
    ),
}
_RATE = 25


@dataclass(frozen=True)
class _Job:
    unit: Unit
    root: Path
    form: Form


def export_videos(
    origin: PairSet | str | Path,
    root: str | Path,
    form: Form,
    workers: int = 1,
    progress: Progress | None = None,
    *,
    engine: Engine | None = None,
) -> int:
    """Write the clips of a set as video files, a folder for each split.

    Files that are there already are left: stopped, the same call goes on.

    Parameters
    ----------
    origin : PairSet, str or Path
    root : str or Path
        A folder.
    form : str
        "ffv1" or "mp4"; see `FORMS`.
    workers : int
        Processes.
    progress : Progress, optional
    engine : Engine, optional

    Returns
    -------
    int
        How many clips there are.

    Raises
    ------
    SetError
        When the set holds no clips, or one of them is damaged.
    ConfigError
        When PyAV is missing, or the folder lies in a store.
    """
    pairs, folder = open_set(origin), Path(root)
    if form not in FORMS:
        raise ConfigError(f"video {form!r}: must be one of {', '.join(FORMS)}", key="video")
    if in_store(root):
        raise ConfigError(f"{root}: videos are written to a folder", value=str(root))
    if not pairs.frames:
        raise SetError(f"{pairs.root}: holds pairs of images, no clips", path=pairs.root)
    pairs.check_normals()
    others = (".mkv",) if form == "mp4" else (".mp4",)
    strange = next((path for path in folder.rglob("*") if path.suffix in others), None)
    if strange is not None:
        raise SetError(
            f"{folder}: holds videos of another form, such as {strange.name}; give another folder",
            path=folder,
        )
    _av()
    progress = progress or Silent()
    progress.stage("videos", len(pairs))
    jobs = [_Job(unit, folder, form) for unit in pairs.units() if unit.count]
    for _ in (engine or LocalEngine(workers)).map(_write_unit, jobs, progress.at):
        pass
    return len(pairs)


def _write_unit(job: _Job) -> None:
    folder = job.root / job.unit.name.rpartition("-")[0]
    folder.mkdir(parents=True, exist_ok=True)
    for clip in job.unit.pairs():
        try:
            lows, normals = frames_of(clip)
        except (ImageRefused, ValueError) as error:
            raise SetError(
                f"{job.unit.root}: {job.unit.name}: {clip.key}: {error}", path=job.unit.root
            ) from error
        if job.form == "mp4":
            both = [np.hstack(pair) for pair in zip(lows, normals, strict=True)]
            _write(folder / f"{clip.key}.mp4", both, job.form)
        else:
            _write(folder / f"{clip.key}.low.mkv", lows, job.form)
            _write(folder / f"{clip.key}.normal.mkv", normals, job.form)
        count()


def _write(path: Path, frames: Sequence[Pixels], form: Form) -> None:
    if path.exists():
        return
    av = _av()
    temporary = temporary_beside(path)
    try:
        with av.open(str(temporary), "w", format="mp4" if form == "mp4" else "matroska") as made:
            stream = _stream(made, frames[0].shape[0], frames[0].shape[1], form)
            for number, frame in enumerate(frames):
                kept = _even(frame) if form == "mp4" else frame
                image = av.VideoFrame.from_ndarray(np.ascontiguousarray(kept), format="rgb24")
                if form == "ffv1":  # what it stores: samples in another order, none changed
                    image = image.reformat(format="bgr0")
                image.pts, image.time_base = number, Fraction(1, _RATE)
                made.mux(stream.encode(image))
            made.mux(stream.encode(None))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _stream(made: Any, height: int, width: int, form: Form) -> Any:
    stream = made.add_stream("libx264" if form == "mp4" else "ffv1", rate=_RATE)
    stream.width, stream.height = width, height
    stream.codec_context.time_base = Fraction(1, _RATE)
    stream.codec_context.thread_count = 1
    if form == "mp4":
        stream.width, stream.height = width + width % 2, height + height % 2
        stream.pix_fmt, stream.options = "yuv420p", {"crf": "18"}
    else:
        stream.pix_fmt = "bgr0"
    return stream


def _even(frame: Pixels) -> Pixels:
    """Repeat the last row and column where a side is odd, as 4:2:0 wants even ones."""
    height, width = frame.shape[:2]
    made: Pixels = np.asarray(
        cv2.copyMakeBorder(frame, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE), np.uint8
    )
    return made


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise ConfigError("video files need PyAV: pip install 'gloam[video]'") from error
    return av
