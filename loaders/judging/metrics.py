"""Measures of outputs: PSNR and SSIM, as they are and once their brightness is set right.

Images are float64 arrays (H, W, 3), sRGB-encoded, 0 to 1, of one size.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from ...synth.kernels.arrays import Pixels
from ...synth.kernels.curves import LUMA, linear_to_srgb, srgb_to_linear

Image = npt.NDArray[np.float64]

GREY = 0.45
"""Mean that the blind gain takes every low to: about that of normals."""
MOST = 100.0
"""PSNR in dB of images that are equal, whose own would be infinite."""
SMALLEST = 11
"""Pixels of a side that SSIM's window needs."""
_SIGMA = 1.5
_FIRST, _SECOND = 0.01**2, 0.03**2


def levels(image: Image) -> Pixels:
    """Return an image as levels, uint8."""
    return np.rint(image * 255).astype(np.uint8)


def psnr(made: Image, normal: Image) -> float:
    """Return PSNR in dB, at most 100: the error's mean square is over all pixels and channels.

    Equal to `skimage.metrics.peak_signal_noise_ratio(normal, made, data_range=1)`.
    """
    error = float(np.square(made - normal).mean())
    return min(MOST, -10 * math.log10(error)) if error > 0 else MOST


def ssim(made: Image, normal: Image) -> float:
    """Return SSIM by Wang et al. (TIP 2004): 11 x 11 Gaussian window, sigma 1.5, mean of R, G, B.

    Equal to `skimage.metrics.structural_similarity(normal, made, data_range=1, channel_axis=2,
    gaussian_weights=True, sigma=1.5, use_sample_covariance=False)`: 5 pixels at each border, where
    the window reaches beyond the image, are left out.
    """

    def mean(values: Image) -> Image:
        smooth = cv2.GaussianBlur(values, (SMALLEST, SMALLEST), _SIGMA)
        return np.asarray(smooth[5:-5, 5:-5], np.float64)

    one, two = mean(made), mean(normal)
    variances = mean(made * made) - one * one + mean(normal * normal) - two * two
    covariance = mean(made * normal) - one * two
    found = (2 * one * two + _FIRST) * (2 * covariance + _SECOND)
    return float((found / ((one * one + two * two + _FIRST) * (variances + _SECOND))).mean())


def one_gain(made: Image, normal: Image) -> Image:
    """Return an output times the gain in linear light that brings it nearest to the normal."""
    light, wanted = srgb_to_linear(made), srgb_to_linear(normal)
    gain = float((light * wanted).sum()) / max(float((light * light).sum()), 1e-12)
    return np.asarray(linear_to_srgb(np.clip(gain * light, 0, 1)))


def gt_mean(made: Image, normal: Image) -> Image:
    """Return an output whose encoded values are scaled to the normal's mean grey, and cut at 1.

    LLFlow's and HVI-CIDNet's measures have it so; grey is ITU-R BT.601's.
    """
    wanted, have = (float((image @ LUMA).mean()) for image in (normal, made))
    return np.clip(made * (wanted / max(have, 1e-12)), 0, 1)


def blind_gain(low: Image) -> Image:
    """Return a low whose linear light is scaled until its mean, encoded, is .45."""
    light, least, most = srgb_to_linear(low), 1.0, 4096.0
    for _ in range(30):
        gain = math.sqrt(least * most)
        bright = float(np.mean(linear_to_srgb(np.minimum(light * gain, 1)))) > GREY
        least, most = (least, gain) if bright else (gain, most)
    return np.asarray(linear_to_srgb(np.minimum(light * most, 1)))
