"""The labels of a split as columns, for what takes those of one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import LoaderError, SetError
from ..labels.label_table import read_about
from ..labels.photo_labels import MASK
from .info import PAIRS
from .layouts.extents import Extent, Extents
from .pair_set import PairSet
from .split_files import SplitFiles
from .stored_labels import LabelRows, Whole, read_label_arrays


class StepLabels(NamedTuple):
    """The labels of some pairs, to be moved where their images are decoded.

    masks: where they lie; none of a set without.
    """

    rows: LabelRows
    roles: tuple[str, ...]
    masks: list[Extent]


@dataclass(frozen=True)
class LabelColumns:
    """The labels of a split.

    roles: which of "cls", "boxes", "classes", "mask" the set has.
    names: of its classes, by their numbers.
    sizes: int64 array (N, 2); height and width of the stored normals.
    masks: where each mask lies.
    numbers: int32 array (N); of the pairs' own classes; -1 without one.
    """

    roles: tuple[str, ...]
    names: list[str]
    sizes: Whole
    masks: Extents | None
    numbers: npt.NDArray[np.int32]
    _ends: Whole
    _of_objects: tuple[npt.NDArray[Any], ...]

    def take(self, numbers: Sequence[int] | Whole) -> LabelRows:
        """Return the labels of some pairs."""
        at = np.asarray(numbers, np.int64)
        starts, ends = self._ends[at], self._ends[at + 1]
        counts = ends - starts
        first = np.repeat(starts - np.cumsum(counts) + counts, counts)
        places = first + np.arange(int(counts.sum()))
        return LabelRows(self.numbers[at], counts, *(column[places] for column in self._of_objects))

    def of_step(self, numbers: Whole, nearest: Callable[[Extent], Extent]) -> StepLabels:
        """Return the labels of a step's pairs.

        nearest: says where a mask is read.
        """
        places = [] if self.masks is None else map(self.masks.__getitem__, numbers.tolist())
        return StepLabels(self.take(numbers), self.roles, [nearest(one) for one in places])


def read_label_columns(pairs: PairSet | Sequence[Any], files: SplitFiles) -> LabelColumns:
    """Read the labels of a split.

    Raises LoaderError when there are none, as of a list; SetError when they cannot be read.
    """
    if not isinstance(pairs, PairSet) or not pairs.info.build.labelled:
        raise LoaderError(
            f"{files.name}: has no labels; gloam build --labels carries those of its sources"
        )
    names, roles = read_about(pairs.root)
    sizes, own = read_label_arrays(pairs.root, len(names), files.split)
    if len(own.counts) != files.count:
        raise SetError(f"{pairs.root}: {PAIRS} has {len(own.counts)} rows; gloam verify the set")
    masks = None
    if MASK in roles:
        assert files.layout is not None
        place = files.root, files.split, files.units, (MASK,)
        masks = files.layout.extents(*place, held=False)[1][0]
    return LabelColumns(
        roles,
        names,
        sizes,
        masks,
        own.numbers,
        np.concatenate([[0], np.cumsum(own.counts)]).astype(np.int64),
        (own.boxes, own.classes, own.difficult, own.crowd),
    )
