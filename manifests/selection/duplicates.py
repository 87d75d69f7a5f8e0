"""Near-duplicates by perceptual hash, over millions of candidates at once; and twins.

Twins are pictures of one scene: at other exposures, from a little aside, cut, framed, mirrored.

Two pictures are twins if copies of them are equal; or if their perceptual hashes differ in few bits
and their thumbnails, on a scale on which a gain is nearly a shift, correlate. Of 345 unlike
pictures no two came nearer than 12 bits, and those within 14 correlate by .28 at most; of twins
that are cropped by up to 6 % of each side, exposed by other 2 stops and shown by another curve, 94
of 100 are found.

Flat borders are cut first, so that equal frames make no twins, and letterboxes hide none. Pictures
of which little but a lamp is seen need details that agree, too, and a mere glow is like nothing.
Mirrored pictures, and windows that leave out a tenth of some sides, are looked for as well; theirs
must be nearer, as there are many of them. Of the 345, 343 and more are found again in letterboxes
and frames, mirrored, or without a tenth of each side, at no false one but for two scenes of which
one is mirrored; of 553 frames of 83 brackets none is taken for another scene's. What is turned, or
cut by much more than a tenth of each side, is not found.

All is in whole numbers, the same on every machine: which photographs become pairs may rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..images.decode import decode_small
from ..images.header import read_header
from ..images.opening import Pixels, upright
from .measures import SIDE, luma_of, mean_cells, perceptual_hash

_CHUNKS = 4
_CHUNK_BITS = 16


def near_duplicates(
    hashes: npt.NDArray[np.uint64], usable: npt.NDArray[np.bool_], bits: int
) -> npt.NDArray[np.int64]:
    """Find for each image the index of an earlier, kept image that it repeats, or -1.

    Images are taken in order: one is dropped when its hash differs in at most `bits` bits from one
    that was kept before. Two such hashes agree in at least one of their four 16-bit chunks
    (pigeonhole, for `bits` up to 3), so only images that share a chunk are compared.

    hashes: uint64 array (N,).
    usable: bool array (N,); images that take part; others neither drop nor are dropped.
    bits: 0 to 3.
    """
    if not 0 <= bits < _CHUNKS:
        raise ValueError(f"bits = {bits}: must be 0 to {_CHUNKS - 1}")
    repeats = np.full(len(hashes), -1, dtype=np.int64)
    members = np.flatnonzero(usable)
    # Exact repeats first: thousands of equal hashes would make a bucket quadratic.
    _, first, inverse = np.unique(hashes[members], return_index=True, return_inverse=True)
    owner = members[first[inverse]]
    repeats[members] = np.where(owner == members, -1, owner)

    unique = members[np.sort(first)]
    values = hashes[unique]
    kept_by = np.full(len(values), -1, np.int64)  # the first kept image that one is near to
    for later, earlier in zip(*_near_pairs(values, bits), strict=True):
        if kept_by[later] < 0 and kept_by[earlier] < 0:
            kept_by[later] = earlier
    near = kept_by >= 0
    repeats[unique[near]] = unique[kept_by[near]]
    # Exact repeats of an image that was itself dropped point at the one that was kept.
    dropped = (repeats >= 0) & (repeats[np.maximum(repeats, 0)] >= 0)
    repeats[dropped] = repeats[repeats[dropped]]
    return repeats


def near_across(
    hashes: npt.NDArray[np.uint64], groups: npt.NDArray[np.int64], bits: int
) -> list[tuple[int, int]]:
    """Find images of different groups whose hashes differ in at most `bits` bits.

    hashes: uint64 array (N,).
    groups: int array (N,).
    bits: 0 to 3.

    Returns list of (int, int): indices of two such images, for each two hashes one pair.
    """
    # One image of each hash and group: equal hashes would make all comparisons quadratic.
    _, first = np.unique(np.stack([hashes, groups.astype(np.uint64)]), axis=1, return_index=True)
    by_hash: dict[int, list[int]] = {}
    for index in np.sort(first).tolist():
        by_hash.setdefault(int(hashes[index]), []).append(index)
    found = [(indices[0], indices[1]) for indices in by_hash.values() if len(indices) > 1]
    values = np.array(list(by_hash), np.uint64)
    for later, earlier in zip(*_near_pairs(values, bits), strict=True):
        two = (by_hash[int(values[earlier])], by_hash[int(values[later])])
        apart = next(((a, b) for a in two[0] for b in two[1] if groups[a] != groups[b]), None)
        if apart is not None:
            found.append(apart)
    return found


def _near_pairs(
    values: npt.NDArray[np.uint64], bits: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find all pairs (later, earlier) of hashes that differ in at most `bits` bits, in order."""
    later, earlier = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for chunk in range(_CHUNKS):
        part = (values >> np.uint64(_CHUNK_BITS * chunk)) & np.uint64(0xFFFF)
        order = np.argsort(part, kind="stable")
        hashes, part = values[order], part[order]
        # Neighbours at distance 1, 2, ... in a run of equal chunks, as long as a run is so long.
        ends = np.searchsorted(part, part, side="right")
        indices, distance = np.arange(len(values)), 0
        while len(indices):
            distance += 1
            indices = indices[indices + distance < ends[indices]]
            near = indices[np.bitwise_count(hashes[indices] ^ hashes[indices + distance]) <= bits]
            later.append(order[near + distance])
            earlier.append(order[near])
    pairs = np.unique(np.concatenate(later) * len(values) + np.concatenate(earlier))
    return pairs // len(values), pairs % len(values)


