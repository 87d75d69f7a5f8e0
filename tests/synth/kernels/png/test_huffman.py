"""Codes are optimal where they may be as long as they want, and complete where not."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.kernels.png.huffman import code_lengths, codes_of


def cost_of_huffman(counts: list[int]) -> int:
    """Bits of an optimal code, by the plain algorithm."""
    heap, total = [n for n in counts if n], 0
    heapq.heapify(heap)
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


COUNTS = st.lists(st.integers(0, 10**6), min_size=2, max_size=257).filter(
    lambda counts: sum(n > 0 for n in counts) >= 2
)


@given(COUNTS)
def test_lengths_are_optimal(counts):
    lengths = np.empty(len(counts), np.uint8)
    code_lengths(np.array(counts, np.int64), 60, lengths)
    cost = sum(n * int(bits) for n, bits in zip(counts, lengths, strict=True))
    assert cost == cost_of_huffman(counts)
    assert [bits > 0 for bits in lengths] == [n > 0 for n in counts]


@given(st.lists(st.integers(0, 60), min_size=20, max_size=257), st.integers(9, 15))
def test_limited_codes_are_complete_and_decodable(powers, limit):
    counts = [2**n if n else 0 for n in powers]
    counts[:2] = [1, 1]
    lengths, codes = np.empty(len(counts), np.uint8), np.empty(len(counts), np.uint32)
    code_lengths(np.array(counts, np.int64) >> 9 | (np.array(counts) > 0), limit, lengths)
    used = [int(bits) for bits in lengths if bits]
    assert max(used) <= limit
    assert sum(2 ** (limit - bits) for bits in used) == 2**limit
    codes_of(lengths, codes)
    words = [
        format(int(code) & 0xFFFF, f"0{bits}b")[::-1]
        for code, bits in zip(codes, lengths, strict=True)
        if bits
    ]
    assert all(int(code) >> 16 == bits for code, bits in zip(codes, lengths, strict=True))
    ordered = sorted(words)
    assert not any(b.startswith(a) for a, b in itertools.pairwise(ordered))
