from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from gloam.synth import sites
from gloam.synth.tables import PackedQuantile, normal_quantile, poisson_alias_table


class Sensor:
    """Raw samples of flat exposures, straight from the kernel."""

    def __call__(
        self,
        mean: float | npt.NDArray[np.float32],
        count: int = 0,
        *,
        gain: float = 1.0,
        read_scale: float = 0.0,
        read: PackedQuantile | None = None,
        offset: float = 0.0,
        white: float = 1e7,
        first: int = 0,
        seed: int = 1,
        pair: bool = False,
    ) -> npt.NDArray[np.float32]:
        means = np.full(count, mean, np.float32) if count else np.asarray(mean, np.float32)
        counts, raw = np.empty_like(means), np.empty_like(means)
        place = np.uint32(first), np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
        normal = normal_quantile()
        sites.count_electrons(means, counts, *place, normal.entries, normal.units, poisson_alias_table())
        noise = read or normal
        (sites.read_out_pair if pair else sites.read_out)(
            counts,
            raw,
            np.full_like(means, offset),
            *place,
            np.float32(gain),
            np.float32(white),
            noise.entries,
            noise.units * np.float32(read_scale),
        )
        return raw


@pytest.fixture(scope="session")
def sensor() -> Sensor:
    return Sensor()


@pytest.fixture
def photograph() -> npt.NDArray[np.uint8]:
    """A small picture with smooth parts, edges, a black and a white patch."""
    y, x = np.mgrid[0:96, 0:128]
    picture = np.stack([x * 2, y * 2.5, 255 - x], axis=2).clip(0, 255).astype(np.uint8)
    picture[10:30, 10:30] = 255
    picture[50:70, 80:100] = 0
    return picture
