"""Clips in training, of sets, of folders of frames and of video files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from ...errors import LoaderError
from ...manifests.clips.listing import Windows
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import PairSet, open_set
from ...storage.stores import as_path
from ..backend import Choice, options_for
from ..components import OpenComponent
from ..epoch_loader import EpochLoader
from ..index import warn_enlarged
from ..lows import is_live, live_lows
from ..options import ClipOptions, named_options
from ..order import Order
from ..workers import set_up
from .clip_backend import ClipBackend
from .clip_decoders import choose_decoder, has_videos
from .stored_clips import clips_in, clips_of_pairs, clips_of_set
from .video_order import VideoOrder, group_clips


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
        frames, stride, step = given.get("frames"), given.get("stride"), given.get("step")
        held: PairSet | list[Any] = []
        live = True
        windows = Windows(
            8 if frames is None else frames, 1 if stride is None else stride, step or 0
        )
        if not isinstance(data, PairSet | str | Path):
            live = bool(given.get("live")) or recipe is not None or draws is not None
            if live:
                raise LoaderError("a list of pairs has its lows: live lows are of folders and sets")
            contents = clips_of_pairs(data, split, windows)
        elif isinstance(data, PairSet) or (as_path(data) / SET_FILE).is_file():
            held = open_set(data)
            if (frames, stride, step) != (None, None, None):
                raise LoaderError.at(
                    held.root,
                    "frames, stride and step are those that the set was built with:"
                    f" clips of {held.frames} frames; leave them out",
                )
            live = is_live(held, given.get("live"), recipe=recipe, draws=draws)
            contents = clips_of_set(held, split, live)
        else:
            contents = clips_in(data, windows)
        chosen, wanted = options_for("torch", given, training, live)
        warn_enlarged(contents, chosen.size)
        lows = live_lows(held, recipe, draws, chosen.seed, training) if live else None
        self._groups = group_clips(contents.clips) if has_videos(contents) else None
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
