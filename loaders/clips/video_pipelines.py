"""DALI's pipeline of clips of videos.

DALI is imported here and is optional; nothing outside the loaders imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvidia.dali import fn, pipeline_def

from ..options import Options

GPU_CODECS = ("h264", "hevc")
"""What DALI decodes on GPUs, as FFmpeg calls it. Others, which may hold packets that only show an
earlier frame again, were not tried there."""
CPU_CODECS = ("vp8", "vp9", "mjpeg")
PIXEL_FORMS = ("yuv420p", "yuvj420p")
"""What it decodes everywhere."""


def decodes_videos() -> bool:
    """Return whether this DALI decodes videos out of memory."""
    return hasattr(fn.decoders, "video")


@pipeline_def()
def external_clips(source: Callable[[Any], tuple[Any, ...]], options: Options) -> Any:
    """Take videos and the numbers of their frames from a function of DALI's BatchInfo.

    It returns lists of files (uint8 arrays) and of numbers of frames (int32 arrays). Yields
    sequences of frames (F, H, W, 3).
    """
    video, frames = fn.external_source(source=source, num_outputs=2, batch=True, batch_info=True)
    device = "mixed" if options.device == "gpu" else "cpu"
    return fn.decoders.video(video, frames=frames, device=device)
