"""Measures of a clip."""

from __future__ import annotations

from ..clips.cuts import refuse_cut
from ..clips.load_clip import check_frames, video_pixels
from ..clips.windows import frame_files
from ..images.header import MAX_PIXELS
from ..images.load_normal import load_normal
from ..sources import Location, read
from .measures import FIELDS, Measures, measure, measure_pixels

_LEAST = ("bright", "laplacian", "colourfulness")
_LARGEST = ("clipped", "dark")


def measure_clip(location: Location, max_pixels: int = MAX_PIXELS) -> Measures:
    """Measure a clip: its first, middle and last frame, of each measure the worst.

    Raises ImageRefused as `load_clip` does.
    """
    files = frame_files(location)
    if files is None:
        pixels = video_pixels(location, max_pixels)
        refuse_cut(pixels)
        found = [measure_pixels(pixels[number]) for number in _three(len(pixels))]
    else:
        check_frames([load_normal(read(file), None, max_pixels) for file in files])
        found = [measure(read(files[number]), max_pixels) for number in _three(len(files))]
    values = dict(zip(FIELDS, found[0].values(), strict=True))
    values |= {name: min(getattr(one, name) for one in found) for name in _LEAST}
    values |= {name: max(getattr(one, name) for one in found) for name in _LARGEST}
    values["mean"] = sorted(one.mean for one in found)[len(found) // 2]
    return Measures(**values)  # type: ignore[arg-type]


def _three(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})
