"""Steps on their way from who decodes to who renders, and from there to a loader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from ..errors import LoaderError
from .augment import Floats, crop_numbers, crops_of
from .components import OpenComponent
from .options import Options
from .order import Step, Whole
from .stored_pairs import check_one_shape

Crops = npt.NDArray[np.int32]


class DecodedStep(NamedTuple):
    """A step whose images are decoded.

    images: by number: uint8 arrays (H, W, 3); on a GPU, tensors of DALI or torch.
    sizes: int64 array (M, 2); height and width of each image.
    low, normal: int64 arrays (N); which images each sample has, or each frame of it. They are one
      where its low is made of its normal, or it is one image.
    held: what keeps the images' memory.
    at: uint64 array (M); on a GPU, the images' addresses, where they are known.
    """

    step: Step
    images: Any
    sizes: Whole
    low: Whole
    normal: Whole
    held: Any = None
    at: npt.NDArray[np.uint64] | None = None

    @property
    def frames(self) -> int:
        """Frames of each sample."""
        return len(self.normal) // len(self.step.positions)


class RenderedStep(NamedTuple):
    """A finished batch.

    images: tensors; low and normal, or images alone; those of clips are (N, T, ...).
    classes: int64 array (N); of single images.
    keys, labels, extras: of the samples, of a set, and what draws know; None where nobody asks.
    counts: samples of each batch, where it is several at once.
    """

    images: tuple[Any, ...]
    classes: Any = None
    keys: list[str] | None = None
    labels: dict[str, Any] | None = None
    extras: dict[str, Any] | None = None
    counts: tuple[int, ...] = ()

    def as_batch(self) -> tuple[Any, ...]:
        """Return it as a loader hands it out: images, classes, keys, labels, extras."""
        made: list[Any] = [*self.images]
        if self.classes is not None:
            made.append(torch.as_tensor(self.classes).to(made[0].device, non_blocking=True))
        return *made, *(one for one in (self.keys, self.labels, self.extras) if one is not None)


class Decoder(Protocol):
    """Decodes one step after the other.

    ahead: steps that are rendered while one is used.
    """

    ahead: int

    def next(self, stream: Any = None) -> DecodedStep:
        """Return the next step; on a GPU, for a stream of torch."""

    def close(self) -> None:
        """End its threads."""


class Renderer(Protocol):
    """Makes a batch of each step that a decoder gives."""

    def next(self) -> RenderedStep:
        """Make the next batch."""

    def close(self) -> None:
        """End its threads, and the decoder."""


class Group(NamedTuple):
    """Samples of a step that are of one component and pass.

    rows: where they are in the step.
    numbers, keys: those of the samples in the component; keys where somebody reads them.
    """

    component: int
    epoch: int
    rows: Whole
    numbers: Whole
    keys: Sequence[str] = ()

    def frames(self, each: int) -> Whole:
        """Return where the frames of its samples are among the step's, `each` of a sample."""
        return (self.rows[:, None] * each + np.arange(each)).ravel()


def groups_of(step: Step, keyed: Sequence[OpenComponent] = ()) -> list[Group]:
    """Return the samples of a step by component and pass.

    keyed: the components, where keys are wanted.
    """
    own = step.positions
    passes = int(own.epoch.max(initial=0)) + 1
    found, firsts = np.unique(own.component * passes + own.epoch, return_index=True)
    groups = []
    for one in found[np.argsort(firsts)].tolist():
        component, epoch = divmod(one, passes)
        rows = np.flatnonzero((own.component == component) & (own.epoch == epoch))
        keys = keyed[component].contents.keys_of(own.number[rows]) if keyed else ()
        groups.append(Group(component, epoch, rows, own.number[rows], keys))
    return groups


def joint_numbers(groups: Sequence[Group], draw: Callable[[Group], Floats]) -> Floats:
    """Return random numbers (N, 7) of a step's samples, of a function that draws a group's."""
    made = np.empty((sum(len(group.rows) for group in groups), 7))
    for group in groups:
        made[group.rows] = draw(group)
    return made


def rendered_step(
    components: Sequence[OpenComponent],
    step: Step,
    images: Sequence[Any],
    groups: Sequence[Group] | None,
    labels: dict[str, Any] | None,
    extras: dict[str, Any] | None,
) -> RenderedStep:
    """Return a step whose images, or frames of clips one after the other, are made.

    groups: its samples, with keys, where these are handed out.
    """
    (one, *_), count, keys = components, len(step.positions), None
    if one.contents.of_clips:
        images = [part.reshape(count, -1, *part.shape[1:]) for part in images]
    if groups is not None:
        of_row = dict[int, str]()
        for group in groups:
            of_row |= zip(group.rows.tolist(), group.keys, strict=True)
        keys = [of_row[row] for row in range(count)]
    classes = None if one.classes is None else one.classes[step.positions.number]
    return RenderedStep(tuple(images), classes, keys, labels, extras, step.counts)


def draw_crops_of(
    decoded: DecodedStep, random: Floats, components: Sequence[OpenComponent], options: Options
) -> tuple[Crops, Crops]:
    """Return the crops (N, 7) of lows and of normals: of unpaired pictures other windows.

    The frames of a sample have the same.

    random: numbers that `augment.crop_numbers` draws for the samples.

    Raises LoaderError when the images of a sample differ in size.
    """
    check_sizes(decoded, components)
    frames = decoded.frames
    lows = crops_of(random, options, decoded.sizes[decoded.low[::frames]])
    normals = lows.copy()
    if decoded.step.positions.bright is not None:
        for row, one in enumerate(decoded.step.positions):
            bright = components[one.component].bright
            if one.bright is not None and bright is not None:
                number, epoch = one.bright
                own_numbers = crop_numbers(options, epoch, bright.keys_of([number]))
                size = decoded.sizes[decoded.normal[row]]
                normals[row, :4] = crops_of(own_numbers, options, size)[0, :4]
    return np.repeat(lows, frames, axis=0), np.repeat(normals, frames, axis=0)


def check_sizes(decoded: DecodedStep, components: Sequence[OpenComponent]) -> None:
    """Check that images that are cut alike have one size.

    Raises LoaderError naming the sample.
    """
    frames, sizes, positions = decoded.frames, decoded.sizes, decoded.step.positions
    firsts = np.repeat(sizes[decoded.normal[::frames]], frames, axis=0)
    for own in (decoded.low, decoded.normal):
        for row in np.flatnonzero((sizes[own] != firsts).any(axis=1)).tolist():
            one = positions[row // frames]
            contents = components[one.component].contents
            if one.bright is not None:
                continue
            if frames > 1:
                (key,) = contents.keys_of([one.number])
                raise LoaderError(f"{key}: its frames differ in size", key=key)
            shapes = [tuple(sizes[which[row]].tolist()) for which in (decoded.low, decoded.normal)]
            check_one_shape(contents.pair(one.number), shapes[0], shapes[1])
