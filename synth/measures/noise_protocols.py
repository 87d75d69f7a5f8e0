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
from .features import middles
from .pair_files import PairFiles

Picture = npt.NDArray[np.uint8 | np.float32 | np.float64]
DRAWS = 50
"""Lows that a recipe makes of each normal for `akld`, as its code does."""


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
    edges = np.arange(-260.0, 261, 4)
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


def protocol_figures(
    names: Sequence[str],
    lows: Sequence[tuple[PairFiles, PairFiles, PairFiles | None]],
    *,
    equal: bool,
    workers: int | None,
    at: Callable[[int], None],
) -> dict[str, tuple[float, float]]:
    """Return of each protocol the means over pictures: of the others, and of the control.

    The control is what another seed's lows are from the others'; NaN without one.

    lows: real ones, others of the same normals, and others of another seed.
    equal: whether lows are as bright as their normals; if not, each is brought to its normal's
      tone: the mean low of a level becomes that level.
    """
    jobs = [(tuple(names), *one, equal) for one in lows]
    means = np.mean(list(local_engine(workers).map(_measured, jobs, at)), axis=0)
    return {name: (float(a), float(b)) for name, (a, b) in zip(names, means, strict=True)}


def _measured(
    job: tuple[tuple[str, ...], PairFiles, PairFiles, PairFiles | None, bool],
) -> list[tuple[float, float]]:
    names, real, other, twin, equal = job
    low, normal = middles(*real.read())
    assert normal is not None
    clean = normal  # for what is said of it within

    def seen(one: PairFiles) -> Picture:
        own, _ = middles(*one.read())
        return own if equal else _at_tone(own, clean)

    wanted = low if equal else _at_tone(low, clean)
    made, again = seen(other), None if twin is None else seen(twin)
    found = []
    for name in names:
        measure = PROTOCOLS[name]
        draws = [measure(wanted, made, clean)]
        if name == "akld" and other.recipe is not None:
            more = (seen(replace(other, seed=other.seed + i)) for i in range(1, DRAWS))
            draws += [measure(wanted, one, clean) for one in more]
        control = np.nan if again is None else measure(made, again, clean)
        found.append((float(np.mean(draws)), control))
    count()
    return found


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
