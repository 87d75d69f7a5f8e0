"""ImageLoader: batches of (images, labels), by either backend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from ..manifests.labels.photo_labels import CLASS
from ..manifests.open_data import ImageFiles, open_images
from ..manifests.sets.pair_set import PairSet
from ..manifests.sets.split_files import open_files, read_label_columns
from .backend import choose_backend, options_for
from .components import OpenComponent
from .contents import Contents
from .epoch_loader import EpochLoader
from .options import ImageOptions, named_options
from .order import Order
from .render.cpu_renderer import enlarged
from .workers import set_up


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

    _what = "images"
    _of_pairs = False

    def __init__(
        self,
        data: PairSet | str | Path | Sequence[str | Path],
        split: str = "train",
        **options: Unpack[ImageOptions],
    ) -> None:
        given = named_options(options, ImageOptions)
        given["crop"] = given.get("crop") or "resize"
        choice = choose_backend(given)
        found = open_images(data)
        own = found.paths if isinstance(found, ImageFiles) else found
        near = {name: given.get(name) for name in ("cache", "cache_gb")}
        files = open_files(own, split, live=True, **near)
        self.classes, numbers = list[str](), np.full(files.count, -1, np.int64)
        if isinstance(found, ImageFiles):
            self.classes, numbers = found.names, np.array(found.labels, np.int64)
        elif found.info.build.labelled:
            columns = read_label_columns(found, files)
            if CLASS in columns.roles:
                self.classes, numbers = columns.names, columns.rows.numbers.astype(np.int64)
        chosen, wanted = options_for(choice.backend, given, split == "train", False)
        component = OpenComponent("", Contents(**vars(files)), classes=numbers)
        order = Order(files.count, chosen.seed, chosen.shuffle)
        super().__init__((component,), order, {0: chosen}, given, split)
        set_up(self, choice, wanted, fit=enlarged)
