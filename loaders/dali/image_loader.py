"""ImageLoader: batches of (images, labels) through DALI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...errors import LoaderError
from ...manifests.labels.labels import CLASS
from ...manifests.sets.info import SET_FILE
from ...manifests.sets.pair_set import PairSet, open_set
from ...storage.stores import place
from ..dataset import ImageDataset
from ..index import Contents, cached_in, contents_of, of_images
from ..labels import label_columns
from ..options import Nothing
from .batches import tensor_of
from .dali_loader import DaliLoader
from .forms.host_images import HostImages
from .image_files import ImageFiles, images_in, images_listed

if TYPE_CHECKING:
    import torch


class ImageLoader(DaliLoader):
    """A DataLoader of (images, labels) for training on photographs themselves.

    Parameters
    ----------
    data : str, Path or PairSet
        A folder of class folders (as torchvision's ImageFolder has it), a text file of `path label`
        or `path` lines, or a set, whose normals are loaded.
    split : str
        Of a set: "train", "val" or "test"; by default images are loaded as for training: shuffled,
        in whole batches. "val" takes every image once, in order.
    **options
        As of `PairLoader`: batch_size, size, crop, augment, pad, dtype, value_range, layout,
        shuffle, shuffle_buffer, seed, last_batch, keys, cache, cache_gb, device, device_id, rank,
        world_size, workers, threads, hw_decoder_load, prefetch.

    Attributes
    ----------
    classes : list of str
        Names of the classes, by their numbers; empty where there are none.

    Yields
    ------
    images : tensor (N, 3, H, W) or (N, H, W, 3)
    labels : int64 tensor (N)
        Numbers of classes, -1 without; on the images' device.
    keys : list of str
        With keys=True: files' names without suffix, or keys of pairs.

    Raises
    ------
    LoaderError, SetError
        As `PairLoader`.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.ImageLoader("photos", batch_size=2, size=64, device="cpu")
    >>> images, labels = next(iter(loader))
    >>> tuple(images.shape), labels.tolist()
    ((2, 3, 64, 64), [-1, -1])
    """

    def __init__(
        self,
        data: PairSet | str | Path,
        split: str = "train",
        *,
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
        shuffle_buffer: int = 4096,
        seed: int = 0,
        last_batch: Literal["drop", "partial", "even", "padded"] | None = None,
        keys: bool = False,
        cache: str | Path | None = None,
        cache_gb: float | None = None,
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
        images, contents = _found(data, split)
        options = self._options(
            unknown,
            split == "train",
            device,
            device_id,
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
            workers=workers,
            threads=threads,
            hw_decoder_load=hw_decoder_load,
            prefetch=prefetch,
        )
        contents = cached_in(contents, cache, cache_gb)
        reader = contents.reader if images is None else "file"
        self._set_up(contents, options, reader, rank, world_size)
        if images is not None:
            self.classes, numbers = images.names, np.array(images.labels, np.int64)
        else:
            held = of_images(open_set(data))
            self.classes, numbers = [], np.full(contents.count, -1, np.int64)
            if held.info.build.labelled:
                columns = label_columns(held, contents)
                if CLASS in columns.roles:
                    self.classes = columns.names
                    numbers = columns.numbers.astype(np.int64)
        self._classes_of, self._paths = numbers, images.paths if images else []

    @property
    def dataset(self) -> ImageDataset:
        """The images of all ranks; `dataset[i]` decodes one of them on the CPU."""
        return ImageDataset(self.contents, self._classes_of)

    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        """Build the pipeline of an epoch."""
        from . import image_pipelines

        builder = self._builder
        self._numbers_of = numbers = builder.source_numbers(epoch)
        common = builder.common(epoch, checkpoint) | {"crops": builder.crops(epoch, numbers)}
        if self._paths and not builder.by_number:
            made = image_pipelines.file_images(self._paths, **common, **builder.sharding(epoch))
        elif self.reader == "webdataset" and not builder.by_number:
            shards = self.contents.shards("normal")
            made = image_pipelines.webdataset_images(*shards, **common, **builder.sharding(epoch))
        else:
            made = image_pipelines.external_images(builder.source(numbers).normals, **common)
        pipeline = builder.built(made)
        if self.options.device == "gpu":
            return pipeline
        before = (self.epoch - epoch) * builder.epoch_batches() + self._batch
        return HostImages(
            pipeline,
            self.options,
            self._numbers,
            lambda numbers: [self.contents.pairs[int(number)].key for number in numbers],
            builder.epoch_of(epoch),
            before if checkpoint is not None else 0,
        )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_numbers_of": None}

    def _numbers(self, done: int, given: Any) -> Any:
        """Return the numbers of a batch's images, which shards do not tell."""
        if self._paths or self.reader != "webdataset" or self._builder.by_number:
            return np.array(given.as_cpu().as_tensor()).ravel()
        return self._numbers_of(done)

    def _handed_out(self, outputs: tuple[Any, ...], count: int, done: int) -> tuple[Any, ...]:
        import torch

        images, given = outputs
        numbers = given if isinstance(given, np.ndarray) else self._numbers(done, given)
        chosen = np.asarray(numbers)[:count]
        tensor = tensor_of(images)[:count]
        labels = torch.from_numpy(self._classes_of[chosen]).to(tensor.device, non_blocking=True)
        if not self.options.keys:
            return tensor, labels
        return tensor, labels, [self.contents.pairs[int(number)].key for number in chosen]


def _found(data: PairSet | str | Path, split: str) -> tuple[ImageFiles | None, Contents]:
    """Find out what was given: files, or None of a set."""
    if isinstance(data, PairSet) or (place(data) / SET_FILE).is_file():
        return None, contents_of(data, split, live=True)
    path = place(data)
    if path.is_dir():
        images = images_in(path)
    elif path.is_file():
        images = images_listed(path)
    else:
        raise LoaderError(f"{data}: no such folder, list or set")
    return images, contents_of(images.paths, split, live=True)
