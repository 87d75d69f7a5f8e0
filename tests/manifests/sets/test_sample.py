"""Samples and their records."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gloam.errors import DamagedError, ImageRefused, Reason, SetError
from gloam.manifests.images.decode import decode
from gloam.manifests.sets.sample import (
    Encoded,
    Origin,
    Sample,
    ending,
    make_sample,
    origin_of,
    parse_record,
    split_ending,
)
from gloam.storage.untrusted import FORMAT, check_format


def test_records_hold_sizes_and_checksums_of_both_images(pairs: list[Sample]) -> None:
    for pair in pairs:
        for image, data, suffix in (
            ("low", pair.low.data, pair.low.suffix),
            ("normal", pair.normal.data, pair.normal.suffix),
        ):
            facts = {
                "sha256": hashlib.sha256(data).hexdigest(),
                "bytes": len(data),
                "suffix": suffix,
            }
            assert pair.record["members"][image] == facts
        assert (pair.record["format"], pair.record["key"]) == (FORMAT, pair.key)
        assert (pair.record["width"], pair.record["height"]) == decode(
            pair.low.data, pair.low.suffix
        ).shape[1::-1]


def test_a_sample_knows_its_files_in_order_and_its_pixels(pairs: list[Sample]) -> None:
    for pair in pairs:
        low, normal = f"low.{pair.low.suffix}", f"normal.{pair.normal.suffix}"
        assert [name for name, _ in pair.files()] == ["json", low, normal]
        assert [data for _, data in pair.files()[1:]] == [pair.low.data, pair.normal.data]
        assert json.loads(pair.files()[0][1]) == pair.record
        for shown, member in zip(pair.pixels(), (pair.low, pair.normal), strict=True):
            assert (shown == decode(member.data, member.suffix)).all()
        assert (pair.decoded("low") == pair.pixels()[0]).all()


def test_further_members_are_told_by_their_names(rich: list[Sample]) -> None:
    for i, sample in enumerate(rich):
        assert [name for name, _ in sample.files()] == [
            "json",
            "low.png",
            "normal.jpg",
            "boxes.npy",
            "normal.000.jpg",
            "cls",
        ]
        assert list(sample.record["members"]) == list(sample.members)
        assert sample.record["members"]["cls"]["suffix"] == ""
        assert np.load(io.BytesIO(sample.members["boxes"].data)).shape == (i, 4)
        assert sample.decoded("normal.000").shape == (30, 40, 3)


def test_a_member_that_is_missing_or_damaged_is_refused(pairs: list[Sample]) -> None:
    lows = replace(pairs[0], members={"low": pairs[0].low})
    assert lows.decoded("low").shape == (30, 40, 3)
    with pytest.raises(ImageRefused):
        lows.pixels()
    cut = Encoded(pairs[0].low.data[:-20], pairs[0].low.suffix)
    with pytest.raises(ImageRefused) as refused:
        replace(pairs[0], members={"low": cut}).decoded("low")
    assert refused.value.reason is Reason.DAMAGED


def test_where_a_photograph_is_from_comes_back_of_its_record(pairs: list[Sample]) -> None:
    origin = Origin("voc", "JPEGImages/0001.jpg", 40, 30, "")
    assert origin_of(pairs[1].record) == origin
    assert make_sample(pairs[1].key, origin, pairs[1].record["draw"], pairs[1].members) == pairs[1]


@pytest.mark.parametrize(
    ("name", "suffix", "text"),
    [("low", "png", "low.png"), ("normal.000", "jpg", "normal.000.jpg"), ("cls", "", "cls")],
)
def test_an_ending_is_told_apart_into_name_and_suffix(name: str, suffix: str, text: str) -> None:
    assert ending(name, suffix) == text
    assert split_ending(text) == (name, suffix)


# Records that are refused


def test_record_of_a_newer_format_is_refused_with_the_way_out(pairs: list[Sample]) -> None:
    newer = json.dumps(pairs[0].record | {"format": FORMAT + 1}).encode()
    with pytest.raises(
        SetError, match=rf"x\.json: written by a newer gloam \(format {FORMAT + 1}\); upgrade gloam"
    ):
        parse_record(newer, "x.json")


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"3", b"{}", b'{"format": 1}', b'{"format": "1", "key": "a"}', b"\xff"],
)
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(SetError, match=r"x\.json: not a sample's record"):
        parse_record(data, "x.json")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": 0}, "x.json: damaged: format 0"),
        ({"format": -1}, "x.json: damaged: format -1"),
        ({"format": True}, "x.json: not a sample's record: format"),
        ({"key": 7}, "x.json: not a sample's record"),
        ({"key": None}, "x.json: not a sample's record"),
    ],
)
def test_a_wrong_record_is_called_neither_newer_nor_older(
    pairs: list[Sample], changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(SetError) as refused:
        parse_record(json.dumps(pairs[0].record | changed).encode(), "x.json")
    assert str(refused.value).startswith(said)


def test_record_of_an_older_format_is_refused_with_the_way_out(pairs: list[Sample]) -> None:
    """Format 1 had it so: the members at the top."""
    record = {key: value for key, value in pairs[0].record.items() if key != "members"}
    older = record | pairs[0].record["members"] | {"format": 1}
    with pytest.raises(SetError) as refused:
        parse_record(json.dumps(older).encode(), "x.json")
    assert str(refused.value) == (
        f"x.json: written by an older gloam (format 1, this one has {FORMAT}); build the set anew,"
        " in another folder, or read it with that gloam"
    )


@pytest.mark.parametrize("version", [None, "2", 2.0, True, 0, -1, [2]])
def test_what_is_no_version_is_damaged(version: Any) -> None:
    with pytest.raises(DamagedError, match=r"^x: damaged: format "):
        check_format(version, "x")


def test_only_this_format_is_read() -> None:
    check_format(FORMAT, "x")
    for version in range(1, FORMAT + 3):
        if version != FORMAT:
            with pytest.raises(SetError, match="newer" if version > FORMAT else "older") as refused:
                check_format(version, "x")
            assert not isinstance(refused.value, DamagedError)
            assert len(str(refused.value).splitlines()) == 1
