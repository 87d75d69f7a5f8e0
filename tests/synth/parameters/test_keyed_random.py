"""Random numbers by seed, key and purpose."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.parameters.keyed_random import KeyedRandom, distinct


def test_random_numbers_are_uniform_and_independent_of_their_neighbours():
    random = KeyedRandom(0, [str(i) for i in range(20_000)])
    values = np.stack([random.uniform(purpose) for purpose in ("a", "b")], axis=1)
    assert np.abs(np.histogram(values[:, 0], 20, (0, 1))[0] - 1000).max() < 160
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.035
    assert values.min() > 0
    assert values.max() < 1


@given(
    st.integers(0, 2**64),
    st.lists(st.text(max_size=300), min_size=1, max_size=8),
    st.text(max_size=40),
    st.integers(0, 300),
)
def test_random_bits_are_those_of_each_key(seed, keys, purpose, index):
    """Messages of one block and of several, ended in any place of one."""
    texts = [f"{seed}\0{key}\0{purpose}\0{index}".encode() for key in keys]
    hashed = [hashlib.blake2b(text, person=b"gloam draw").digest()[:8] for text in texts]
    wanted = [int.from_bytes(eight, "little") for eight in hashed]
    random, others = KeyedRandom(seed, keys), ["another", purpose]
    assert random.bits(others, index + 1)[-1].tolist() == wanted
    assert random.uniforms(others, index + 1)[-1].tolist() == [
        ((one >> 12) + 0.5) * 2.0**-52 for one in wanted
    ]
    assert np.isfinite(random.gaussians(purpose, index + 1)[-1]).all()


def test_equal_rows_are_stored_once_in_order_of_appearance():
    rows = np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    once, numbers = distinct(rows)
    assert once.tolist() == [[2.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    assert numbers.tolist() == [0, 1, 0, 2, 1]
    assert [len(part) for part in distinct(rows[:0])] == [0, 0]
