"""PairLoader: batches of (low, normal) from a set, through DALI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...errors import LoaderError
from ..dataset import PairDataset
from ..index import Contents, cached_in, contents_of, open_data
from ..labels import label_columns
from ..live.lows import is_live, live_lows
from ..live.pool import DoesNotFit
from ..options import Nothing
from .batches import keys_of, tensor_of
from .dali_loader import DaliLoader
from .labelled import LabelSource

if TYPE_CHECKING:
    import torch

    from ...manifests.sets.pair_set import PairSet
from ...synth.recipes.load import Recipe

READERS = ("webdataset", "file", "external")


class PairLoader(DaliLoader):
    """An iterable over batches of pairs; each pass is one epoch.

    Batches are (low, normal) torch tensors, with `keys=True` and `labels=True` (low, normal, keys,
    labels), on the GPU or the CPU, in step: a low never comes with another image's normal.

    Parameters
    ----------
    data : PairSet, str, Path or sequence
        A set, its folder, or a list of (low, normal) paths or bytes, see `pairs_in`.
    split : str
        "train", "val" or "test". For lists it says only how `shuffle` and `last_batch` are where
        they are not given.
    normals : str or Path, optional
        Of a set of lows only (`gloam regenerate --low-only`): the set that it was made from.
    live : bool, optional
        Make each low when its pair is read, from the decoded normal: exact noise without stored
        lows, new noise in every epoch, or another recipe. `data` may then be a list of normals
        alone. By default so for sets that hold no lows (`gloam build --low-codec none`).
    recipe : Recipe or str, optional
        Of live lows; by default the set's own, or "uneven" for lists.
    draws : str, optional
        Of live lows: "fresh" draws anew in every epoch, a function of (seed, epoch, key); "set"
        draws what the set has stored, or would have. By default "fresh" for train, "set" for val.
    labels : bool
        Yield the labels of a set that was built with `--labels`: a dict, see
        `gloam.loaders.labels.batch_labels`.
    cache, cache_gb : optional
        Of a set in a store: a folder of this machine that its shards are copied to while they are
        loaded, and 10^9 bytes that they may take.
    resident : bool or "auto"
        Keep this rank's pairs in memory, decoded once: the GPU's, or the host's for `device="cpu"`;
        normals alone where lows are live. Each rank keeps its own part, shuffled anew in every
        epoch. "auto" does so where they fit, and reads them as the external reader does otherwise.
    resident_side : int, optional
        Longer side of what stays in memory; longer images are made smaller.
    exact : bool, optional
        Of live lows: decode normals as the set's lows were made from them, with libjpeg-turbo on
        the CPU. A GPU's decoder differs by up to 3 levels, and so do the lows.
    reader : str
        "webdataset" for shards, "file" for files, "external" for lists and for either (it reads at
        offsets and shuffles without limit); "auto" takes what fits.
    shuffle, last_batch : optional
        By default True and "drop" for train, False and "partial" for val.
    device : str, int or torch.device
        "cuda" (or "gpu"), "cuda:1", "cpu", or "auto": a GPU if torch sees one. Where no number is
        given, torch's current one when the first batch is made.
    device_id : int, optional
        The GPU's number, where `device` does not say it.
    rank, world_size : int, optional
        Otherwise found at the first batch, of torch.distributed, torchrun's or SLURM's environment,
        or 0 of 1.
    workers, threads : int, optional
        Threads that read and decode on the CPU; by default this rank's share of the cores.
    batch_size, size, crop, augment, pad, dtype, value_range, layout, framework, shuffle_buffer,
    seed, keys, hw_decoder_load, prefetch
        See `options.Options`.

    Raises
    ------
    LoaderError
        When an option is wrong, there are fewer pairs than ranks, an image cannot be decoded (named
        by shard, key and member), or images of one batch differ in size.
    SetError
        When the set is half built, or a shard or index is missing or stale.

    Notes
    -----
    Each `iter()` begins an epoch, shuffled anew as the seed says, of exactly `len(loader)` batches;
    one that was left before its end counts too. See `set_epoch`. `state_dict` and `load_state_dict`
    resume in mid-epoch with exactly the batches that were left, augmentation included.

    A GPU has few queues that its streams share, unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise
    before CUDA starts: decoding then waits behind training. Importing gloam.loaders sets it to 32
    where it is not set; do so before the first use of the GPU.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.PairLoader("SET", batch_size=2, size=64, device="cpu")
    >>> for low, normal in loader:
    ...     print(tuple(low.shape), low.dtype)
    (2, 3, 64, 64) torch.float32
    (2, 3, 64, 64) torch.float32
    """

    def __init__(
        self,
        data: PairSet | str | Path | Sequence[Any],
        split: str = "train",
        *,
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
        shuffle_buffer: int = 4096,
        seed: int = 0,
        last_batch: Literal["drop", "partial", "even", "padded"] | None = None,
        keys: bool = False,
        labels: bool = False,
        normals: str | Path | None = None,
        live: bool | None = None,
        recipe: Recipe | str | None = None,
        draws: Literal["fresh", "set"] | None = None,
        exact: bool | None = None,
        cache: str | Path | None = None,
        cache_gb: float | None = None,
        resident: bool | Literal["auto"] = False,
        resident_side: int | None = None,
        reader: Literal["auto", "webdataset", "file", "external"] = "auto",
        device: str | int | torch.device = "auto",
        device_id: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        workers: int | None = None,
        threads: int | None = None,
        hw_decoder_load: float | None = None,
        prefetch: int = 4,
        **unknown: Unpack[Nothing],
    ) -> None:
        training = split == "train"
        held = open_data(data, normals)
        live = is_live(held, live, recipe=recipe, draws=draws, exact=exact)
        options = self._options(
            unknown,
            training,
            device,
            device_id,
            bool(live),
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
            shuffle_buffer=shuffle_buffer,
            seed=seed,
            last_batch=last_batch,
            keys=keys,
            labels=labels,
            workers=workers,
            threads=threads,
            hw_decoder_load=hw_decoder_load,
            prefetch=prefetch,
            exact=bool(exact),
            resident_side=resident_side,
        )
        if resident not in (True, False, "auto"):
            raise LoaderError(f"resident {resident!r}: must be True, False or 'auto'")
        if resident_side is not None and not resident:
            raise LoaderError("resident_side goes with resident=True")
        contents = cached_in(contents_of(held, split, live=live), cache, cache_gb)
        lows = live_lows(held, recipe, draws, seed, training) if live else None
        reads = _reader("external" if resident else reader, contents)
        self._set_up(contents, options, reads, rank, world_size, lows)
        self._columns = label_columns(held, contents) if labels else None
        self._labels: LabelSource | None = None
        self._resident = resident
        self._pools: dict[str, Any] = {}  # what is in memory, decoded

    @property
    def dataset(self) -> PairDataset:
        """The pairs of all ranks; `dataset[i]` decodes one of them on the CPU."""
        return PairDataset(self.contents, live=self.live)

    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        """Build the pipeline of an epoch."""
        place = self.epoch, self._batch
        builder = self._builder
        numbers = builder.source_numbers(epoch)
        crops = builder.crops(epoch, numbers)
        if self._columns is not None:
            pairs = self.contents.pairs
            self._labels = LabelSource(
                self._columns,
                self.options,
                numbers,
                builder.epoch_of(epoch),
                lambda numbers: [pairs[number].key for number in numbers],
            )
            crops = self._labels.ahead_of(crops)
        if self._resident and self.options.last_batch == "padded":
            raise LoaderError(
                f"{self.contents.name}: resident pairs are each rank's own, and last_batch='padded'"
                " gives them in turn: leave resident out, or take last_batch='partial'"
            )
        if self._resident:
            try:
                return builder.build_resident(place, self._pools)
            except DoesNotFit as error:
                if self._resident != "auto":
                    raise
                print(f"{error}; loading it batch by batch", file=sys.stderr)
                self._resident = False
        return builder.build(epoch, checkpoint, place, numbers, crops)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_pools": {}, "_labels": None}

    def _drop(self) -> None:
        super()._drop()
        if self._labels is not None:
            self._labels.close()
            self._labels = None

    def _handed_out(self, outputs: tuple[Any, ...], count: int, done: int) -> tuple[Any, ...]:
        made = self._batch_of(outputs, count)
        if self._labels is None:
            return made
        numbers = outputs[2] if self._resident else None
        return (*made, self._labels.labels(done, count, numbers))

    def _batch_of(self, outputs: tuple[Any, ...], count: int) -> tuple[Any, ...]:
        low, normal, *labels = outputs
        by_number = self._builder.by_number
        if self.reader == "file" and self.live is None and not by_number:
            numbers = [np.array(label.as_cpu().as_tensor()).ravel() for label in labels]
            if (numbers[0] != numbers[1]).any():
                raise LoaderError(
                    f"{self.contents.name}: the lists of lows and normals are out of step; gloam"
                    " verify the set",
                    path=self.contents.name,
                )
        keys: list[str] = []
        own = self.reader == "webdataset" and not by_number
        if own and self.contents.two_sets and self.live is None:
            keys, others = (keys_of(label, count) for label in labels)
            if keys != others:
                where = f"{self.contents.name} and the normals of {self.contents.normal_root}"
                raise LoaderError(f"{where} are out of step; gloam verify both")
        images = tuple(tensor_of(images)[:count] for images in (low, normal))
        if not self.options.keys:
            return images
        if own:
            return (*images, keys or keys_of(labels[0], count))
        if self._resident:
            return (*images, [self.contents.pairs[int(number)].key for number in labels[0][:count]])
        places = np.array(labels[0].as_cpu().as_tensor()).ravel()[:count]
        return (*images, [self.contents.pairs[int(place)].key for place in places])


def _reader(reader: str, contents: Contents) -> str:
    fitting = contents.reader
    if reader == "auto":
        return fitting
    if reader not in READERS:
        raise LoaderError(f"reader {reader!r}: must be auto or one of {', '.join(READERS)}")
    if reader not in (fitting, "external"):
        raise LoaderError(
            f"reader {reader!r} cannot read {contents.name}, which lies otherwise; take {fitting!r}"
        )
    return reader
