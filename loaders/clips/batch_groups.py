"""Groups of batches made at once: a few small batches take a GPU little longer than one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...manifests.images.header import read_header
from ..dali.batches import tensor_of
from ..dataset import check_one_size
from .clip_bytes import read_first_normal
from .stored_clips import StoredClip

_FRAMES = 512
"""Frames of a group: on an H200 and 16 cores, clips of 8 frames of 192 x 192 come at 2,500 a second
in batches of 64, and at 1,900 in batches of 16 made one by one."""
_BYTES = 1 << 29
"""Bytes of a group's lows and normals as float32: groups are prefetched to the GPU's memory."""
_LOOKS = 16  # clips whose frames are measured


def largest_of(clips: Sequence[StoredClip]) -> int:
    """Return the number of pixels of the largest frame among some of the clips.

    Raises ImageRefused, LoaderError when one cannot be read.
    """
    some = clips[:: max(len(clips) // _LOOKS, 1)]
    headers = [read_header(read_first_normal(clip).tobytes()) for clip in some]
    return max(header.height * header.width for header in headers)


def batches_per_group(frames: int, pixels: int) -> int:
    """Return the number of batches in a group.

    frames: number of frames in a batch.
    pixels: number of pixels in a frame.
    """
    fit = _BYTES // (2 * 3 * 4 * pixels)
    return max(min(_FRAMES, fit) // frames, 1)


class BatchGroups(NamedTuple):
    """The groups from a batch of an epoch on; none continues into the next epoch.

    together: batches in a group; the last one of an epoch and the first of all may have fewer.
    batches: number of batches in an epoch.
    epoch, batch: position of the first group.
    """

    together: int
    batches: int
    epoch: int
    batch: int

    def of(self, number: int) -> tuple[int, range]:
        """Return the epoch and the batches of a group by its number."""
        an_epoch = -(-self.batches // self.together)
        epochs, place = divmod(self.batch // self.together + number, an_epoch)
        begin = place * self.together
        end = min(begin + self.together, self.batches)
        return self.epoch + epochs, range(begin if number else self.batch, end)


def split(images: Any, counts: list[int]) -> list[Any]:
    """Split a group's images into a torch tensor for each batch.

    A single batch shares DALI's memory; several are copied, so that keeping one, or changing it in
    place, affects no other.

    images: DALI's list of tensors, or a torch tensor.
    counts: number of images in each batch.

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
