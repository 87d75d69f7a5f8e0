"""Clips in training, of sets, of folders of frames and of video files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

import torch
from torch.utils.data import DataLoader

from ...engines.forkserver import prepare_workers
from ...errors import LoaderError
from ...manifests.clips.windows import Windows
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import PairSet, open_set
from ...storage.stores import place
from ...synth.recipes.load import Recipe
from ..dali.batches import ReadyBatches
from ..dali.dali_loader import decoder_load
from ..dataset import first_batch
from ..devices import find_device
from ..epochs import EpochLoader
from ..live.lows import is_live, live_lows
from ..options import Nothing, Options, make_options, same_number
from ..ranks_and_order import epoch_order, usable_cores
from ..torch_loader import TorchLoader
from .clip_bytes import has_videos
from .clip_samples import ClipPlace, ClipSamples, CollateClips
from .stored_clips import ClipContents, clips_in, clips_of_set
from .videos.order import group_clips
from .who_decodes import not_by_dali, not_by_pyav, pyav_is_faster, who_decodes


class ClipLoader(TorchLoader):
    """Low and normal clips, (N, T, C, H, W) each: the same crop, resize and flips for all frames.

    It is a loader as `TorchLoader` is: epochs, ranks, states. On a GPU, DALI decodes and gloam's
    kernels make live lows; on a CPU processes do both, for videos threads make the lows.

    Parameters
    ----------
    data : PairSet, str or Path
        A set of clips; or a folder of folders of frames, or of video files, whose lows are made
        live.
    split : str
        Of a set.
    frames : int, optional
        Of each clip, where `data` is no set (8); a set's clips have as many as it was built with.
    stride, step : int, optional
        There: from one frame of a clip to its next one (1), and from the first frame of a clip to
        that of the next clip (`frames`), as DALI's video readers have them.
    live : bool, optional
        Make lows when a clip is read: of a set's recipe or another one; folders are always live.
    recipe, draws
        As of `PairLoader`.
    reader : str
        "dali", "pyav" for videos, or "workers". On a GPU "auto" takes DALI, where it is installed
        and can read the clips: members of a set's shards, JPEGs and PNGs, or videos of 8 bits,
        4:2:0 and BT.601 (H.264, HEVC) that are shown as they are coded; live ones with a size, by a
        recipe of the camera model. Otherwise PyAV decodes videos in processes, part by part, also
        small ones that many cores decode faster (see `who_decodes`), and workers make whole
        batches of all else; and where DALI fails at what those decode, "auto" says so and takes
        them.
        All draw the same crops, flips and lows. Resized, they may differ by a level; JPEGs that a
        GPU decodes by up to 5 levels where colours meet, and colours of videos by more there, as
        DALI does not interpolate them.
    batch_size, size, crop, augment, pad, dtype, value_range, layout, framework, shuffle, seed, \
