"""The draws of all frames of many clips, of those of the clips; see `synth.clips.frame_draw`."""

from __future__ import annotations

import numpy as np

from ...kernels.numbers.random_bits import frame_seed
from ...parameters.columns import Floats, KeyedColumns
from ..draw import frame_ev
from ..recipe import Video
from .pack import Packed

_DRAWN = ("fps", "drift_ev", "flicker_ev", "flicker_hz")


def frames_of(clips: Packed, videos: Floats | None, frames: int) -> Packed:
    """Return the draws of the frames of N clips, clip after clip.

    Parameters
    ----------
    clips : Packed
        Of the clips.
    videos : float64 array (N, 5), optional
        How their exposure changes; see `draw_videos`. By default it does not.
    frames : int
        Of each clip.
    """
    count = len(clips.draws)
    made = clips.take(np.repeat(np.arange(count), frames).tolist())
    lower = clips.draws["seed_lower"].astype(np.uint64)
    own = (lower | clips.draws["seed_upper"].astype(np.uint64) << np.uint64(32)).tolist()
    seeds = np.array([frame_seed(seed, n) for seed in own for n in range(frames)], np.uint64)
    made.draws["seed_lower"] = seeds & np.uint64(0xFFFFFFFF)
    made.draws["seed_upper"] = seeds >> np.uint64(32)
    if videos is not None:
        of_first = clips.draws["exposure_ev"].tolist()
        made.draws["exposure_ev"] = [
            ev + frame_ev(fps, drift, flicker, hz, phase, n) if n else ev
            for ev, (fps, drift, flicker, hz, phase) in zip(of_first, videos.tolist(), strict=True)
            for n in range(frames)
        ]
    return made


def draw_videos(video: Video, random: KeyedColumns) -> Floats:
    """Draw how the exposure of N clips changes: what `draw.VideoDraw` has, in its order (N, 5)."""
    drawn = [random.numbers(getattr(video, name), f"video.{name}") for name in _DRAWN]
    return np.column_stack([*drawn, random.uniform("video.phase")])
