"""How labels move with the pixels of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ..errors import ImageRefused, LoaderError
from ..manifests.images.header import check_size
from ..manifests.labels.photo_labels import BOXES, CLASS
from ..manifests.labels.placement import nearest as nearest_pixels
from ..manifests.sets.layouts.extents import Extent
from ..manifests.sets.split_files import StepLabels
from ..manifests.sets.stored_labels import LabelRows
from .options import Options
from .stored_pairs import read_extent

_LEAST = 1.0  # pixels of a box's sides, under which a crop leaves it out


def batch_labels(
    rows: LabelRows,
    crops: npt.NDArray[Any],
    masks: Sequence[npt.NDArray[np.uint8]],
    roles: Sequence[str],
    options: Options,
) -> dict[str, Any]:
    """Return the labels of a batch, moved as its pixels are.

    crops: array (N, 7); see `augment.crops_of`.
    masks: sequence of uint8 arrays (H, W); moved already; see `move_mask`.

    Returns a dict of those that the set has: "class" (N) int64; "boxes", a list of (M, 4) float32
    (left, top, right, bottom in pixels of the tensors), with "classes" int64, "difficult" and
    "crowd" bool, lists of (M); "mask" (N, H, W) uint8, 255 where an image was padded.
    """
    import torch

    made: dict[str, Any] = {}
    if CLASS in roles:
        made["class"] = torch.from_numpy(rows.numbers.astype(np.int64))
    if BOXES in roles:
        boxes, kept = _move_boxes(rows, crops, options)
        ends = np.concatenate([[0], np.cumsum(rows.counts)])
        inside = np.concatenate([[0], np.cumsum(kept)])
        counts = np.diff(inside[ends]).tolist()
        columns = {
            "boxes": boxes[kept],
            "classes": rows.classes[kept].astype(np.int64),
            "difficult": rows.difficult[kept],
            "crowd": rows.crowd[kept],
        }
        made |= {
            name: list(torch.split(torch.from_numpy(np.ascontiguousarray(column)), counts))
            for name, column in columns.items()
        }
    if masks:
        height, width = (max(sides) for sides in zip(*(one.shape for one in masks), strict=True))
        made["mask"] = torch.full((len(masks), height, width), 255, dtype=torch.uint8)
        for into, mask in zip(made["mask"].numpy(), masks, strict=True):
            into[: mask.shape[0], : mask.shape[1]] = mask
    return made


def _move_boxes(
    rows: LabelRows, crops: npt.NDArray[Any], options: Options
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Move boxes as pixels move; and say which still are at least a pixel wide and high."""
    whose = np.repeat(np.arange(len(crops)), rows.counts)
    kept, windows = np.asarray(crops, np.float32)[:, [3, 2]], crops[:, [1, 0]]  # x before y
    sides = kept if options.size is None else np.array([options.size[::-1]], np.float32) + 0 * kept
    points = rows.boxes.reshape(-1, 2, 2) - windows.astype(np.float32)[whose, None]
    points *= (sides / kept)[whose, None]
    limits = sides[whose, None]
    points = np.minimum(np.maximum(points, 0, out=points), limits, out=points)
    flips = crops[:, 4:].astype(bool)
    if flips.any():
        for axis in (0, 1):
            one = flips[whose, axis]
            points[one, :, axis] = (limits[one, :, axis] - points[one, :, axis])[:, ::-1]
        turned = flips[whose, 2]
        points[turned] = points[turned, :, ::-1]
    wide = (points[:, 1] - points[:, 0] >= _LEAST).all(axis=1)
    return points.reshape(-1, 4), wide


def move_mask(extent: Extent, crop: npt.NDArray[Any], options: Options) -> Any:
    """Read a mask and move it as the pixels of its pair: each takes the nearest one's value.

    Returns uint8 array (H, W). Raises LoaderError when it cannot be read.
    """
    data = read_extent(extent)
    mask: Any = None
    with suppress(cv2.error, ImageRefused):  # of one that is too large
        if check_size(data):
            mask = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if mask is None or mask.ndim != 2:
        raise LoaderError(f"{extent.path}: a mask at byte {extent.offset} cannot be decoded")
    top, left, height, width, across, down, turned = (int(value) for value in crop)
    mask = mask[top : top + height, left : left + width]
    if options.size is not None and options.size != (height, width):
        mask = nearest_pixels(mask, options.size)
    mask = mask[:: -1 if down else 1, :: -1 if across else 1]
    return mask.T if turned else mask


def begin_labels(
    labels: StepLabels | None,
    crops: npt.NDArray[Any],
    options: Options,
    each: Callable[..., Iterable[Any]] = map,
) -> Callable[[], dict[str, Any] | None]:
    """Begin to move the labels of a step; return what waits for them, see `batch_labels`.

    each: calls a function on each mask.
    """
    if labels is None:
        return lambda: None
    masks = each(partial(move_mask, options=options), labels.masks, crops)
    return lambda: batch_labels(labels.rows, crops, list(masks), labels.roles, options)
