"""ImageLoader: batches of (images, labels), by either backend."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..errors import LoaderError
from ..manifests.labels.labels import CLASS
from ..manifests.sets.info import SET_FILE
from ..manifests.sets.pair_set import PairSet, open_set
from ..storage.stores import as_path
from .backend import choose_backend, options_for
from .components import OpenComponent
from .epoch_loader import EpochLoader
from .image_files import ImageFiles, images_given, images_in, images_listed
from .index import Contents, cached_in, contents_of, refuse_clips, warn_enlarged
from .labels import label_columns
from .options import ImageOptions, check_names
from .order import EpochOrder
from .samples import Samples, collate, places_of

if TYPE_CHECKING:
    from .steps import RenderedStep


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
        check_names(options, ImageOptions)
        given: dict[str, Any] = {**options, "crop": options.get("crop") or "resize"}
        choice = choose_backend(given)
        images, contents = _found(data, split)
        chosen, wanted = options_for(choice.backend, given, split == "train", False)
        warn_enlarged(contents, chosen.size)
        contents = cached_in(contents, options.get("cache"), options.get("cache_gb"))
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
        component = OpenComponent("", contents, classes=numbers)
        super().__init__(
            (component,),
            EpochOrder(contents.count, chosen.seed, chosen.shuffle),
            {0: chosen},
            name=contents.name,
            split=split,
            identity=contents.identity,
            rank=options.get("rank"),
            world_size=options.get("world_size"),
        )
        self._numbers = numbers
        self.dataset = Samples(self.components, self.sizes, "opencv", contents.count)
        if choice.backend == "dali":
            from .dali_backend import DaliBackend
            from .render.host import enlarged

            self.backend = DaliBackend(choice, wanted, fit=enlarged)
            return
        from .workers import WorkerBackend

        make = partial(partial, collate)
        self.backend = WorkerBackend(choice, wanted, chosen, places_of, make, shared=False)

    def as_batch(self, rendered: RenderedStep) -> tuple[Any, ...]:
        """Return a `RenderedStep` as it is handed out."""
        import torch

        (images,), positions = rendered.images, rendered.step.positions
        numbers = torch.from_numpy(self._numbers[[one.number for one in positions]])
        made = images, numbers.to(images.device, non_blocking=True)
        return (*made, self.keys_of(rendered.step)) if self.options.keys else made


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
