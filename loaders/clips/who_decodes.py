"""Who decodes clips, and makes their lows: DALI, PyAV's threads, or processes."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import LoaderError
from ...synth.models import model_of
from ..dali.dali_loader import is_installed
from ..live.lows import LiveLows
from ..options import Options
from .clip_bytes import beyond_dali, has_videos
from .stored_clips import ClipContents

READERS = ("auto", "dali", "threads", "workers")


def who_decodes(
    reader: str, device: str, by_dali: Callable[[], str], by_threads: Callable[[], str]
) -> str:
    """Return who decodes: "dali", "threads" or "workers".

    Parameters
    ----------
    reader, device : str
        As asked for.
    by_dali, by_threads : functions
        Return why they cannot; "" where they can.
    """
    if reader not in READERS:
        raise LoaderError(f"reader {reader!r}: must be one of {', '.join(READERS)}", key="reader")
    if reader == "auto":
        if device == "gpu" and is_installed() and not by_dali():
            return "dali"
        return "workers" if by_threads() else "threads"
    if reader == "dali" and not is_installed():
        raise LoaderError(
            "reader 'dali' needs NVIDIA DALI: pip install nvidia-dali-cuda120; or leave reader out",
            key="reader",
        )
    why_not = ""
    if reader != "workers":
        why_not = by_dali() if reader == "dali" else by_threads()
    if why_not:
        raise LoaderError(f"reader {reader!r} {why_not}: leave reader out", key="reader")
    return reader


def not_by_dali(contents: ClipContents, options: Options, lows: LiveLows | None) -> str:
    """Return why DALI cannot decode clips for batches that are made here; "" where it can."""
    on_gpu = options.device == "gpu"
    return _not_on_gpu(options, lows) or (
        "" if contents.layout is not None else beyond_dali(contents.clips, on_gpu)
    )


def not_by_threads(contents: ClipContents, options: Options, lows: LiveLows | None) -> str:
    """Return why PyAV's threads cannot; "" where they can."""
    return _not_on_gpu(options, lows) or ("" if has_videos(contents) else "reads videos alone")


def _not_on_gpu(options: Options, lows: LiveLows | None) -> str:
    """Return why a GPU cannot make lows; "" where it can, or none are to be made there."""
    if lows is None or options.device != "gpu":
        return ""
    if options.size is None:
        return "makes live lows of one size: give size="
    if model_of(lows.recipe) != "camera":
        return "makes live lows by recipes of the camera model"
    return ""
