"""The draws of all frames of many clips, of those of the clips."""

from __future__ import annotations

import numpy as np

from ..kernels.numbers.random_bits import frame_seed
from .record import VideoDraw
from .table import DrawTable


def frame_table(clips: DrawTable, frames: int) -> DrawTable:
    """Return the draws of the frames of N clips, so many of each, clip after clip.

    Each frame has noise of its own, keyed by its number, and the clip's changes of exposure; the
    first one has the draw of the clip.
    """
    table = clips.take(np.repeat(np.arange(len(clips)), frames))
    lower = clips.draws["seed_lower"].astype(np.uint64)
    own = (lower | clips.draws["seed_upper"].astype(np.uint64) << np.uint64(32)).tolist()
    seeds = np.array([frame_seed(seed, n) for seed in own for n in range(frames)], np.uint64)
    table.draws["seed_lower"] = seeds & np.uint64(0xFFFFFFFF)
    table.draws["seed_upper"] = seeds >> np.uint64(32)
    for clip in np.flatnonzero(clips.draws["video_fps"]).tolist():
        names = VideoDraw.model_fields
        video = VideoDraw(**{name: float(clips.draws[f"video_{name}"][clip]) for name in names})
        for n in range(1, frames):
            table.draws["exposure_ev"][clip * frames + n] += video.ev(n)
    return table
