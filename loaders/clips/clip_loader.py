"""Clips in training, of sets, of folders of frames and of video files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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
from ...synth.models import model_of
from ...synth.recipes.load import Recipe
from ..dali.batches import ReadyBatches
from ..dali.dali_loader import decoder_load, is_installed
from ..dataset import first_batch
from ..devices import find_device
from ..epochs import EpochLoader
from ..live.lows import LiveLows, is_live, live_lows
from ..options import Nothing, Options, make_options, same_number
from ..ranks_and_order import epoch_order, epoch_seed, usable_cores
from ..torch_loader import TorchLoader
from .clip_bytes import beyond_dali, has_videos
from .clip_samples import ClipPlace, ClipSamples, CollateClips
from .stored_clips import ClipContents, clips_in, clips_of_set
from .video_order import group_clips


class ClipLoader(TorchLoader):
    """Low and normal clips, (N, T, C, H, W) each: the same crop, resize and flips for all frames.

    It is a loader as `TorchLoader` is: epochs, ranks, states. On a GPU, DALI decodes clips whose
    frames are stored, and gloam's kernels make live lows; otherwise processes do both.

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
        "dali" or "workers"; "auto" takes DALI on a GPU, where it is installed and can read the
        clips: members of a set's shards, JPEGs and PNGs, or videos of 8 bits and 4:2:0 (H.264,
        HEVC, VP8, VP9, AV1, MPEG-4) that are shown as they are coded; live ones with a size, by a
        recipe of the camera model. Where DALI fails at what processes decode, "auto" says so and
        takes them. Both draw the same crops, flips and lows. Resized, they may differ by a level;
        JPEGs that a GPU decodes by up to 5 levels where colours meet, and colours of videos by more
        there, as DALI does not interpolate them.
    batch_size, size, crop, augment, pad, dtype, value_range, layout, framework, shuffle, seed, \
last_batch, keys, device, rank, world_size, workers, prefetch
        As of `TorchLoader`. With DALI `workers` are threads, and at most 3 batches are made ahead.

    Raises
    ------
    LoaderError, SetError
        As `TorchLoader`; also when there are no clips.

    Notes
    -----
    Clips of videos are shuffled in groups, by the key frames that decoding begins at, and then
    among those of as many groups as are 2 GiB of decoded frames; see `video_order`.

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
        crop: Literal["resize", "random", "random-resized"] = "resize",
        augment: bool = False,
        pad: bool = False,
        dtype: Literal["float32", "float16", "uint8"] = "float32",
        value_range: tuple[float, float] = (0, 1),
        layout: Literal["CHW", "HWC"] = "CHW",
        framework: Literal["torch", "numpy", "cupy"] = "torch",
        shuffle: bool | None = None,
        seed: int = 0,
        last_batch: Literal["drop", "partial"] | None = None,
        keys: bool = False,
        live: bool | None = None,
        recipe: Recipe | str | None = None,
        draws: Literal["fresh", "set"] | None = None,
        reader: Literal["auto", "dali", "workers"] = "auto",
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
            batch_size=batch_size,
            size=size,
            crop=crop,
            augment=augment,
            pad=pad,
            dtype=dtype,
            value_range=value_range,
            layout=layout,
            framework=framework,
            shuffle=training if shuffle is None else shuffle,
            seed=seed,
            last_batch=("drop" if training else "partial") if last_batch is None else last_batch,
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
        self._ordered: tuple[int, Any] | None = None
        self._dali: Any = None
        self._falls_back = reader == "auto"
        if _by_dali(reader, options.device, partial(_beyond_dali, contents, options, lows)):
            from .dali_clips import DaliClips

            self._dali = DaliClips(
                contents, options, lows, self._samples, self._batch_places, self.__len__,
                groups=self._groups,
            )  # fmt: skip
        else:
            prepare_workers([__name__], self.num_workers + 1)

    @property
    def num_workers(self) -> int:
        """Processes that decode; none where DALI does."""
        return super().num_workers if self._dali is None else 0

    @property
    def batch_sampler(self) -> Any:
        """What begins an epoch when it is iterated; where DALI decodes, of ready batches."""
        return super().batch_sampler if self._dali is None else ReadyBatches(self)

    @property
    def collate_fn(self) -> Any:
        """What makes a batch of the samples of `dataset`."""
        return CollateClips(self.options) if self._dali is None else first_batch

    def _begin(self) -> Iterator[tuple[Any, ...]]:
        if self._dali is None:
            yield from super()._begin()
            return
        from .dali_clips import DaliFailed

        device_id = self._wanted.current() if self.options.device == "gpu" else None
        try:
            for low, normal, keys in self._dali.batches(self.epoch, self._batch, device_id):
                yield (low, normal, keys) if self.options.keys else (low, normal)
        except DaliFailed as failure:
            if not self._falls_back:
                raise
            print(f"{failure}; processes decode from here on", file=sys.stderr)
            self._dali.close()
            self._dali = None
            prepare_workers([__name__], self.num_workers + 1)
            yield from super()._begin()

    def _free(self) -> None:
        super()._free()
        if self._dali is not None:
            self._dali.close()

    def _places(self) -> Iterator[list[Any]]:
        """Yield what is left of the running epoch: batches of clips and of their draws' seeds."""
        epoch = self.epoch
        for batch in range(self._batch, len(self)):
            yield self._batch_places(epoch, batch)

    def _batch_places(self, epoch: int, batch: int) -> list[ClipPlace]:
        """Return the clips of a batch and their draws' seeds."""
        options, size = self.options, self.options.batch_size
        if self._ordered is None or self._ordered[0] != epoch:
            first, last = self.rank.slice(self.contents.count)
            drawn = options.seed, epoch, options.shuffle
            if self._groups is None:
                order = epoch_order(self.contents.count, *drawn)
            else:
                order = self._groups.order(*drawn)
            self._ordered = epoch, order[first:last]
        return [
            ClipPlace(
                self._clips.clips[n],
                epoch_seed(options.seed, epoch, f"draws of pair {n}"),
                epoch,
                n,
            )
            for n in self._ordered[1][batch * size : (batch + 1) * size].tolist()
        ]


def _by_dali(reader: str, device: str, beyond: Callable[[], str]) -> bool:
    """Return whether DALI decodes, for whom some clips are beyond what it can do."""
    if reader not in ("auto", "dali", "workers"):
        raise LoaderError(f"reader {reader!r}: must be auto, dali or workers", key="reader")
    if reader == "workers" or (reader == "auto" and device != "gpu"):
        return False
    if not is_installed():
        if reader == "auto":
            return False
        raise LoaderError(
            "reader 'dali' needs NVIDIA DALI: pip install nvidia-dali-cuda120; or leave reader out",
            key="reader",
        )
    why_not = beyond()
    if reader == "dali" and why_not:
        raise LoaderError(f"reader 'dali' {why_not}: leave reader out", key="reader")
    return not why_not


def _beyond_dali(contents: ClipContents, options: Options, lows: LiveLows | None) -> str:
    """Return why processes alone can make clips; "" where DALI can."""
    on_gpu = options.device == "gpu"
    if lows is not None and on_gpu:
        if options.size is None:
            return "makes live lows of one size: give size="
        if model_of(lows.recipe) != "camera":
            return "makes live lows by recipes of the camera model"
    return "" if contents.layout is not None else beyond_dali(contents.clips, on_gpu)


def _given(value: int | None, default: int) -> int:
    return default if value is None else value
