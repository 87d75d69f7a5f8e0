"""How labels move with their photograph when it is turned by its EXIF orientation and shrunk."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..images.encode import encode_grey
from ..images.header import read_header
from ..images.opening import upright
from .runs import mask_of, runs_of

Mask = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Placement:
    """From a photograph to its stored normal.

    Attributes
    ----------
    given : (width, height)
        Of the image that the labels speak of.
    turn : int
        EXIF orientation to be applied to them, 1 (none) to 8.
    stored : (width, height)
        Of the stored normal.
    """

    given: tuple[int, int]
    turn: int
    stored: tuple[int, int]

    @property
    def unchanged(self) -> bool:
        """Whether nothing moves."""
        return self.turn == 1 and self.given == self.stored

    def points(self, flat: Sequence[float]) -> list[float]:
        """Move points: x and y in turn."""
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
        """Move which pixels are an object's own, as COCO counts them."""
        if self.unchanged:
            return tuple(runs)
        width, height = self.given
        return runs_of(self.pixels(mask_of(runs, height, width)))

    def mask(self, data: bytes) -> bytes:
        """Move a mask that is a PNG; returns one of a grey sample a pixel, the number of a class.

        Raises
        ------
        ValueError
            When its samples are no numbers of classes, or it has another size.
        """
        with Image.open(io.BytesIO(data)) as image:
            if image.mode not in ("P", "L"):
                raise ValueError(f"a mask of mode {image.mode}, not of numbers of classes")
            pixels = np.asarray(image)
        if pixels.shape[::-1] != self.given:
            raise ValueError(f"a mask of {pixels.shape[::-1]} for an image of {self.given}")
        return encode_grey(self.pixels(pixels))


def nearest(mask: Mask, size: tuple[int, int]) -> Mask:
    """Bring a mask to a size (height, width): each pixel takes the nearest one's value."""
    rows, columns = (
        (np.arange(to) * 2 + 1) * before // (2 * to)
        for to, before in zip(size, mask.shape, strict=True)
    )
    return mask[rows][:, columns]


def placement_of(data: bytes, stored: tuple[int, int], said: tuple[int, int]) -> Placement:
    """Find how labels of a photograph move to its stored normal.

    Parameters
    ----------
    data : bytes
        The photograph.
    stored : (width, height)
        Of the normal.
    said : (width, height)
        What the annotations give as the image's size, (0, 0) for nothing. They speak of the pixels
        as they lie in the file (so COCO's and VOC's do, whose tools know no EXIF), unless this is
        the size of the upright image, and of that alone.

    Raises
    ------
    ImageRefused
        When it is no photograph.
    """
    header = read_header(data, 2**62)
    size, turn = (header.width, header.height), header.orientation
    if turn >= 5 and said == size[::-1] and said != size:
        return Placement(said, 1, stored)
    return Placement(size, turn, stored)
