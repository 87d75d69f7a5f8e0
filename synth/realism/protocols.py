"""How papers on noise synthesis compare made noise with real: protocols, as their code has them.

Each takes a real noisy picture, a made one, and the clean one of both: arrays (H, W, 3), uint8, or
floats of 0 to 1. Noise is what a picture has more than the clean one. Figures are of one picture;
papers give means over pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from ...engines.local import count, local_engine
from ..kernels.arrays import FloatArray
from .samples import TestedLow

Picture = npt.NDArray[np.uint8 | np.float32 | np.float64]
DRAWS = 50
"""Lows that a recipe makes of each normal for `akld`, as its code does."""
_EQUAL = 0.25  # EV between a noisy picture and its clean one


def noiseflow(real: Picture, made: Picture, clean: Picture) -> float:
    """Return the KL divergence of real noise from made: all channels, 64 bins from -.1 to .1.

    Two more hold what is beyond; bins that real or made noise lacks are passed over.
    Abdelhamed et al., "Noise Flow" (ICCV 2019), BorealisAI/noise_flow, sidd/sidd_utils.py; so do
    NeCA (Fu et al., CVPR 2023) of lows of 8 bits, and Noise2NoiseFlow but for one sample that it
    adds to each bin.
    """
    edges = np.concatenate([[-1000.0], np.arange(-0.1, 0.1 + 1e-9, 0.2 / 64), [1000.0]])
    return _divergence(*(_shares(_noise(one, clean), edges) for one in (real, made)))


def naflow(real: Picture, made: Picture, clean: Picture) -> float:
    """Return the same in 256 bins from -1 to 1: of two levels each.

    Kim et al., "sRGB real noise modeling via noise-aware sampling with normalizing flows" (ICLR
    2024), dongjinkim9/NAFlow, naflow/utils/metrics.py.
    """
    edges = np.arange(-1.0, 1.0 + 2 / 256, 2 / 256)
    return _divergence(*(_shares(_noise(one, clean), edges) for one in (real, made)))


def nmflow(real: Picture, made: Picture, clean: Picture) -> float:
    """Return the same in bins of four levels from -260 to 260, with one sample more in each.

    Han et al., "NM-FlowGAN" (2023), YoungJooHan/NM-FlowGAN, util/util.py, of 8 bits.
    """
    edges = np.arange(-260, 261, 4)
    return _divergence(*(_shares(_levels(one, clean), edges, 1) for one in (real, made)))


def gans(real: Picture, made: Picture, clean: Picture) -> float:
    """Return the mean over channels of the same in 50 bins of two levels from -50.1, two beyond.

    Henz et al., "Synthesizing camera noise using generative adversarial networks" (TVCG 2021),
    bernardohenz/synt_noise_GANs, noise_comparison_KL_KS/kl_ks_per_cam.py, a picture at a time.
    """
    edges = np.concatenate([[-256.0], np.arange(-50.0, 50, 2), [256.0]]) - 0.1
    both = _levels(real, clean), _levels(made, clean)
    channels = ([_shares(one[..., c], edges) for one in both] for c in range(3))
    return float(np.mean([_divergence(*one) for one in channels]))


def akld(real: Picture, made: Picture, clean: Picture) -> float:
    """Return the mean divergence of Gaussians of the local variances, made from real.

    Yue et al., "Dual adversarial network" (ECCV 2020), zsyOAOA/DANet, utils.py, demo_AKLD.py: the
    variances are means of squares by a Gaussian window of 7 x 7, their ratio is cut at .1 and 10.

    made: array (H, W, 3), or of several draws (N, H, W, 3), of which the mean is taken; the code
      takes 50.
    """
    wanted = _variance(real, clean)
    draws = made if made.ndim == 4 else made[None]
    ratios = (np.clip(_variance(one, clean) / wanted, 0.1, 10) for one in draws)
    return float(np.mean([(ratio - np.log(ratio) - 1).mean() / 2 for ratio in ratios]))


PROTOCOLS: dict[str, Callable[[Picture, Picture, Picture], float]] = {
    one.__name__: one for one in (noiseflow, naflow, nmflow, akld, gans)
}


def protocol_rows(
    names: Sequence[str],
    real: Sequence[TestedLow],
    other: Sequence[TestedLow],
    control: Sequence[TestedLow],
    workers: int | None,
    at: Callable[[int], None],
) -> tuple[dict[str, tuple[float, float]], bool]:
    """Return the means over pictures of each protocol: of the other lows, and of the control.

    The control is NaN where there is none; it is what another seed's lows are from the others'.

    Returns (figures, whether lows are as bright as their normals). Where they are not, each low is
    brought to its normal's tone: the mean low of a level becomes that level.
    """
    twins = {one.normal: one for one in control}
    mine = {one.normal: one for one in other}
    jobs = [
        (tuple(names), one, mine[one.normal], twins.get(one.normal))
        for one in real
        if one.normal in mine
    ]
    found = list(local_engine(workers).map(_measured, jobs, at))
    equal = abs(float(np.median([apart for _, _, apart in found]))) < _EQUAL
    means = np.mean([as_is if equal else level for as_is, level, _ in found], axis=0)
    return {name: (float(a), float(b)) for name, (a, b) in zip(names, means, strict=True)}, equal


def _measured(
    job: tuple[tuple[str, ...], TestedLow, TestedLow, TestedLow | None],
) -> tuple[FloatArray, FloatArray, float]:
    """Return figures (names, 2) of a pair as it is, and at its normal's tone, and its exposure."""
    names, real, other, twin = job
    low, normal = real.images()
    made, _ = other.images()
    again = None if twin is None else twin.images()[0]
    assert normal is not None
    draws = [made]
    if "akld" in names and other.recipe is not None:
        more = (replace(other, seed=other.seed + i) for i in range(1, DRAWS))
        draws += [one.images()[0] for one in more]
    figures = []
    for tone in (lambda low: low, lambda low: _at_tone(low, normal)):
        seen, several, twice = tone(low), [tone(one) for one in draws], again
        figures.append(
            [
                (
                    PROTOCOLS[name](
                        seen, np.stack(several) if name == "akld" else several[0], normal
                    ),
                    np.nan if twice is None else PROTOCOLS[name](several[0], tone(twice), normal),
                )
                for name in names
            ]
        )
    count()
    apart = float(np.log2((low.mean() + 1) / (normal.mean() + 1)))
    return np.array(figures[0]), np.array(figures[1]), apart