_BITS, _NEAR, _BITS_OF_PART = 14, 8, 12
_ALIKE, _NEARLY, _ALIKE_IN_PART = (4, 5), (1, 2), (17, 20)
"""Least correlations, as fractions: up to 14 bits; up to 8, which unlike pictures never are; and
up to 12 of windows and mirrored pictures."""
_CELLS, _FINE, _SHIFTS = 16, 32, 5
_SMALL = 60  # pixels of the longer side of what is kept of a picture
_FLAT = 4  # levels that differ in a border
_TURNS = 3, 6, 8  # of EXIF's orientations, those of cameras
_LEAST = 8  # pixels of a side within borders
_FEW = 32  # cells that the variance of a thumbnail lies in, so few that details must agree
_DETAIL = (2, 3)
_SMOOTH = 8  # a photograph's Laplacian has more than a fifth of its variance, a lamp's glow a tenth
_WINDOWS = (
    *((1, 19, 1, 19), (2, 18, 2, 18), (0, 20, 2, 18), (2, 18, 0, 20)),
    *((2, 20, 0, 20), (0, 18, 0, 20), (0, 20, 2, 20), (0, 20, 0, 18)),
    *((2, 20, 2, 20), (2, 20, 0, 18), (0, 18, 2, 20), (0, 18, 0, 18)),
)
"""Windows that pictures are cut to, all, two or one of their sides, or at a corner: top, bottom,
left and right in twentieths."""
Thumbnail = npt.NDArray[np.int64]
_Box = tuple[float, float, float, float]  # top, bottom, left, right, in shares of the sides


class Twins(NamedTuple):
    """Two pictures that are twins: their places in two lists, and how far apart they are."""

    first: int
    second: int
    bits: int


class Look(NamedTuple):
    """A picture, or a part of it, as it is compared with others.

    hash: perceptual hash.
    thumbnail: int16 array (256,); see `thumbnail`.
    small: uint8 array (H, W); luma, at most 60 pixels of a side.
    digest: checksum of a small copy, and of the picture's size; nothing of a part.
    turned: whether EXIF turns its file, a JPEG, of which `measures.measure` has the hash as stored.
    """

    hash: int
    thumbnail: npt.NDArray[np.int16]
    small: Pixels
    digest: bytes = b""
    turned: bool = False


def thumbnail(pixels: Pixels) -> Thumbnail:
    """Return fourth roots of the mean luma of 16 x 16 cells of a picture, in parts of 256."""
    return _fourth_roots(mean_cells(luma_of(pixels), _CELLS, _CELLS))


def _fourth_roots(cells: npt.NDArray[np.float64]) -> Thumbnail:
    # IEEE 754 rounds a square root in one way.
    return np.rint(256 * np.sqrt(np.sqrt(cells + 1.0))).astype(np.int64).ravel()


def look_at(pixels: Pixels, size: tuple[int, int] | None = None) -> Look:
    """Look at a picture, uint8 RGB (H, W, 3); `size` is its own if that is a small copy."""
    luma = luma_of(pixels)
    longer = max(luma.shape)
    down, across = (max(1, round(side * min(_SMALL, longer) / longer)) for side in luma.shape)
    small = np.rint(mean_cells(luma, down, across)).astype(np.uint8)
    digest = blake2b(pixels.tobytes(), key=str(size or pixels.shape).encode(), digest_size=16)
    return _look_at_luma(luma)._replace(small=small, digest=digest.digest())


def _look_at_luma(luma: Pixels) -> Look:
    thumb = _fourth_roots(mean_cells(luma, _CELLS, _CELLS)).astype(np.int16)
    return Look(perceptual_hash(luma), thumb, luma)


