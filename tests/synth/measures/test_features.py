"""Which lows are of one scene."""

from __future__ import annotations

from gloam.synth.measures.features import MeasuredLow, assign_scenes

FAR, NEAR = 0xFFFF, 0xFFFE  # hashes that differ by one bit


def lows(*hashes: int) -> list[MeasuredLow]:
    return [MeasuredLow({}, one) for one in hashes]


def test_equal_names_and_pictures_that_look_alike_are_one_scene():
    groups = lows(0, FAR << 16), lows(FAR << 32, NEAR << 16), lows(FAR << 48, 0)
    real, other, control = assign_scenes(groups, (["a", "b"], ["c", "d"], ["c", "e"]))
    assert other[0] == control[0]  # by their names
    assert real[1] == other[1]  # alike
    assert real[0] == control[1]
    assert len({*real, *other, *control}) == 3


def test_names_join_what_looks_alike_to_what_does_not():
    scenes, others = assign_scenes((lows(0, FAR), lows(1, 0xFF << 40)), (["a", "b"], ["c", "b"]))
    assert scenes.tolist() == others.tolist() == [0, 1]


def test_no_control_is_no_scene():
    found = assign_scenes((lows(0), lows(0), []), (["a"], ["b"], []))
    assert [len(one) for one in found] == [1, 1, 0]