last_batch, keys, device, rank, world_size, workers, prefetch
        As of `TorchLoader`. Where workers do not make whole batches, `workers` are threads, and for
        videos processes, too; and at most 3 batches are made ahead. On a GPU small batches are made
        a few at a time (512 frames, or half a GiB of them), and as many of those are.

    Raises
    ------
    LoaderError, SetError
        As `TorchLoader`; also when there are no clips.

    Notes
    -----
    Clips of videos are shuffled in groups, by the key frames that decoding begins at, and then
    among those of as many groups as are 1 GiB of decoded frames; see `videos.order`. DALI and
    PyAV decode each group once an epoch, and hold some 2 GiB of frames; up to 5 of large ones, for
    many processes.

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
        data: PairSet | str | Path,
        split: str = "train",
        *,
        frames: int | None = None,
        stride: int | None = None,
        step: int | None = None,
        batch_size: int | None = None,
        size: int | tuple[int, int] | None = None,
        crop: Literal["resize", "random", "random-resized"] | None = None,
        augment: bool = False,
        pad: bool = False,
        dtype: Literal["float32", "float16", "uint8"] = "float32",
        value_range: tuple[float, float] = (0, 1),
        layout: Literal["CHW", "HWC"] = "CHW",
        framework: Literal["torch", "numpy", "cupy"] = "torch",
        shuffle: bool | None = None,
        seed: int = 0,
        last_batch: Literal["drop", "partial", "even", "padded"] | None = None,
        keys: bool = False,
        live: bool | None = None,
        recipe: Recipe | str | None = None,
        draws: Literal["fresh", "set"] | None = None,
        reader: Literal["auto", "dali", "pyav", "workers"] = "auto",
        device: str | int | torch.device = "auto",
        device_id: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        workers: int | None = None,
        threads: int | None = None,
        prefetch: int = 4,
        **unknown: Unpack[Nothing],
    ) -> None:
        training = split == "train"
        processes = same_number(workers, threads)
        self._wanted = find_device(device, device_id)
        held: PairSet | list[Any]
        if isinstance(data, PairSet) or (place(data) / SET_FILE).is_file():
            held = open_set(data)
            if (frames, stride, step) != (None, None, None):
                raise LoaderError(
                    f"{held.root}: frames, stride and step are those that the set was built with:"
                    f" clips of {held.frames} frames; leave them out",
                    path=held.root,
                )
            live = is_live(held, live, recipe=recipe, draws=draws)
            contents = clips_of_set(held, split, live)
        else:
            held, live = [], True
            contents = clips_in(data, Windows(_given(frames, 8), _given(stride, 1), step or 0))
        options = make_options(
            unknown,
            training,
            batch_size=batch_size,
            size=size,
            crop=crop,
            augment=augment,
            pad=pad,
            dtype=dtype,
            value_range=value_range,
            layout=layout,
            framework=framework,
            shuffle=shuffle,
            seed=seed,
            last_batch=last_batch,
            keys=keys,
            device="gpu" if self._wanted.kind == "gpu" else "cpu",
            threads=usable_cores() if processes is None else processes,
            prefetch=prefetch,
            hw_decoder_load=decoder_load(bool(live)),
        )
        lows = live_lows(held, recipe, draws, seed, training) if live else None
        self._groups = group_clips(contents.clips) if has_videos(contents) else None
        order = "clips" if self._groups is None else "videos"
        EpochLoader.__init__(self, contents, options, order, rank, world_size, lows)
        self._clips: ClipContents = contents
        self._samples = ClipSamples(contents, options, lows)
        self._dataset = self._samples  # type: ignore[assignment]
        self._columns = None
        self._loader: DataLoader[Any] | None = None
        self._ordered: dict[int, Any] = {}
        self._dali: Any = None
        self._falls_back = reader == "auto"
        self._begin_with(
            who_decodes(
                reader,
                options.device,
                partial(not_by_dali, contents, options, lows),
                partial(not_by_pyav, contents, options, lows),
                partial(pyav_is_faster, contents, options),
            )
        )

    def _begin_with(self, reader: str) -> None:
        """Say who decodes from now on."""
        if self._dali is not None:
            self._dali.close()
            self._dali = None
        if reader == "workers":
            prepare_workers([__name__], self.num_workers + 1)
            return
        from .dali_clips import DaliClips

        self._dali = DaliClips(
            self._clips, self.options, self.live, self._samples, self._batch_places, self.__len__,
            groups=self._groups, by_dali=reader == "dali",
        )  # fmt: skip

    @property
    def num_workers(self) -> int:
        """Processes that make batches; none where batches are made in this one."""
        return super().num_workers if self._dali is None else 0

    @property
    def batch_sampler(self) -> Any:
        """What begins an epoch when it is iterated; where DALI decodes, of ready batches."""
        return super().batch_sampler if self._dali is None else ReadyBatches(self)

    @property
    def collate_fn(self) -> Any:
        """What makes a batch of the samples of `dataset`."""
        return super().collate_fn if self._dali is None else first_batch

    def _collate(self, options: Options) -> Any:
        return CollateClips(options)

    def _rooms_for(self, device: torch.device) -> None:
        return None  # few batches, and large

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


def _given(value: int | None, default: int) -> int:
    return default if value is None else value
