"""Batches that are made at once: a few small ones take a GPU little longer than one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...manifests.images.header import read_header
from ...manifests.images.opening import MOST_PIXELS
from ..dali.batches import check_one_size, tensor_of
from .clip_bytes import read_first_normal
from .stored_clips import StoredClip

_FRAMES = 512
"""Of a round: on an H200 and 16 cores, clips of 8 frames of 192 x 192 come at 2,500 a second in
batches of 64, and at 1,900 in those of 16 that are made one by one."""
_BYTES = 1 << 29
"""Of its frames as float32, lows and normals: rounds are held ahead in the GPU's memory."""
_LOOKS = 16  # clips that are looked at


def largest_of(clips: Sequence[StoredClip]) -> int:
    """Return the pixels of the largest frame of some clips.

    Raises ImageRefused, LoaderError when one cannot be read.
    """
    some = clips[:: max(len(clips) // _LOOKS, 1)]
    headers = [read_header(read_first_normal(clip).tobytes(), MOST_PIXELS) for clip in some]
    return max(header.height * header.width for header in headers)


def batches_per_group(frames: int, pixels: int) -> int:
    """Return how many batches a round has.

    frames: number in a batch.
    pixels: number in a frame.
    """
    room = _BYTES // (2 * 3 * 4 * pixels)
    return max(min(_FRAMES, room) // frames, 1)


class BatchGroups(NamedTuple):
    """The rounds from a batch of an epoch on; none goes on beyond its epoch.

    together: batches of a round: fewer where it is the last of its epoch, or the first of all.
    batches: number of an epoch.
    epoch, batch: those of the first group.
    """

    together: int
    batches: int
    epoch: int
    batch: int

    def of(self, number: int) -> tuple[int, range]:
        """Return epoch and batches of a round by its number."""
        an_epoch = -(-self.batches // self.together)
        epochs, place = divmod(self.batch // self.together + number, an_epoch)
        begin = place * self.together
        end = min(begin + self.together, self.batches)
        return self.epoch + epochs, range(begin if number else self.batch, end)


def split(images: Any, counts: list[int]) -> list[Any]:
    """Return torch tensors of the batches of a round: of one alone, over DALI's memory.

    Each of several has memory of its own: keeping one, or changing it in place, keeps and changes
    no others.

    images: DALI's list of tensors, or torch tensor.
    counts: images of each batch.

    Raises LoaderError when images of one batch differ in size.
    """
    from torch import Tensor, stack
    from torch.utils.dlpack import from_dlpack

    if len(counts) == 1:
        return [tensor_of(images)]
    if isinstance(images, Tensor) or len({tuple(shape) for shape in images.shape()}) == 1:
        return [batch.clone() for batch in tensor_of(images).split(counts)]
    made, shapes, begin = [], images.shape(), 0
    for count in counts:
        check_one_size(shapes[begin : begin + count])
        made.append(stack([from_dlpack(images[i]) for i in range(begin, begin + count)]))
        begin += count
    return made
