"""ImageLoader: batches of (images, labels), by either backend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from ..errors import LoaderError, visible
from ..manifests.labels.labels import CLASS
from ..manifests.sets.info import SET_FILE
from ..manifests.sets.pair_set import PairSet, open_set
from ..storage.stores import as_path
from .backend import check_backend, class_of
from .epoch_loader import EpochLoader
from .image_files import ImageFiles, images_given, images_in, images_listed
from .index import Contents, cached_in, contents_of, refuse_clips, warn_enlarged
from .labels import label_columns
from .options import ImageOptions, check_names

_TIFF = re.compile(r"\.tiff?\Z", re.IGNORECASE).search


class ImageLoader(EpochLoader):
    """A DataLoader of (images, labels) for training on photographs themselves.

    Parameters
    ----------
    data : str, Path, PairSet or sequence of paths
        A folder of class folders (as torchvision's ImageFolder has it), a text file of `path label`
        or `path` lines, a list of paths (the classes of `gloam.real`'s are known), or a set, whose
        normals are loaded.
    split : str
        "train", "val" or "test", for a set; by default images are loaded as for training: shuffled,
        in whole batches. "val" takes every image once, in order.
    **options
        See `gloam.loaders.options.ImageOptions`; `batch_size` must be given, `backend` says who
        decodes.

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
        When `PairLoader` raises it.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.ImageLoader("photos", batch_size=2, size=64, device="cpu")
    >>> images, labels = next(iter(loader))
    >>> tuple(images.shape), labels.tolist()
    ((2, 3, 64, 64), [-1, -1])
    """

    _backend = "dali"
    _of_pairs = False

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Choose the backend: a DaliImages or a TorchImages."""
        if cls is not ImageLoader:
            return super().__new__(cls)
        made: Self = super().__new__(class_of("ImageLoader", options))
        return made

    def __init__(
        self,
        data: PairSet | str | Path | Sequence[str | Path],
        split: str = "train",
        **options: Unpack[ImageOptions],
    ) -> None:
        check_names(options, ImageOptions)
        check_backend(options, self._backend)
        images, contents = _found(data, split)
        given = {**options, "crop": options.get("crop") or "resize"}
        chosen = self._options(given, split == "train", False)
        warn_enlarged(data, contents, chosen.size)
        contents = cached_in(contents, options.get("cache"), options.get("cache_gb"))
        # DALI shows some TIFFs otherwise: gloam reads lists of them.
        tiffs = images is not None and any(map(_TIFF, images.paths))
        reader = contents.reader if images is None or tiffs else "file"
        if self._backend == "torch":
            reader = "torch"
        elif reader == "file" and images is not None:
            _check_names(images.paths)
        rank, world_size = options.get("rank"), options.get("world_size")
        super().__init__(contents, chosen, reader, rank, world_size)
        if images is not None:
            self.classes, numbers = images.names, np.array(images.labels, np.int64)
        else:
            assert isinstance(data, PairSet | str | Path)
            held = refuse_clips(open_set(data))
            self.classes, numbers = [], np.full(contents.count, -1, np.int64)
            if held.info.build.labelled:
                columns = label_columns(held, contents)
                if CLASS in columns.roles:
                    self.classes = columns.names
                    numbers = columns.numbers.astype(np.int64)
        self._classes_of, self._paths = numbers, images.paths if images else []
        self._set_up()

    def _set_up(self) -> None:
        """Set up what makes batches."""


def _check_names(paths: Sequence[str]) -> None:
    """Check that DALI can be told of paths. Raises LoaderError with one that is no UTF-8."""
    odd = next((path for path in paths if not path.isascii() and _is_odd(path)), None)
    if odd is not None:
        raise LoaderError.at(
            visible(odd), "DALI reads no name that is not UTF-8: rename it, or take backend='torch'"
        )


def _is_odd(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return True
    return False


def _found(
    data: PairSet | str | Path | Sequence[str | Path], split: str
) -> tuple[ImageFiles | None, Contents]:
    """Find out what was given: files, or None of a set."""
    if not isinstance(data, PairSet | str | Path):
        images = images_given(data)
        return images, contents_of(images.paths, split, live=True)
    if isinstance(data, PairSet) or (as_path(data) / SET_FILE).is_file():
        return None, contents_of(data, split, live=True)
    path = as_path(data)
    if path.is_dir():
        images = images_in(path)
    elif path.is_file():
        images = images_listed(path)
    else:
        raise LoaderError(f"{data}: no such folder, list or set")
    return images, contents_of(images.paths, split, live=True)