def _at_tone(low: Picture, normal: Picture) -> Picture:
    """Return the normal with what a low has more than the mean low of the normal's levels."""
    made = np.empty(low.shape)
    for c in range(3):
        level = normal[..., c].ravel()
        sums = np.bincount(level, low[..., c].ravel(), 256)
        mean = sums / np.maximum(np.bincount(level, minlength=256), 1)
        made[..., c] = normal[..., c] + low[..., c] - mean[normal[..., c]]
    return made / 255


def _noise(noisy: Picture, clean: Picture) -> FloatArray:
    """Return noise, 1 being white."""
    one, other = (a / 255.0 if a.dtype == np.uint8 else a for a in (noisy, clean))
    return np.asarray(one - other, np.float64)


def _levels(noisy: Picture, clean: Picture) -> FloatArray:
    """Return noise in levels; whole ones are whole, which floats leave nearly so."""
    levels = _noise(noisy, clean) * 255
    whole = np.rint(levels)
    rounding = 255 * np.finfo(np.float32 if noisy.dtype == np.float32 else np.float64).eps
    return np.where(np.abs(levels - whole) <= rounding, whole, levels)


def _shares(values: FloatArray, edges: FloatArray, more: int = 0) -> FloatArray:
    """Return the share of all values in each bin, with so many samples more in each."""
    return (np.histogram(values, edges)[0] + more) / (values.size + more * (len(edges) - 1))


def _divergence(real: FloatArray, made: FloatArray) -> float:
    both = (real > 0) & (made > 0)
    return float((real[both] * np.log(real[both] / made[both])).sum())


def _variance(noisy: Picture, clean: Picture) -> FloatArray:
    squares = _noise(noisy, clean) ** 2
    window = cv2.getGaussianKernel(7, -1)
    smooth = cv2.sepFilter2D(squares, cv2.CV_64F, window, window, borderType=cv2.BORDER_REFLECT_101)
    return np.maximum(smooth, 1e-10)
