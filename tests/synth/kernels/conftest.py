from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from gloam.synth.kernels import sensor as sites
from gloam.synth.kernels.demosaic import BINNED
from gloam.synth.kernels.numbers.quantiles import (
    Coefficients,
    normal_pair_quantile,
    normal_quantile,
    scaled,
)
from gloam.synth.kernels.numbers.random_bits import pixel_seed
from gloam.synth.kernels.numbers.shot_and_read_noise import poisson_alias_table


class Sensor:
    """Raw samples of flat exposures, straight from the kernel."""

    def __call__(
        self,
        mean: float | npt.NDArray[np.float32],
        count: int = 0,
        *,
        gain: float = 1.0,
        read_scale: float = 0.0,
        read: Coefficients | None = None,
        offset: float = 0.0,
        white: float = 1e7,
        first: int = 0,
        seed: int = 1,
        pair: bool = False,
    ) -> npt.NDArray[np.float32]:
        means = np.full(count, mean, np.float32) if count else np.asarray(mean, np.float32)
        counts, raw = np.empty_like(means), np.empty_like(means)
        one, both = (normal_quantile(), normal_pair_quantile()) if read is None else (read, read)
        noise = sites.Noise(
            scaled(one, read_scale),
            scaled(both, read_scale),
            scaled(normal_quantile(), 1.0),
            poisson_alias_table(),
        )
        sensor = sites.Sensor(
            method=BINNED,
            gain=np.float32(gain),
            black=np.float32(0),  # as the row noise in `offset`
            white=np.float32(white),
            row_sigma=np.float32(0),
            seed=pixel_seed(seed),
            noise=noise,
        )
        states, shot, words, rounding = [np.empty(len(means), np.uint32) for _ in range(4)]
        sites.draw_words(np.uint32(first), sensor.seed, states, shot)
        sites.draw_rounding(states, rounding)
        sites.count_electrons(means, counts, states, shot, noise)
        offsets = np.full_like(means, offset)
        sites.read_out(counts, raw, offsets, states, words, rounding if pair else None, sensor)
        return raw


@pytest.fixture(scope="session")
def sensor() -> Sensor:
    return Sensor()
