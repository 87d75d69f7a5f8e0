"""Choose the decoder of clips: DALI, PyAV, or worker processes."""

from __future__ import annotations

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.video import probe_video
from ...synth.models import model_of
from ..backend import is_installed
from ..lows import LiveLows
from ..options import Options
from .clip_bytes import beyond_dali, has_videos
from .stored_clips import ClipContents

_PIXELS_A_CORE = 60_000
"""Pixels of a frame for each core up to which cores decode as many frames a second as a GPU. 16
cores beside an H200 gave 2.4 times as many frames of 848 x 480 as its decoders, and 1.6 times as
many of 1280 x 720."""


def choose_decoder(
    backend: str,
    decoder: str | None,
    contents: ClipContents,
    options: Options,
    lows: LiveLows | None,
) -> str:
    """Return the decoder: "dali", "pyav", or "workers" (processes that make batches).

    backend, decoder: as asked for.

    Raises LoaderError when what is asked for cannot be.
    """
    if decoder not in (None, "dali", "pyav"):
        raise LoaderError(f"decoder {decoder!r}: must be dali or pyav", key="decoder")
    if backend == "torch":
        if decoder == "dali":
            raise LoaderError("decoder 'dali' goes with backend='dali'", key="decoder")
        return "workers"
    if decoder == "pyav":
        if why_not := not_by_pyav(contents, options, lows):
            raise LoaderError(f"decoder 'pyav' {why_not}: leave decoder out", key="decoder")
        return "pyav"
    if backend == "dali" or decoder == "dali":
        asked = "backend" if backend == "dali" else "decoder"
        if not is_installed():
            raise LoaderError(
                f"{asked} 'dali' needs NVIDIA DALI: pip install nvidia-dali-cuda120; or leave"
                f" {asked} out",
                key=asked,
            )
        if why_not := not_by_dali(contents, options, lows):
            raise LoaderError(f"{asked} 'dali' {why_not}: leave {asked} out", key=asked)
        return "dali"
    pyav = not not_by_pyav(contents, options, lows)
    if (
        options.device != "gpu"
        or not is_installed()
        or (pyav and pyav_is_faster(contents, options))
        or not_by_dali(contents, options, lows)
    ):
        return "pyav" if pyav else "workers"
    return "dali"


def not_by_dali(contents: ClipContents, options: Options, lows: LiveLows | None) -> str:
    """Return why DALI cannot decode these clips in this process; "" if it can."""
    on_gpu = options.device == "gpu"
    return _not_on_gpu(options, lows) or (
        "" if contents.layout is not None else beyond_dali(contents.clips, on_gpu)
    )


def not_by_pyav(contents: ClipContents, options: Options, lows: LiveLows | None) -> str:
    """Return why PyAV cannot decode these clips in this process; "" if it can."""
    return _not_on_gpu(options, lows) or ("" if has_videos(contents) else "reads videos alone")


def pyav_is_faster(contents: ClipContents, options: Options) -> bool:
    """Return True if PyAV decodes frames of the first video's size faster than a GPU."""
    try:
        height, width = probe_video(contents.clips[0].video[0]).size
    except ImageRefused:
        return False
    return height * width <= options.workers * _PIXELS_A_CORE


def _not_on_gpu(options: Options, lows: LiveLows | None) -> str:
    """Return why a GPU cannot make the lows; "" if it can, or if it has none to make."""
    if lows is None or options.device != "gpu":
        return ""
    if options.size is None:
        return "makes live lows of one size: give size="
    if model_of(lows.recipe) != "camera":
        return "makes live lows by recipes of the camera model"
    return ""