def look_at_file(data: bytes) -> Look:
    """Look at a picture's file, upright. Raises ImageRefused when it cannot be decoded."""
    header = read_header(data)
    pixels, size = decode_small(data, header, SIDE), (header.width, header.height)
    if header.format != "JPEG" or header.orientation == 1:
        return look_at(pixels, size)
    if header.orientation >= 5:
        size = size[1], size[0]
    return look_at(upright(pixels, header.orientation), size)._replace(turned=True)


def correlate(first: Thumbnail, second: Thumbnail, least: tuple[int, int] = _ALIKE) -> bool:
    """Return whether two thumbnails correlate by a fraction or more."""
    count = len(first)
    sums = int(first.sum()), int(second.sum())
    product = count * int(first @ second) - sums[0] * sums[1]
    variances = [
        count * int(one @ one) - own * own for one, own in zip((first, second), sums, strict=True)
    ]
    over, under = least
    return product > 0 and under**2 * product**2 >= over**2 * variances[0] * variances[1] > 0


def find_twins(
    first: Sequence[npt.NDArray[np.uint64]],
    look: Callable[[int], Look | None],
    second: Sequence[Look],
) -> list[Twins]:
    """Find pictures of two lists that are twins.

    first: hashes of the first list's pictures, uint64 arrays (N,): of wholes, or what `hashes_of`
      returns, so that pictures of the second list are found that are windows of these, too.
    look: function of a place in the first list; returns what of that picture is compared, None
      where it cannot be read.
    """
    every = np.stack(first)
    found = []
    for place, own in enumerate(second):
        near = np.zeros(every.shape[1], bool)
        for number, value in enumerate(_hashes_of_look(own)):
            known = every if number < 2 else every[:2]
            near |= (np.bitwise_count(known ^ np.uint64(value)) <= _BITS).any(axis=0)
        stored = np.zeros(every.shape[1], bool)  # as a file may be that EXIF turns
        for turn in _TURNS if len(every) <= 2 else ():
            value = perceptual_hash(upright(own.small, turn))
            stored |= np.bitwise_count(every[0] ^ np.uint64(value)) <= _BITS
        for other in np.flatnonzero(near | stored).tolist():
            seen = look(other)
            taken = seen is not None and (near[other] or seen.turned)
            bits = _bits_apart(seen, own) if seen is not None and taken else None
            if bits is not None:
                found.append(Twins(other, place, bits))
    return sorted(found)


def hashes_of(looks: Sequence[Look]) -> list[npt.NDArray[np.uint64]]:
    """Return the hashes of pictures: whole, within their borders, and of parts."""
    rows = np.array(list(map(_hashes_of_look, looks)), np.uint64)
    return list(rows.reshape(len(looks), 3 + len(_WINDOWS)).T)


def _hashes_of_look(look: Look) -> list[int]:
    return [look.hash, _inside(look).hash, *map(perceptual_hash, _windows(look))]


def number_scenes(looks: Sequence[Look]) -> list[int]:
    """Return the number of each picture's scene: twins, and their twins, are of one."""
    scenes = list(range(len(looks)))
    for first, second, _ in find_twins(hashes_of(looks), looks.__getitem__, looks):
        one, other = sorted((scenes[first], scenes[second]))
        scenes = [one if scene == other else scene for scene in scenes]
    return scenes


def _bits_apart(first: Look, second: Look) -> int | None:
    """Return by how many bits two pictures differ that are twins, None of others."""
    if first.digest == second.digest:
        return 0
    boxes = _box_in_borders(first.small), _box_in_borders(second.small)
    pairs = [(first, second)]
    if boxes[0] is not None and boxes[1] is not None:
        # What both have as a border is cut: both are seen through one window.
        outer = tuple(side(a, b) for side, a, b in zip(_OUTER, boxes[0], boxes[1], strict=True))
        cut, other_cut = (_look_at_luma(_crop(one.small, outer)) for one in (first, second))
        pairs = [(cut, other_cut)]
    within = _inside(first), _inside(second)
    if boxes != (None, None):
        pairs.append(within)
    for one, other in pairs:
        bits = (one.hash ^ other.hash).bit_count()
        least = _ALIKE if bits > _NEAR else _NEARLY
        if bits <= _BITS and _looks_agree(one, other, least):
            return bits
    parts = [
        *((_look_at_luma(one), within[1]) for one in _windows(first)),
        *((within[0], _look_at_luma(one)) for one in _windows(second)[1:]),
    ]
    for one, other in parts:
        bits = (one.hash ^ other.hash).bit_count()
        if bits <= _BITS_OF_PART and _looks_agree(one, other, _ALIKE_IN_PART):
            return bits
    return None


