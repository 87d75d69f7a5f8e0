"""Clips: one draw for all frames, independent noise in each.

    render_clip(normals, drawn)     the lows of all frames
    frame_names(members, "low")     low.000, low.001, ...; none where a sample is a pair

Exposure, camera, white balance and illumination are the clip's; lights lie where its first frame is
bright, and stay. Shot, read and row noise of a frame are keyed by its number; the first frame has
the noise of the still of the same key, normal and draw, and is that still's low. A recipe's section
`video` lets the exposure drift or flicker from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ..errors import ImageRefused, Reason
from ..manifests.sets.sample import LOW, NORMAL, Sample
from .draws.record import CameraDraw
from .draws.table import frame_table, table_of_records
from .input_images import decode_image
from .kernels.arrays import Pixels
from .kernels.numbers.random_bits import frame_seed
from .models import Draw, LowMaker, parse_draw

T = TypeVar("T")


def frame_name(member: str, number: int) -> str:
    """Return the name of a frame among the members of its clip.

    Examples
    --------
    >>> frame_name("low", 7)
    'low.007'
    """
    return f"{member}.{number:03d}"


def frame_names(members: Iterable[str], member: str) -> list[str]:
    """Return the frames of a member, in order; none where a sample is a pair."""
    return sorted(name for name in members if name.startswith(f"{member}."))


def named_frames(member: str, frames: Sequence[T], clip: bool) -> dict[str, T]:
    """Return frames by their names among a clip's members; of a pair the only one, `member`."""
    return {frame_name(member, i) if clip else member: frame for i, frame in enumerate(frames)}


def is_clip(members: Iterable[str]) -> bool:
    """Return whether members are those of a clip."""
    return bool(frame_names(members, NORMAL))


def frames_of(sample: Sample) -> tuple[list[Pixels], list[Pixels]]:
    """Return the lows and the normals of a clip, uint8 RGB (H, W, 3) each.

    The lows of a live set, which holds none, are made of the stored draw.

    Raises ImageRefused when a frame is damaged, not there, or of another size; ValueError when the
    draw is damaged.
    """
    normals = [sample.decoded(name, decode_image) for name in frame_names(sample.members, NORMAL)]
    lows = [sample.decoded(name, decode_image) for name in frame_names(sample.members, LOW)]
    shapes = {frame.shape for frame in (*lows, *normals)}
    if len(shapes) != 1 or len(lows or normals) != len(normals):
        raise ImageRefused(Reason.DAMAGED, "its frames are not of one size, or some are missing")
    return lows or render_clip(normals, parse_draw(sample.record["draw"])), normals


def frame_maker(draws: Sequence[Draw], frames: int) -> LowMaker:
    """Return a LowMaker for the frames of clips, so many of each, clip after clip."""
    cameras = [drawn for drawn in draws if isinstance(drawn, CameraDraw)]
    if cameras:
        return LowMaker(frame_table(table_of_records(cameras), frames))
    seeds = ((drawn, frame_seed(drawn.pixel_seed, n)) for drawn in draws for n in range(frames))
    return LowMaker([drawn.changed({"pixel_seed": seed}) for drawn, seed in seeds])


def render_clip(normals: Sequence[Pixels], drawn: Draw) -> list[Pixels]:
    """Make the lows of a clip's frames; see `models.render`.

    Examples
    --------
    >>> import numpy as np
    >>> from gloam.synth.models import draw, render
    >>> from gloam.synth.recipes.load import load_recipe
    >>> still = np.full((48, 64, 3), 160, np.uint8)
    >>> drawn = draw(load_recipe("uneven"), 0, "a")
    >>> lows = render_clip([still, still], drawn)
    >>> bool((lows[0] == render(still, drawn)).all()), bool((lows[0] == lows[1]).all())
    (True, False)
    """
    return list(each_low(normals, drawn))


def each_low(normals: Sequence[Pixels], drawn: Draw) -> Iterator[Pixels]:
    """Yield the lows of `render_clip`, one made after the other."""
    maker = frame_maker([drawn], len(normals))
    for number, normal in enumerate(normals):
        yield maker.low(number, normal, lit_as=normals[0])
