"""ImageLoader: batches of (images, labels), by either backend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np

from ..errors import LoaderError, SourceError
from ..manifests.images.header import SUFFIXES
from ..manifests.labels.photo_labels import CLASS
from ..manifests.open_data import refuse_clips
from ..manifests.real.real import RealSet
from ..manifests.sets.info import SET_FILE
from ..manifests.sets.pair_set import PairSet, open_set
from ..manifests.sets.split_files import read_label_columns
from ..manifests.sources.folders import as_it_lies, list_images
from ..storage.stores import as_path
from ..storage.untrusted import read_regular
from .backend import choose_backend, options_for
from .components import OpenComponent
from .epoch_loader import EpochLoader
from .index import contents_of
from .options import ImageOptions, named_options
from .order import Order
from .render.host import enlarged
from .workers import set_up

_LABELLED = re.compile(r"(.*\S)\s+([+-]?[0-9]{1,9})", re.DOTALL)
_SUFFIXES = "|".join(map(re.escape, sorted(SUFFIXES, reverse=True)))
_BEHIND = re.compile(rf"(?:{_SUFFIXES})[\s,;]+([^/]+)\Z", re.IGNORECASE)
"""What stands behind the suffix of an image."""


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
        found = _files_or_set(data)
        data = found.paths if isinstance(found, ImageFiles) else found
        near = {name: given.get(name) for name in ("cache", "cache_gb")}
        contents = contents_of(data, split, live=True, **near)
        chosen, wanted = options_for(choice.backend, given, split == "train", False)
        if isinstance(found, ImageFiles):
            self.classes, numbers = found.names, np.array(found.labels, np.int64)
        else:
            self.classes, numbers = [], np.full(contents.count, -1, np.int64)
            if found.info.build.labelled:
                columns = read_label_columns(found, contents)
                if CLASS in columns.roles:
                    self.classes, numbers = columns.names, columns.rows.numbers.astype(np.int64)
        component = OpenComponent("", contents, classes=numbers)
        order = Order(contents.count, chosen.seed, chosen.shuffle)
        super().__init__((component,), order, {0: chosen}, given, split)
        set_up(self, choice, wanted, fit=enlarged)


def _files_or_set(data: PairSet | str | Path | Sequence[str | Path]) -> ImageFiles | PairSet:
    """Find out what was given: files, or a set."""
    if not isinstance(data, PairSet | str | Path):
        return images_given(data)
    if isinstance(data, PairSet) or (as_path(data) / SET_FILE).is_file():
        return refuse_clips(open_set(data))
    path = as_path(data)
    if not path.is_dir() and not path.is_file():
        raise LoaderError(f"{data}: no such folder, list or set")
    return images_in(path) if path.is_dir() else images_listed(path)


class ImageFiles(NamedTuple):
    """Image files and their classes.

    labels: numbers of their classes; -1 without.
    names: those of the classes, where they have some.
    """

    paths: list[str]
    labels: list[int]
    names: list[str]


def images_in(folder: Path) -> ImageFiles:
    """List a folder of class folders: classes are its folders, in order, as ImageFolder has them.

    Images that lie in the folder itself, all of them, have no classes.

    Raises LoaderError when there are no images.
    """
    try:
        found = list_images(folder)
    except SourceError as error:
        raise LoaderError(str(error), path=folder) from None
    parts = [path.relative_to(folder).parts for path in found]
    names = sorted({one[0] for one in parts if len(one) > 1})
    numbers = {name: number for number, name in enumerate(names)}
    labels = [numbers[one[0]] if len(one) > 1 else -1 for one in parts]
    return ImageFiles(list(map(str, found)), labels, names)


def images_given(paths: Sequence[str | Path]) -> ImageFiles:
    """Take a list of paths; of a `RealSet` its classes are known.

    Raises LoaderError when it holds something else.
    """
    for number, path in enumerate(paths):
        if not isinstance(path, str | Path):
            raise LoaderError(f"entry {number} of the list is not the path of an image")
    classes = paths.classes if isinstance(paths, RealSet) else [""] * len(paths)
    names = sorted(set(classes) - {""})
    numbers = {"": -1} | {name: number for number, name in enumerate(names)}
    return ImageFiles([str(path) for path in paths], [numbers[name] for name in classes], names)


def images_listed(path: Path) -> ImageFiles:
    """Read a list of `path label` or of `path` lines, relative to the list's folder.

    Blanks or tabs stand between both, as many as there are; labels are whole numbers.

    Raises LoaderError when it cannot be read, has no lines, or a line has no such label.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LoaderError(f"{path}: cannot be read: {error}", path=path) from error
    paths, labels = [], []
    for number, line in enumerate(re.split("\r\n?|\n", text), start=1):
        name, label = line.strip(), -1
        if parts := _LABELLED.fullmatch(name):
            name, label = parts[1], int(parts[2])
        if not name:
            continue
        if behind := _BEHIND.search(name):
            raise LoaderError(
                f"{path}:{number}: {behind[1]!r} behind the path is no label; write a path, or a"
                " path and one whole number",
                path=path,
            )
        paths.append(str(as_it_lies(path.parent / name)))
        labels.append(label)
    if not paths:
        raise LoaderError(f"{path}: names no images", path=path)
    return ImageFiles(paths, labels, [])
