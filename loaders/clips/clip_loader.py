"""Clips in training, of sets, of folders of frames and of video files; and who decodes them.

DALI, PyAV, or worker processes, as their files and the device allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Unpack

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.listing import Windows
from ...manifests.clips.segments import Segments
from ...manifests.clips.video import probe_video
from ...manifests.open_data import is_live, require_clips
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import PairSet, open_set
from ...manifests.sets.split_files import open_split
from ...manifests.sources import Location
from ...storage.stores import as_path
from ...synth.models import model_of
from ..backend import Choice, is_installed, options_for
from ..components import OpenComponent
from ..epoch_loader import EpochLoader
from ..lows import LiveLows, live_lows
from ..options import ClipOptions, Options, named_options
from ..order import Order
from ..stored_pairs import StoredSample
from ..workers import set_up
from .clip_backend import ClipBackend
from .stored_clips import ClipContents, by_video, clips_in, clips_of_pairs
from .video_order import VideoOrder, group_clips

_LOOKING = 8  # threads that look into videos
_PIXELS_A_CORE = 60_000
"""Pixels of a frame for each core up to which cores decode as many frames a second as a GPU. 16
cores beside an H200 gave 2.4 times as many frames of 848 x 480 as its decoders, and 1.6 times as
many of 1280 x 720."""


class ClipLoader(EpochLoader):
    """Low and normal clips, (N, T, C, H, W) each: the same crop, resize and flips for all frames.

    Epochs, ranks and states are those of `PairLoader`. On a GPU, DALI decodes and gloam's kernels
    make live lows; on a CPU worker processes do both (for videos, threads make the lows).

    Parameters
    ----------
    data : PairSet, str, Path or list
        A set of clips; a folder of folders of frames, or of video files, whose lows are made live;
        or a list of (low, normal) frames, such as `gloam.real("sdsd-indoor", ...)`: those whose
        lows lie in one folder are a sequence.
    split : str
        "train", "val" or "test", for a set.
    **options
        See `gloam.loaders.options.ClipOptions`; `batch_size` must be given.

        With backend="torch", each of `workers` processes makes batches. Otherwise this process
        makes them: `workers` counts threads (and decoding processes, for videos that PyAV
        decodes), and at most 3 batches are prefetched. On a GPU small batches are made in groups
        of 512 frames or half a GiB, and up to 3 groups are prefetched.

        backend="auto" takes DALI on a GPU where it is installed and can read the clips: members of
        a set's shards, JPEGs and PNGs, or videos of 8 bits, 4:2:0 and BT.601 (H.264, HEVC), neither
        rotated nor interlaced; live clips need a size and a recipe of the camera model. Otherwise
        PyAV decodes videos (also small ones, which many cores decode faster), and worker processes
        make batches of everything else. If DALI fails at clips that these can decode, "auto" warns
        and switches to them. All backends draw the same crops, flips and lows. Resized pixels may
        differ by a level; JPEGs decoded on a GPU by up to 5 levels at edges between colours, and
        videos by more there, as DALI does not interpolate chroma.

    Raises
    ------
    LoaderError, SetError
        When an option is wrong, a clip cannot be read, or there are no clips.

    Notes
    -----
    Clips of videos are shuffled in groups that begin at key frames, and then within as many groups
    as make 1 GiB of decoded frames; see `video_order`. DALI and PyAV decode each group once an
    epoch and hold about 2 GiB of frames (up to 5 GiB for large frames and many processes).

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.ClipLoader("clips", frames=3, batch_size=2, size=32, workers=0, device="cpu")
    >>> low, normal = next(iter(loader))
    >>> tuple(low.shape), tuple(normal.shape)
    ((2, 3, 3, 32, 32), (2, 3, 3, 32, 32))
    """

    def __init__(
        self,
        data: PairSet | str | Path | Sequence[tuple[str, str]],
        split: str = "train",
        **options: Unpack[ClipOptions],
    ) -> None:
        given = named_options(options, ClipOptions)
        training = split == "train"
        recipe, draws = given.get("recipe"), given.get("draws")
        named = ("frames", "stride", "step")
        asked = {name: given[name] for name in named if given.get(name) is not None}
        windows = Windows(**{"frames": 8, **asked})
        held: PairSet | list[Any] = []
        live = True
        if not isinstance(data, PairSet | str | Path):
            live = False
            if given.get("live") or recipe is not None or draws is not None:
                raise LoaderError("a list of pairs has its lows: live lows are of folders and sets")
            contents = clips_of_pairs(data, split, windows)
        elif isinstance(data, PairSet) or (as_path(data) / SET_FILE).is_file():
            held = open_set(data)
            if asked:
                raise LoaderError.at(
                    held.root,
                    "frames, stride and step are those that the set was built with:"
                    f" clips of {held.frames} frames; leave them out",
                )
            live = is_live(held, given.get("live"), recipe=recipe, draws=draws)
            files = open_split(require_clips(held), split, live)
            contents = ClipContents(**vars(files) | {"frames": held.frames})
        else:
            contents = clips_in(data, windows)
        chosen, wanted = options_for("torch", given, training, live)
        lows = live_lows(held, recipe, draws, chosen.seed, training) if live else None
        self._groups = group_clips(contents.clips) if contents.has_videos else None
        drawn = contents.count, chosen.seed, chosen.shuffle
        component = OpenComponent("", contents, live={} if lows is None else {0: lows})
        order = Order(*drawn) if self._groups is None else VideoOrder(*drawn, self._groups)
        super().__init__((component,), order, {0: chosen}, given, split)
        self._wanted = wanted
        backend, decoder = given.get("backend", "auto"), given.get("decoder")
        self._falls_back = backend == "auto" and decoder is None
        reader = choose_decoder(backend, decoder, contents, chosen, lows)
        self.begin_with(reader, "it can read them" if self._falls_back else "as asked")

    _what = "clips"

    def begin_with(self, reader: str, why: str) -> None:
        """Say who decodes from now on: "dali", "pyav" or "workers"."""
        choice = Choice("torch" if reader == "workers" else reader, why)
        more: dict[str, Any] = {"groups": self._groups, "falls_back": self._falls_back}
        set_up(self, choice, self._wanted, here=ClipBackend, **more)


def beyond_dali(clips: Sequence[StoredSample], on_gpu: bool) -> str:
    """Return why DALI cannot decode all of some clips; "" where it can.

    The first frame of each video is decoded, and another one in its middle, to see what it is.
    """
    if clips and clips[0].lows:
        return "reads no lists of pairs"
    if all(clip.of_pictures for clip in clips):
        return ""
    if not all(clip.of_video for clip in clips):
        return "reads JPEGs and PNGs, or videos, but not both, nor other files"
    from nvidia.dali import fn

    from ..dali import pipelines

    if not hasattr(fn.decoders, "video"):
        return "of this version does not decode videos out of memory"
    codecs = pipelines.GPU_CODECS if on_gpu else pipelines.CPU_CODECS
    videos, segments = by_video(clips), Segments(margins=on_gpu)

    def look(video: Location) -> str:
        name = video.member
        try:
            facts = probe_video(video)
            if facts.codec not in codecs:
                return f"{name} is {facts.codec}; on this device it decodes {', '.join(codecs)}"
            if facts.form not in pipelines.PIXEL_FORMS:
                return f"{name} has pixels of {facts.form}, not of 8 bits and 4:2:0"
            if not facts.bt601 or not facts.srgb:
                return f"{name} has colours that are not those of BT.601"
            if not facts.upright or any(side % 2 for side in facts.size):
                return f"{name} is turned, interlaced or of odd size"
            _, times = videos[video][len(videos[video]) // 2]
            astray = segments.cut(video, times).astray(video)
        except ImageRefused as refusal:
            return f"{name}: {refusal}"
        return f"{name} {astray}" if astray else ""

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
        if why_not := why_not_by(wanted, contents, options, lows):
            raise LoaderError(f"{asked} {wanted!r} {why_not}: leave {asked} out", key=asked)
        return wanted
    pyav = not why_not_by("pyav", contents, options, lows)
    if (
        options.device != "gpu"
        or not is_installed()
        or (pyav and pyav_is_faster(contents, options))
        or why_not_by("dali", contents, options, lows)
    ):
        return "pyav" if pyav else "workers"
    return "dali"


def why_not_by(
    decoder: str, contents: ClipContents, options: Options, lows: LiveLows | None
) -> str:
    """Return why "dali" or "pyav" cannot decode these clips in this process; "" if it can."""
    on_gpu = options.device == "gpu"
    if lows is not None and on_gpu:
        if options.size is None:
            return "makes live lows of one size: give size="
        if model_of(lows.recipe) != "camera":
            return "makes live lows by recipes of the camera model"
    if decoder == "pyav":
        return "" if contents.has_videos else "reads videos alone"
    return "" if contents.layout is not None else beyond_dali(contents.clips, on_gpu)


def pyav_is_faster(contents: ClipContents, options: Options) -> bool:
    """Return True if PyAV decodes frames of the first video's size faster than a GPU."""
    try:
        height, width = probe_video(contents.clips[0].video[0]).size
    except ImageRefused:
        return False
    return height * width <= options.workers * _PIXELS_A_CORE
