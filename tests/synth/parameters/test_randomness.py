"""Random numbers by seed, key and purpose."""

from __future__ import annotations

import numpy as np

from gloam.synth.parameters.randomness import KeyedRandom


def test_random_numbers_are_uniform_and_independent_of_their_neighbours():
    values = np.array(
        [[KeyedRandom(0, str(i)).uniform(p) for p in ("a", "b")] for i in range(20_000)]
    )
    assert np.abs(np.histogram(values[:, 0], 20, (0, 1))[0] - 1000).max() < 160
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.035
    assert values.min() > 0
    assert values.max() < 1
