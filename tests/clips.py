"""Clips for tests: panned crops of pictures as folders of frames, and videos made with PyAV."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image

from gloam.synth.draws.record import CameraDraw, exposure_change
from gloam.synth.kernels.numbers.random_bits import frame_seed
from gloam.synth.models import Draw

from .conftest import picture

HEIGHT, WIDTH = 72, 96


def panned(seed: int, count: int, still: bool = False, shape=(HEIGHT, WIDTH)) -> list[np.ndarray]:
    """Frames of a camera that pans over a picture, or stands still."""
    height, width = shape
    whole = picture(seed, width + 2 * count, height + count)
    steps = [0] * count if still else range(count)
    return [whole[n : n + height, 2 * n : 2 * n + width].copy() for n in steps]


def write_frames(folder: Path, frames: list[np.ndarray], first: int = 0) -> Path:
    """Frames as DAVIS has them: 00000.jpg, 00001.jpg, ..."""
    folder.mkdir(parents=True)
    for number, frame in enumerate(frames, first):
        Image.fromarray(frame).save(folder / f"{number:05d}.jpg", quality=92)
    return folder


def davis(root: Path, sequences: int, count: int) -> Path:
    """A folder laid out as DAVIS is, masks and all."""
    for number in range(sequences):
        write_frames(root / "JPEGImages" / "480p" / f"seq-{number}", panned(number, count))
        masks = root / "Annotations" / "480p" / f"seq-{number}"
        masks.mkdir(parents=True)
        Image.fromarray(np.zeros((HEIGHT, WIDTH), np.uint8)).save(masks / "00000.png")
    return root


def davis_and_video(root: Path, sequences: int) -> Path:
    """Sequences of nine frames laid out as DAVIS is, and a video beside them."""
    davis(root, sequences, 9)
    write_video(root / "more" / "a.mp4", panned(20, 9))
    return root


def write_video(
    path: Path,
    frames: list[np.ndarray],
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    times: list[int] | None = None,
    format: str | None = None,
    **options: str,
) -> Path:
    """A video whose frames are shown at some times, in hundredths of a second."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format) as made:
        stream = made.add_stream(codec, rate=25)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt, stream.options = pix_fmt, {"crf": "12", **options}
        stream.codec_context.time_base = Fraction(1, 100)
        for number, frame in enumerate(frames):
            image = av.VideoFrame.from_ndarray(frame, format="rgb24")
            image.pts = 4 * number if times is None else times[number]
            image.time_base = Fraction(1, 100)
            made.mux(stream.encode(image))
        made.mux(stream.encode(None))
    if codec == "libsvtav1" and hasattr(os, "sched_setscheduler"):
        # For root it gives its caller real-time priority, under which threads that spin never end.
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return path


def decoded(path: Path) -> list[np.ndarray]:
    """All frames that PyAV decodes, in order."""
    import av

    with av.open(str(path)) as container:
        return [
            np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90) % 4)
            for frame in container.decode(video=0)
        ]


def frame_draw(drawn: Draw, number: int) -> Draw:
    """Return a clip's draw with noise and exposure of one of its frames; the first has the draw."""
    if number == 0:
        return drawn
    seed = frame_seed(drawn.pixel_seed, number)
    if isinstance(drawn, CameraDraw) and drawn.video is not None:
        ev = drawn.exposure.ev + exposure_change(drawn.video, number)
        return drawn.changed({"pixel_seed": seed, "exposure.ev": ev})
    return drawn.changed({"pixel_seed": seed})
