"""Clips in training, of sets, of folders of frames and of video files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from ...errors import LoaderError
from ...manifests.clips.windows import Windows
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import PairSet, open_set
from ...storage.stores import as_path
from ..dataset import first_batch
from ..epoch_loader import ReadyBatches
from ..epoch_order import epoch_order
from ..live.lows import is_live, live_lows
from ..memory.shared_buffers import SharedBufferPool
from ..options import ClipOptions, Options, check_names
from ..worker_loader import WorkerLoader
from .backend import choose_decoder
from .clip_bytes import has_videos
from .clip_samples import ClipPlace, ClipSamples, collate_clips
from .stored_clips import ClipContents, clips_in, clips_of_pairs, clips_of_set
from .videos.order import group_clips


class ClipLoader(WorkerLoader):
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
    as make 1 GiB of decoded frames; see `videos.order`. DALI and PyAV decode each group once an
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
        check_names(options, ClipOptions)
        training = split == "train"
        recipe, draws = options.get("recipe"), options.get("draws")
        frames, stride, step = options.get("frames"), options.get("stride"), options.get("step")
        held: PairSet | list[Any] = []
        live = True
        windows = Windows(
            8 if frames is None else frames, 1 if stride is None else stride, step or 0
        )
        if not isinstance(data, PairSet | str | Path):
            live = bool(options.get("live")) or recipe is not None or draws is not None
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
            live = is_live(held, options.get("live"), recipe=recipe, draws=draws)
            contents = clips_of_set(held, split, live)
        else:
            contents = clips_in(data, windows)
        chosen = self._options(options, training, live)
        lows = live_lows(held, recipe, draws, chosen.seed, training) if live else None
        self._groups = group_clips(contents.clips) if has_videos(contents) else None
        order = "clips" if self._groups is None else "videos"
        rank, world_size = options.get("rank"), options.get("world_size")
        super().__init__(contents, chosen, order, rank, world_size, lows)
        self._clips: ClipContents = contents
        self._dataset = self._samples = ClipSamples(contents, chosen, lows)
        self._ordered: dict[int, Any] = {}
        self._dali: Any = None
        backend, decoder = options.get("backend", "auto"), options.get("decoder")
        self._falls_back = backend == "auto" and decoder is None
        self._begin_with(choose_decoder(backend, decoder, contents, chosen, lows))

    def _begin_with(self, reader: str) -> None:
        """Say who decodes from now on."""
        if self._dali is not None:
            self._dali.close()
            self._dali = None
        if reader == "workers":
            self._prepare()
            return
        from .dali_clips import DaliClips

        self._dali = DaliClips(
            self._clips, self.options, self.live, self._samples, self._batch_places, self.__len__,
            groups=self._groups, by_dali=reader == "dali",
        )  # fmt: skip

    @property
    def num_workers(self) -> int:
        """Processes that make batches; 0 if this one does."""
        return super().num_workers if self._dali is None else 0

    @property
    def batch_sampler(self) -> Any:
        """An iterable that begins an epoch; where DALI decodes, of ready batches."""
        return super().batch_sampler if self._dali is None else ReadyBatches(self)

    @property
    def collate_fn(self) -> Any:
        """The function that makes a batch of the samples of `dataset`."""
        return super().collate_fn if self._dali is None else first_batch

    def _collate(self, options: Options, rooms: SharedBufferPool | None) -> Any:
        return partial(collate_clips, options)

    def _begin(self) -> Iterator[tuple[Any, ...]]:
        if self._dali is None:
            yield from super()._begin()
            return
        from .dali_clips import DaliFailed

        self._process = os.getpid()
        device_id = self._wanted.current() if self.options.device == "gpu" else None
        try:
            for low, normal, keys in self._dali.batches(self.epoch, self._batch, device_id):
                yield (low, normal, keys) if self.options.keys else (low, normal)
        except DaliFailed as failure:
            if not self._falls_back:
                raise
            pyav = self._dali.by_dali and self._groups is not None
            print(
                f"{failure}; {'PyAV decodes' if pyav else 'processes decode'} from here on",
                file=sys.stderr,
            )
            self._begin_with("pyav" if pyav else "workers")
            yield from self._begin()

    def _free(self) -> None:
        super()._free()
        if self._dali is not None:
            self._dali.close()

    def _places(self) -> Iterator[list[Any]]:
        """Yield what is left of the running epoch: batches of clips."""
        epoch = self.epoch
        for batch in range(self._batch, len(self)):
            yield self._batch_places(epoch, batch)

    def _batch_places(self, epoch: int, batch: int) -> list[ClipPlace]:
        """Return the clips of a batch."""
        order = self._order(epoch)
        numbers = order[self._places_of(batch) % len(order)].tolist()
        return [ClipPlace(self._clips.clips[n], epoch, n) for n in numbers]

    def _order(self, epoch: int) -> Any:
        """Return the numbers of all ranks' clips in an epoch's order."""
        held = self._ordered  # threads that make batches ahead ask for other epochs
        if epoch not in held:
            drawn = self.options.seed, epoch, self.options.shuffle
            if self._groups is None:
                order = epoch_order(self.contents.count, *drawn)
            else:
                order = self._groups.order(*drawn)
            held = {**dict(list(held.items())[-2:]), epoch: order}
            self._ordered = held
        return held[epoch]
