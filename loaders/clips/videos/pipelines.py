"""DALI's pipeline of clips of videos.

DALI is imported here and is optional; nothing outside the loaders imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from nvidia.dali import fn, pipeline_def

from ...dali.operators import BATCHES
from ...options import Options
from .order import Runs, VideoPart

GPU_CODECS = ("h264", "hevc")
"""Codecs, by FFmpeg's names, that DALI decodes on GPUs. Others, which may hold packets that only
show an earlier frame again, were not tried there."""
CPU_CODECS = ("vp8", "vp9", "mjpeg")
PIXEL_FORMS = ("yuv420p", "yuvj420p")
"""Codecs that it decodes everywhere."""
_RUNS_AHEAD = 2  # of each pipeline


def pipelines_of(
    runs: Runs,
    count: int,
    pool: Executor,
    bytes_of: Callable[[VideoPart], tuple[Any, ...]],
    **common: Any,
) -> list[Any]:
    """Make pipelines that take turns at runs.

    count: number of pipelines.
    pool: threads that cut videos into parts.
    bytes_of: function of a part; see `clip_bytes.bytes_of`; frames have margins for a GPU.
    common: options of the pipelines: options, batch_size (parts of a run), device_id, ...
    """

    def source_of(turn: int) -> Callable[[Any], tuple[Any, ...]]:
        def source(info: Any) -> tuple[Any, ...]:
            schedule, run = runs.of_run(count * info.iteration + turn)
            cut = pool.map(bytes_of, schedule.parts(run))
            return tuple(map(list, zip(*cut, strict=True)))

        return source

    own: dict[str, Any] = {"prefetch_queue_depth": _RUNS_AHEAD}
    if common["device_id"] is not None:
        own["num_threads"] = common["batch_size"]  # which wait for the GPU
    return [external_clips(source_of(turn), **common | own) for turn in range(count)]


@pipeline_def()
def external_clips(source: Callable[[Any], tuple[Any, ...]], options: Options) -> Any:
    """Take videos and the numbers of their frames from a function of DALI's BatchInfo.

    It returns lists of files (uint8 arrays), of numbers of frames, and of heights and widths (int32
    arrays). Yields sequences of frames (F, H, W, 3), without the margins that files for a GPU have.
    """
    video, frames, size = fn.external_source(source=source, num_outputs=3, **BATCHES)
    device = "mixed" if options.device == "gpu" else "cpu"
    decoded = fn.decoders.video(video, frames=frames, device=device)
    return fn.slice(decoded, start=(0, 0), shape=size, axes=(1, 2))
