"""Measures of outputs: PSNR and SSIM, as they are and once their brightness is set right.

They go through images in parts, so that one of 50 million pixels takes little more memory than its
levels. LPIPS and NIQE are measured by libraries that keep them well, where those and their weights
are there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ...errors import SourceError, first_line
from ...manifests.images.opening import to_8_bit
from ...synth.kernels.arrays import Pixels
from ...synth.kernels.curves import LUMA, linear_to_srgb, srgb_to_linear

Values = npt.NDArray[np.float64]

GREY = 0.45
"""Mean that the blind gain takes every low to: about that of normals."""
MOST = 100.0
"""PSNR in dB of images that are equal, whose own would be infinite."""
SMALLEST = 11
"""Pixels of a side that SSIM's window needs."""
_SIGMA = 1.5
_FIRST, _SECOND = 0.01**2, 0.03**2
_TILE = 64, 512  # pixels: few enough for the cache of a core, and enough for threads to share


class Image(NamedTuple):
    """An image (H, W, 3), sRGB-encoded, 0 to 1.

    samples: its levels, uint8 or uint16, or float64 values.
    table: the value of each level; None where samples are values.
    """

    samples: npt.NDArray[Any]
    table: Values | None = None

    def part(self, *place: slice) -> Values:
        """Return the values at some rows, and columns."""
        samples = self.samples[place]
        if self.table is None:
            return samples
        if samples.dtype == np.uint8:
            return np.asarray(cv2.LUT(np.ascontiguousarray(samples), self.table), np.float64)
        return self.table.take(samples)

    def through(self, curve: Callable[[Values], Values]) -> Image:
        """Return the image whose values are those of a curve."""
        if self.table is None:
            return Image(curve(self.samples))
        return Image(self.samples, curve(self.table))

    def distinct(self) -> tuple[Values, npt.NDArray[np.int64]]:
        """Return values, and how many samples have each."""
        if self.table is None:
            return self.samples.ravel(), np.ones(self.samples.size, np.int64)
        counts = np.zeros(len(self.table), np.int64)
        for rows in _row_ranges(self):
            counts += np.bincount(self.samples[rows].ravel(), minlength=len(counts))
        return self.table, counts

    def levels(self) -> Pixels:
        """Return the nearest levels of 8 bits; only of an image that has its own levels."""
        return to_8_bit(self.samples) if self.samples.dtype == np.uint16 else self.samples

    def rounded(self) -> Pixels:
        """Return the nearest levels of 8 bits of any image."""
        return np.rint(255 * self.part()).astype(np.uint8)


def image_of(samples: npt.NDArray[np.uint8 | np.uint16]) -> Image:
    """Return the image of which an array (H, W, 3) has the levels."""
    most = np.iinfo(samples.dtype).max
    return Image(samples, np.arange(most + 1) / np.float64(most))


def measure(made: Sequence[Image], normal: Image, threads: int = 1) -> list[tuple[float, float]]:
    """Return the PSNR and SSIM of several images of one normal, whose own part is measured once.

    PSNR in dB, at most 100: the error's mean square is over all pixels and channels. Equal to
    `skimage.metrics.peak_signal_noise_ratio(normal, made, data_range=1)`.

    SSIM by Wang et al. (TIP 2004): 11 x 11 Gaussian window, sigma 1.5, mean of R, G, B. Equal to
    `skimage.metrics.structural_similarity(normal, made, data_range=1, channel_axis=2,
    gaussian_weights=True, sigma=1.5, use_sample_covariance=False)`: 5 pixels at each border, where
    the window reaches beyond the image, are left out.
    """

    def measured(tile: _Tile) -> list[float]:
        wanted = normal.part(*tile.seen)
        mean, square = _window_means(wanted), _window_means(wanted * wanted)
        mean_square = mean * mean
        sums = [float(mean.size)]
        for one in made:
            values = one.part(*tile.seen)
            off = values[tile.own] - wanted[tile.own]
            own = _window_means(values)
            both = own * mean
            covariance = _window_means(values * wanted) - both
            means = own * own + mean_square
            variances = _window_means(values * values) + square - means
            found = (2 * both + _FIRST) * (2 * covariance + _SECOND)
            found /= (means + _FIRST) * (variances + _SECOND)
            sums += float((off * off).sum()), float(found.sum())
        return sums

    with ThreadPoolExecutor(threads) as pool:
        parts = (map if threads == 1 else pool.map)(measured, _image_tiles(normal))
        count, *sums = np.sum(list(parts), axis=0).tolist()
    errors = [error / normal.samples.size for error in sums[::2]]
    return [
        (min(MOST, -10 * math.log10(error)) if error > 0 else MOST, alike / count)
        for error, alike in zip(errors, sums[1::2], strict=True)
    ]


def _window_means(values: Values) -> Values:
    """Return the window's means, where it lies within."""
    smooth = cv2.GaussianBlur(values, (SMALLEST, SMALLEST), _SIGMA)
    return np.asarray(smooth[5:-5, 5:-5], np.float64)


