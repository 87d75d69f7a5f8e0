"""A clip's frames as normals, and scene changes: clips that hold one are refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...errors import ImageRefused, Reason
from ..images.normals import Normal, encode_normal, load_normal
from ..images.opening import Pixels
from ..sources.containers import Location, read
from .listing import frame_files, video_and_times
from .video import check_clip, convert_frames

_SIDE = 120  # pixels that are looked at along the longer side
_LEVELS = 4  # of each channel, of a histogram of colours
_CELLS = 6
# Between two of 200 photographs, 98.2 % are found; between two views of one, shifted by up to 8 %
# of its sides, enlarged by up to a tenth, .85 to 1.15 as bright, and noisy, 1.0 %.
_OTHER = 0.6  # share of the pixels that change their place in the histogram: another scene
_SOME = 0.25  # the same, where cells are not alike either
_ALIKE = 0.6  # correlation of cells
_STEP = 56  # mean difference of cells' levels


def load_clip(
    location: Location,
    max_side: int | None = None,
    max_pixels: int | None = None,
    cuts: bool = False,
) -> list[Normal]:
    """Load the frames of a clip as a set stores them.

    Frames that are files are kept as photographs are, byte for byte where that can be; those of
    videos become JPEGs of quality 95 without chroma subsampling.

    location: location from `listing.list_clips`.
    max_side, max_pixels: see `load_normal`.
    cuts: whether a clip may hold a scene change.

    Raises ImageRefused when a frame cannot be used, when they differ in size, are too many for
    theirs (`check_clip`), or when there is a scene change.
    """

    def normal_of(pixels: Pixels) -> Normal:
        return encode_normal(np.ascontiguousarray(pixels), max_side, "frame of a video")

    files = frame_files(location)
    if files is None:
        video, times = video_and_times(location)
        frames = convert_frames(video, times, max_pixels, normal_of)
    else:
        frames = load_files(files, max_side, max_pixels)
    check_frames(frames, cuts)
    return frames


def load_files(
    files: Sequence[Location], max_side: int | None, max_pixels: int | None
) -> list[Normal]:
    """Load the frames of a clip that are files; see `load_clip`."""
    frames: list[Normal] = []
    for file in files:
        frames.append(load_normal(read(file), max_side, max_pixels))
        check_clip(*frames[-1].size, len(frames), max_pixels)
    return frames


def check_frames(frames: list[Normal], cuts: bool = False) -> None:
    """Raise ImageRefused for a clip whose frames differ in size, or that holds a scene change."""
    sizes = sorted({frame.size for frame in frames})
    if len(sizes) > 1:
        raise ImageRefused(Reason.UNSUPPORTED, f"frames of different sizes: {sizes[0]}, {sizes[1]}")
    if not cuts:
        refuse_cut([frame.pixels for frame in frames])


def is_cut(before: Pixels, after: Pixels) -> bool:
    """Return whether there is a scene change between two frames.

    There is where three fifths of the pixels would have to change their colour, of 64; where a
    quarter would and the means of 6 x 6 cells correlate below .6; or where those differ by 56
    levels in the mean. In whole numbers, so that it is the same everywhere.

    before, after: uint8 arrays (H, W, 3).
    """
    one, other = _thinned_pixels(before), _thinned_pixels(after)
    if one.shape != other.shape:
        return True
    pixels = one.shape[0] * one.shape[1]
    moved = int(np.abs(_colour_histogram(one) - _colour_histogram(other)).sum())
    if moved > 2 * _OTHER * pixels:
        return True
    cells = _cell_means(one), _cell_means(other)
    if int(np.abs(cells[0] - cells[1]).sum()) >= _STEP * cells[0].size:
        return True
    return moved > 2 * _SOME * pixels and not _cells_correlate(*cells)


def _cells_correlate(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> bool:
    """Return whether cells correlate, each channel about its own mean: in exact whole numbers."""
    count = one.shape[0] * one.shape[1]
    a, b = (cells * count - cells.sum(axis=(0, 1)) for cells in (one, other))
    both, first, second = (int((x * y).sum()) for x, y in ((a, b), (a, a), (b, b)))
    return both > 0 and both * both >= _ALIKE * _ALIKE * first * second


def refuse_cut(frames: Sequence[Pixels]) -> None:
    """Refuse a clip that holds a scene change.

    Raises ImageRefused with the number of the frame that begins another scene.
    """
    for number in range(1, len(frames)):
        if is_cut(frames[number - 1], frames[number]):
            raise ImageRefused(Reason.SCENE_CHANGE, f"at frame {number} of the clip")


def _thinned_pixels(frame: Pixels) -> Pixels:
    step = max(1, max(frame.shape[:2]) // _SIDE)
    return frame[::step, ::step]


def _colour_histogram(frame: Pixels) -> npt.NDArray[np.int64]:
    level = (frame >> 6).astype(np.int64)
    cells = (level[..., 0] * _LEVELS + level[..., 1]) * _LEVELS + level[..., 2]
    return np.bincount(cells.ravel(), minlength=_LEVELS**3)


def _cell_means(frame: Pixels) -> npt.NDArray[np.int64]:
    edges = [np.unique(np.arange(_CELLS + 1) * length // _CELLS) for length in frame.shape[:2]]
    rows = np.add.reduceat(frame, edges[0][:-1], axis=0, dtype=np.int64)
    sums = np.add.reduceat(rows, edges[1][:-1], axis=1)
    means: npt.NDArray[np.int64] = sums // np.multiply.outer(*map(np.diff, edges))[..., None]
    return means
