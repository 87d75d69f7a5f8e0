"""Moving labels with their photograph when it is turned by EXIF and shrunk.

Masks of objects are runs of pixels as COCO counts them, column by column, outside first.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import ImageRefused, first_line
from ..images.header import read_header
from ..images.opening import check_pixels, open_lazily, upright

Mask = npt.NDArray[np.uint8]
_BITS = 60  # of a number, which counts pixels


@dataclass(frozen=True)
class Placement:
    """From a photograph to its stored normal.

    given: (width, height); size of the image that the labels speak of.
    turn: EXIF orientation to be applied to them, 1 (none) to 8.
    stored: (width, height); size of the stored normal.
    """

    given: tuple[int, int]
    turn: int
    stored: tuple[int, int]

    @property
    def shown(self) -> str:
        """The size of the image that the labels speak of, in words."""
        return f"{self.given[0]} x {self.given[1]}"

    @property
    def moves(self) -> bool:
        """Whether anything is turned or scaled."""
        return self.turn != 1 or self.given != self.stored

    def points(self, flat: Sequence[float]) -> list[float]:
        """Move points: x and y in turn."""
        if not self.moves:
            return list(map(float, flat))
        points = np.array(flat, np.float64).reshape(-1, 2)
        width, height = self.given
        if self.turn >= 5:
            points, width, height = points[:, ::-1].copy(), height, width
        if self.turn in (2, 3, 6, 7):
            points[:, 0] = width - points[:, 0]
        if self.turn in (3, 4, 7, 8):
            points[:, 1] = height - points[:, 1]
        if (width, height) != self.stored:
            points *= self.stored[0] / width, self.stored[1] / height
        return [float(value) for value in points.ravel()]

    def box(self, box: Sequence[float]) -> list[float]:
        """Move a box (left, top, right, bottom), and cut it at the image's edges."""
        x0, y0, x1, y1 = self.points(box)
        width, height = self.stored
        left, right = (min(max(x, 0.0), float(width)) for x in sorted((x0, x1)))
        top, bottom = (min(max(y, 0.0), float(height)) for y in sorted((y0, y1)))
        return [left, top, right, bottom]

    def pixels(self, mask: Mask) -> Mask:
        """Move a mask (H, W): each pixel of the normal takes the nearest one's value."""
        return np.ascontiguousarray(nearest(upright(mask, self.turn), self.stored[::-1]))

    def runs(self, runs: Sequence[int]) -> tuple[int, ...]:
        """Move an object's pixels, as COCO counts them; ValueError if they are of another size."""
        width, height = self.given
        mask = mask_of(runs, height, width)
        return runs_of(self.pixels(mask)) if self.moves else tuple(runs)


def numbers_in(data: bytes) -> Mask:
    """Decode a mask, uint8 (H, W).

    Raises ValueError when it is damaged, or its samples are no numbers of classes.
    """
    try:
        with open_lazily(data) as image:
            if image.mode not in ("P", "L"):
                raise ValueError(f"a mask of mode {image.mode}, not of numbers of classes")
            check_pixels(*image.size)
            return np.asarray(image)
    except (ImageRefused, OSError, SyntaxError) as error:
        raise ValueError(f"a damaged mask: {first_line(error)}") from error


def nearest(mask: Mask, size: tuple[int, int]) -> Mask:
    """Bring a mask to a size (height, width): each pixel takes the nearest one's value."""
    rows, columns = (
        (np.arange(to) * 2 + 1) * before // (2 * to)
        for to, before in zip(size, mask.shape, strict=True)
    )
    return mask[rows][:, columns]


def placement_of(data: bytes, stored: tuple[int, int], said: tuple[int, int]) -> Placement:
    """Find how labels of a photograph move to its stored normal.

    data: the photograph.
    stored: (width, height); size of the normal.
    said: (width, height); size of the image by its annotations, (0, 0) for none. They speak of the
      pixels as they lie in the file (so COCO's and VOC's do, whose tools know no EXIF), unless this
      is the size of the upright image, and of that alone. Of a smaller or larger copy they are
      scaled.

    Raises ImageRefused when it is no photograph; ValueError when they speak of an image of another
    shape.
    """
    header = read_header(data, 2**62)
    size, turn = (header.width, header.height), header.orientation
    if said == (0, 0):
        return Placement(size, turn, stored)
    shapes = [(size, turn), (size[::-1], 1)] if turn >= 5 else [(size, turn)]
    for fits in (operator.eq, _is_resized_copy):
        for shape, left in shapes:
            if fits(said, shape):
                return Placement(said, left, stored)
    raise ValueError(f"annotated as {said[0]} x {said[1]}, the photograph is {size[0]} x {size[1]}")


def _is_resized_copy(said: tuple[int, int], size: tuple[int, int]) -> bool:
    """Return whether an image can be another, resized: in the same shape, but for rounding."""
    difference = abs(said[0] * size[1] - said[1] * size[0])
    return 2 * difference <= sum(size) and 50 * difference <= size[0] * said[1]


def mask_of(runs: Sequence[int], height: int, width: int) -> Mask:
    """Return a mask of 0 and 1, uint8 (H, W); ValueError when the runs are of another size."""
    if min(runs, default=0) < 0 or sum(runs) != height * width:
        raise ValueError(f"a mask of {sum(runs)} pixels for an image of {width} x {height}")
    counts = np.asarray(runs, np.int64)
    values = (np.arange(len(counts)) % 2).astype(np.uint8)
    return np.repeat(values, counts).reshape(width, height).T


def runs_of(mask: Mask) -> tuple[int, ...]:
    """Return the runs of a mask of 0 and 1: the other way round."""
    flat = mask.T.ravel()
    edges = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff([0, *edges.tolist(), flat.size]).tolist()
    return (0, *lengths) if flat.size and flat[0] else tuple(lengths)


def runs_in(text: str) -> tuple[int, ...]:
    """Read runs in COCO's compressed text.

    Groups of five bits, the sixth of a character saying that there are more; from the third run on
    the difference to the last but one (cocoapi, common/maskApi.c). Raises ValueError when it ends
    in mid-number, or holds what no such text does.
    """
    runs: list[int] = []
    value = shift = 0
    for character in text.encode("ascii"):
        code = character - 48
        if not 0 <= code < 64 or shift > _BITS:
            raise ValueError("not a mask in COCO's compressed form")
        value |= (code & 0x1F) << shift
        shift += 5
        if code & 0x20:
            continue
        if code & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError("a mask in COCO's compressed form that ends in mid-number")
    return tuple(runs)