def _looks_agree(first: Look, second: Look, least: tuple[int, int]) -> bool:
    """Return whether thumbnails that show something correlate.

    Details must, too, where few cells would decide.
    """
    thumbs = first.thumbnail.astype(np.int64), second.thumbnail.astype(np.int64)
    return (
        correlate(*thumbs, least)
        and not any(map(_is_smooth, thumbs))
        and (not any(map(_lies_in_few_cells, thumbs)) or _details_agree(first.small, second.small))
    )


def _squared_differences(thumb: Thumbnail) -> Thumbnail:
    apart = thumb - int(thumb.sum()) // len(thumb)
    return apart * apart


def _is_smooth(thumb: Thumbnail) -> bool:
    """Return whether a thumbnail is a gradient or the glow of a lamp, as unlike pictures are."""
    cells = thumb.reshape(_CELLS, _CELLS)
    around = cells[:-2, 1:-1] + cells[2:, 1:-1] + cells[1:-1, :-2] + cells[1:-1, 2:]
    rough = (4 * cells[1:-1, 1:-1] - around).ravel()
    return _SMOOTH * int(rough @ rough) < int(_squared_differences(thumb).sum())


def _lies_in_few_cells(thumb: Thumbnail) -> bool:
    squares = _squared_differences(thumb)
    return int(squares.sum()) ** 2 < _FEW * int(squares @ squares)


def _details_agree(first: Pixels, second: Pixels) -> bool:
    """Return whether the details of two pictures correlate, one of them moved by two cells or less.

    Cells count as their neighbours' mean differs, none as brighter than the brightest fifth.
    """
    one, other = _local_details(first), _local_details(second)
    inner, edge = _FINE - _SHIFTS + 1, _SHIFTS // 2
    fixed = one[edge : edge + inner, edge : edge + inner].ravel()
    return any(
        correlate(fixed, other[top : top + inner, left : left + inner].ravel(), _DETAIL)
        for top in range(_SHIFTS)
        for left in range(_SHIFTS)
    )


def _local_details(luma: Pixels) -> npt.NDArray[np.int64]:
    cells = _fourth_roots(mean_cells(luma, _FINE, _FINE))
    cells = np.minimum(cells, np.sort(cells)[len(cells) * 4 // 5]).reshape(_FINE, _FINE)
    padded = np.pad(cells, 2, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, (5, 5)).sum(axis=(2, 3))
    return 25 * cells - around


def _inside(look: Look) -> Look:
    """Return what is within a picture's borders: all of it where it has none."""
    box = _box_in_borders(look.small)
    return look if box is None else _look_at_luma(_crop(look.small, box))


def _windows(look: Look) -> list[Pixels]:
    """Return what is within a picture's borders mirrored, then windows of it."""
    luma = _inside(look).small
    windows = (tuple(side / 20 for side in window) for window in _WINDOWS)
    return [luma[:, ::-1], *(_crop(luma, window) for window in windows)]


def _crop(luma: Pixels, box: tuple[float, ...]) -> Pixels:
    height, width = luma.shape
    top, bottom, left, right = box
    rows = slice(round(height * top), max(round(height * bottom), round(height * top) + 1))
    columns = slice(round(width * left), max(round(width * right), round(width * left) + 1))
    return luma[rows, columns]


_OUTER = (min, max, min, max)


def _box_in_borders(luma: Pixels) -> _Box | None:
    """Return what lies within flat borders, one in another too; None of a picture without them."""
    height, width = luma.shape
    top, bottom, left, right = 0, height, 0, width
    while True:
        first, last = _rows_in_borders(luma[top:bottom, left:right])
        begin, end = _rows_in_borders(luma[top + first : top + last, left:right].T)
        if last - first < min(_LEAST, height) or end - begin < min(_LEAST, width):
            break
        if (first, last, begin, end) == (0, bottom - top, 0, right - left):
            break
        top, bottom, left, right = top + first, top + last, left + begin, left + end
    if height - (bottom - top) + width - (right - left) < 2:
        return None
    return top / height, bottom / height, left / width, right / width


def _rows_in_borders(luma: Pixels) -> tuple[int, int]:
    """Return where rows begin and end that are no flat border; all of a flat picture.

    Their ends do not count: a border around a border is mixed with it there.
    """
    inner = luma[:, 1:-1] if luma.shape[1] > 2 else luma
    least, most = inner.min(axis=1).astype(int), inner.max(axis=1).astype(int)
    ends = [
        int(np.sum(np.maximum.accumulate(high) - np.minimum.accumulate(low) <= _FLAT))
        for low, high in ((least, most), (least[::-1], most[::-1]))
    ]
    return (0, len(luma)) if ends[0] == len(luma) else (ends[0], len(luma) - ends[1])