def _row_ranges(image: Image) -> Iterator[slice]:
    height, width = image.samples.shape[:2]
    many = max(1, _TILE[0] * _TILE[1] // width)
    return (slice(top, top + many) for top in range(0, height, many))


class _Tile(NamedTuple):
    """A part of an image: rows and columns that are seen, and which of those no other has."""

    seen: tuple[slice, slice]
    own: tuple[slice, slice]


def _image_tiles(image: Image) -> Iterator[_Tile]:
    """Return parts whose inner pixels, 5 from their borders, are all's once."""
    (height, width), (high, wide) = image.samples.shape[:2], _TILE
    lap = SMALLEST - 1
    for top in range(0, height - lap, high):
        for left in range(0, width - lap, wide):
            low, right = top + high + lap, left + wide + lap
            own = slice(None if low >= height else high), slice(None if right >= width else wide)
            yield _Tile((slice(top, low), slice(left, right)), own)


def _sum_over_rows(sum_of: Callable[[slice], float], image: Image, threads: int) -> float:
    with ThreadPoolExecutor(threads) as pool:
        return sum((map if threads == 1 else pool.map)(sum_of, _row_ranges(image)))


def one_gain(made: Image, normal: Image, threads: int = 1) -> Image:
    """Return an output times the gain in linear light that brings it nearest to the normal."""
    light, wanted = made.through(srgb_to_linear), normal.through(srgb_to_linear)
    both = _sum_over_rows(
        lambda rows: float((light.part(rows) * wanted.part(rows)).sum()), normal, threads
    )
    values, counts = light.distinct()
    gain = both / max(float((counts * values * values).sum()), 1e-12)
    return light.through(lambda light: linear_to_srgb(np.clip(gain * light, 0, 1)))


def gt_mean(made: Image, normal: Image, threads: int = 1) -> Image:
    """Return an output whose encoded values are scaled to the normal's mean grey, and cut at 1.

    LLFlow's and HVI-CIDNet's measures have it so; grey is ITU-R BT.601's.
    """
    wanted = _sum_over_rows(lambda rows: float((normal.part(rows) @ LUMA).sum()), normal, threads)
    have = _sum_over_rows(lambda rows: float((made.part(rows) @ LUMA).sum()), made, threads)
    gain = wanted / max(have, 1e-12 * normal.samples.size / 3)
    return made.through(lambda values: np.clip(values * gain, 0, 1))


def blind_gain(low: Image, encoded: bool = False) -> Image:
    """Return a low whose linear light, or encoded values, are scaled until their mean is .45.

    The mean is of encoded values in both.
    """
    light = low if encoded else low.through(srgb_to_linear)
    least, most = 1.0, 4096.0
    values, counts = light.distinct()

    def brightened(light: Values, gain: float) -> Values:
        made = np.minimum(light * gain, 1)
        return made if encoded else linear_to_srgb(made)

    for _ in range(30):
        gain = math.sqrt(least * most)
        bright = float((brightened(values, gain) * counts).sum()) > GREY * low.samples.size
        least, most = (least, gain) if bright else (gain, most)
    return light.through(lambda light: brightened(light, most))


Measure = Callable[[Image, Image], float]

ABOUT = {
    "LPIPS": "LPIPS (AlexNet, version 0.1, images scaled to -1 to 1) of `lpips`: lower is better.",
    "NIQE": "NIQE of `pyiqa`, its defaults; it knows no normal: lower is better.",
}
"""How those of libraries are measured, by name."""


def perceptual_measures() -> tuple[dict[str, Measure], list[str]]:
    """Return what can be measured on this machine by name, and why the rest cannot.

    Nothing is fetched: weights that are not at hand are asked for, in a line.
    """
    found: dict[str, Measure] = {}
    lacking = []
    for name, make, package in (("LPIPS", _lpips, "'gloam[judge]'"), ("NIQE", _niqe, "pyiqa")):
        try:
            found[name] = _named_measure(name, make())
        except ImportError as error:
            why = f"pip install {package} ({first_line(error)})"
        except Exception as error:  # weights that are none, a package that is half there
            why = first_line(error)
        if name not in found:
            lacking.append(f"{name} is not measured: {why}")
    return found, lacking


def _lpips() -> Measure:
    import lpips
    from torchvision.models import AlexNet_Weights

    url = AlexNet_Weights.IMAGENET1K_V1.url
    with _weights_at_hand(url, "checkpoints", url.rpartition("/")[2]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torchvision, at the words by which lpips asks for them
        network = lpips.LPIPS(net="alex", verbose=False)
    return lambda made, normal: float(network(_tensor(made), _tensor(normal), normalize=True))


def _niqe() -> Measure:
    import pyiqa
    from pyiqa.archs.niqe_arch import default_model_urls

    with _weights_at_hand(default_model_urls["niqe"], "pyiqa", "niqe_modelparameters.mat"):
        network = pyiqa.create_metric("niqe", device="cpu")
    return lambda made, _: float(network(_tensor(made)))


@contextmanager
def _weights_at_hand(url: str, *parts: str) -> Iterator[None]:
    """Read weights within, and name their file where they are not read.

    Raises FileNotFoundError where they are not there: libraries would fetch them unasked.
    """
    import torch

    path = Path(torch.hub.get_dir(), *parts)
    if not path.is_file():
        raise FileNotFoundError(f"its weights are not at hand: save {url} as {path}")
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # each library has its own
        raise ValueError(f"{path}: {first_line(error)}; save {url} anew") from error


def _named_measure(name: str, network: Measure) -> Measure:
    import torch

    def measure(made: Image, normal: Image) -> float:
        with torch.inference_mode():
            try:
                return network(made, normal)
            except (RuntimeError, AssertionError) as error:  # of images that are too small for it
                height, width = made.samples.shape[:2]
                raise SourceError(
                    f"{name} cannot be measured of {width} x {height} pixels: {first_line(error)};"
                    " --no-perceptual leaves it out"
                ) from error

    return measure


def _tensor(image: Image) -> Any:
    import torch

    return torch.from_numpy(image.part().transpose(2, 0, 1)[None]).float().contiguous()
