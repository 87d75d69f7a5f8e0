"""Labels as a set stores them: members of its samples, and columns of `pairs.parquet`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import SetError
from ...storage.parquet import pc
from ...storage.untrusted import reason_of
from ..images.npy import npy_bytes
from ..images.opening import encode_by_opencv
from ..labels.photo_labels import BOXES, CLASS, CLASSES, MASK, NO_CLASS, VOID, Labels
from .sample import Encoded
from .tables import LABEL_FIELDS, SIZE_FIELDS, check_table

Whole = npt.NDArray[np.int64]
_FIELDS = pa.schema([("split", pa.string()), *SIZE_FIELDS, *LABEL_FIELDS])
LABEL_COLUMNS = _FIELDS.names
_LISTS = ("label_boxes", "label_classes", "label_difficult", "label_crowd")


def members_of(
    labels: Labels, record: Mapping[str, Any], roles: Sequence[str]
) -> dict[str, Encoded]:
    """Return the members that hold a photograph's labels.

    All samples of a set have the same: one without a class has the number -1, one without objects
    arrays of none, one without a mask a mask of 255.

    labels: on the stored normal.
    record: what the sample's record holds of them; see `record_of`.
    roles: which of "cls", "boxes", "classes", "mask" the set has.
    """
    made: dict[str, Encoded] = {}
    if CLASS in roles:
        made[CLASS] = Encoded(str(record["class_number"]).encode(), "")
    if BOXES in roles:
        boxes = np.array(record["boxes"], np.float32).reshape(-1, 4)
        made[BOXES] = Encoded(npy_bytes(boxes), "npy")
        made[CLASSES] = Encoded(npy_bytes(np.array(record["classes"], np.int32)), "npy")
    if MASK in roles:
        width, height = labels.size
        nothing = np.full((height, width), VOID, np.uint8)
        made[MASK] = Encoded(labels.mask or encode_by_opencv(nothing), "png")
    return made


class LabelRows(NamedTuple):
    """The labels of some pairs, one after the other.

    numbers: int32 array (N); of the pairs' own classes; -1 without one.
    counts: int64 array (N); objects of each.
    boxes: float32 array (M, 4); left, top, right, bottom, in pixels of the stored normal.
    classes: int32 array (M).
    difficult, crowd: bool arrays (M).
    """

    numbers: npt.NDArray[np.int32]
    counts: Whole
    boxes: npt.NDArray[np.float32]
    classes: npt.NDArray[np.int32]
    difficult: npt.NDArray[np.bool_]
    crowd: npt.NDArray[np.bool_]


def label_rows(path: Path, table: pa.Table, classes: int, split: str | None = None) -> LabelRows:
    """Return the labels of a set's pairs, or of a split.

    path, table: of its pairs, of which `LABEL_COLUMNS` were read.
    classes: that the set has.

    Raises SetError when they are not as gloam writes them: missing values, a number for no class.
    """
    check_table(path, table, LABEL_COLUMNS)
    lists: list[tuple[Whole, npt.NDArray[Any]]] = []
    try:
        table = table.select(LABEL_COLUMNS).cast(_FIELDS)
        if split is not None:
            table = table.filter(pc.equal(table["split"], split))
        for name in _LISTS:
            array = table[name].combine_chunks()
            if array.null_count or array.values.null_count:
                raise ValueError("values are missing")
            ends = array.offsets.to_numpy().astype(np.int64)
            values = array.values.to_numpy(zero_copy_only=False)
            lists.append((ends - ends[0], values[ends[0] : ends[-1]]))
        numbers = [*(table[name].to_numpy() for name in ("label_class", "height", "width"))]
    except (ValueError, pa.ArrowException) as error:
        raise SetError.at(path, f"its labels cannot be read: {reason_of(error)}") from error
    counts = np.diff(lists[1][0])
    each = zip(lists, (4, 1, 1, 1), strict=True)
    if not (
        all((np.diff(ends) == times * counts).all() for (ends, _), times in each)
        and all(((a >= NO_CLASS) & (a < classes)).all() for a in (numbers[0], lists[1][1]))
        and np.isfinite(lists[0][1]).all()
        and all((sides > 0).all() for sides in numbers[1:])
    ):
        raise SetError.at(path, "has labels that gloam does not write; gloam verify the set")
    return LabelRows(
        numbers[0].astype(np.int32),
        counts,
        lists[0][1].astype(np.float32).reshape(-1, 4),
        *(values for _, values in lists[1:]),
    )
