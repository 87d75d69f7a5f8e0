"""Sums side by side are hashlib's, whatever is added in which order."""

from __future__ import annotations

import hashlib
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.storage.sums import PlainSums, Sums
from gloam.synth.kernels.sums import side_by_side
from gloam.synth.kernels.sums.sha256 import has_instructions
from gloam.synth.kernels.sums.side_by_side import SumsSideBySide, unit_sums

needs_instructions = pytest.mark.skipif(
    not has_instructions(), reason="this CPU has no SHA instructions"
)
# Those at which a message needs one block more, and some between.
LENGTHS = st.sampled_from([0, 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, 512]) | st.integers(0, 900)


def of(length: int, salt: int) -> bytes:
    return hashlib.shake_128(bytes([salt])).digest(length)


def sum_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@needs_instructions
@given(st.lists(st.tuples(st.lists(LENGTHS, max_size=4), LENGTHS, st.booleans()), max_size=6))
def test_as_hashlib(steps):
    sums, written = SumsSideBySide(), b""
    for number, (lengths, length, asked) in enumerate(steps):
        members = [of(each, number + 10 * i) for i, each in enumerate(lengths)]
        assert sums.of(members) == [sum_of(member) for member in members]
        written += of(length, number)
        sums.update(of(length, number))
        if asked:
            assert sums.hexdigest() == sum_of(written)
    assert sums.hexdigest() == sums.hexdigest() == sum_of(written)


@needs_instructions
def test_file_without_members_does_not_wait_for_ever():
    sums, piece = SumsSideBySide(), of(1 << 20, 1)
    with patch.object(side_by_side, "_WAITING", 4 << 20):
        for number in range(1, 10):
            sums.update(piece)
            assert sums._file.waiting == (number % 5) << 20
    assert sums.hexdigest() == sum_of(piece * 9)


@needs_instructions
def test_file_is_added_beside_members_alone():
    sums, piece = SumsSideBySide(), of(6400, 1)
    sums.update(piece)
    sums.of([of(640 - 9, 2)])
    assert sums._file.waiting == 6400 - 640
    sums.of([of(64000, 3)])
    assert sums._file.waiting == 0


@pytest.mark.parametrize("present", [True, False])
def test_without_instructions_hashlib_does_it(monkeypatch, present):
    monkeypatch.setattr(side_by_side, "has_instructions", lambda: present)
    assert type(unit_sums()) is (SumsSideBySide if present else PlainSums)


@pytest.mark.parametrize(
    "kind", [PlainSums, pytest.param(SumsSideBySide, marks=needs_instructions)]
)
def test_nothing(kind):
    sums: Sums = kind()
    assert sums.of([]) == []
    assert sums.of([b""]) == [sums.hexdigest()] == [sum_of(b"")]
