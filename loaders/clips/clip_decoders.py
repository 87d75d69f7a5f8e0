"""Who decodes clips: DALI, PyAV, or worker processes, as their files and the device allow."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.listing import frame_files
from ...manifests.clips.segments import Segments
from ...manifests.clips.video import probe_video
from ...manifests.sources import Location
from ...synth.models import model_of
from ..backend import is_installed
from ..lows import LiveLows
from ..options import Options
from ..stored_pairs import StoredSample
from .stored_clips import ClipContents, by_video

_PICTURES = (".jpg", ".jpeg", ".png")
_LOOKING = 8  # threads that look into videos
_PIXELS_A_CORE = 60_000
"""Pixels of a frame for each core up to which cores decode as many frames a second as a GPU. 16
cores beside an H200 gave 2.4 times as many frames of 848 x 480 as its decoders, and 1.6 times as
many of 1280 x 720."""


def of_pictures(clip: StoredSample) -> bool:
    """Return whether the frames of a clip are JPEGs or PNGs."""
    if clip.place is None:
        return True
    files = frame_files(clip.place)
    return files is not None and all(file.member.lower().endswith(_PICTURES) for file in files)


def is_of_video(clip: StoredSample) -> bool:
    """Return whether a clip is one of a video."""
    return clip.place is not None and frame_files(clip.place) is None


def has_videos(contents: ClipContents) -> bool:
    """Return whether all clips are those of videos."""
    return contents.layout is None and all(map(is_of_video, contents.clips))


def beyond_dali(clips: Sequence[StoredSample], on_gpu: bool) -> str:
    """Return why DALI cannot decode all of some clips; "" where it can.

    The first frame of each video is decoded, and another one in its middle, to see what it is.
    """
    if clips and clips[0].lows:
        return "reads no lists of pairs"
    if all(map(of_pictures, clips)):
        return ""
    if not all(map(is_of_video, clips)):
        return "reads JPEGs and PNGs, or videos, but not both, nor other files"
    from nvidia.dali import fn

    from ..dali import pipelines

    if not hasattr(fn.decoders, "video"):
        return "of this version does not decode videos out of memory"
    codecs = pipelines.GPU_CODECS if on_gpu else pipelines.CPU_CODECS
    videos, segments = by_video(clips), Segments(margins=on_gpu)

    def look(video: Location) -> str:
        try:
            return look_into(video)
        except ImageRefused as refusal:
            return f"{video.member}: {refusal}"

    def look_into(video: Location) -> str:
        facts = probe_video(video)
        if facts.codec not in codecs:
            return f"{video.member} is {facts.codec}; on this device it decodes {', '.join(codecs)}"
        if facts.form not in pipelines.PIXEL_FORMS:
            return f"{video.member} has pixels of {facts.form}, not of 8 bits and 4:2:0"
        if not facts.bt601 or not facts.srgb:
            return f"{video.member} has colours that are not those of BT.601"
        if not facts.upright or any(side % 2 for side in facts.size):
            return f"{video.member} is turned, interlaced or of odd size"
        _, times = videos[video][len(videos[video]) // 2]
        astray = segments.cut(video, times).astray(video)
        return f"{video.member} {astray}" if astray else ""

    with ThreadPoolExecutor(_LOOKING) as pool:
        found = next(filter(None, pool.map(look, videos)), "")
    return f"does not decode all of these videos: {found}" if found else ""


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
    wanted = decoder or ("dali" if backend == "dali" else None)
    if wanted is not None:
        asked = "backend" if wanted == backend else "decoder"
        if wanted == "dali" and not is_installed():
            raise LoaderError(
                f"{asked} 'dali' needs NVIDIA DALI: pip install nvidia-dali-cuda120; or leave"
                f" {asked} out",
                key=asked,
            )
        refused = not_by_dali if wanted == "dali" else not_by_pyav
        if why_not := refused(contents, options, lows):
            raise LoaderError(f"{asked} {wanted!r} {why_not}: leave {asked} out", key=asked)
        return wanted
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
