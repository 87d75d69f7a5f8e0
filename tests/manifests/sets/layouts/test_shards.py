"""Shards: tars that DALI, webdataset and tarfile read alike, with an index that is DALI's own."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset

from gloam.errors import SetError
from gloam.manifests.images.decode import decode
from gloam.manifests.sets import layout as layouts
from gloam.manifests.sets.sample import FORMAT, Pair, parse_record
from gloam.manifests.sets.shards import (
    Member,
    ShardWriter,
    index_path,
    read_index,
    read_pairs,
    read_places,
    read_records,
    shard_path,
)

UNIT = "train-000003"


def write_shard(root: Path, pairs: list[Pair], unit: str = UNIT) -> dict[str, dict[str, Any]]:
    with ShardWriter(root, unit) as writer:
        for pair in pairs:
            writer.add(pair)
        return writer.close()


@pytest.fixture
def shard(tmp_path: Path, pairs: list[Pair]) -> Path:
    """A set's folder with one shard of all pairs."""
    write_shard(tmp_path, pairs)
    return tmp_path


# What is written


def test_members_are_adjacent_in_order_and_hold_the_bytes_of_the_pairs(
    shard: Path, pairs: list[Pair]
) -> None:
    with tarfile.open(shard_path(shard, UNIT)) as archive:
        found = [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]
    expected = []
    for pair in pairs:
        expected.append((f"{pair.key}.json", found[len(expected)][1]))
        assert json.loads(expected[-1][1]) == pair.record
        expected.append((f"{pair.key}.low.{pair.low_suffix}", pair.low))
        expected.append((f"{pair.key}.normal.{pair.normal_suffix}", pair.normal))
    assert found == expected


def test_headers_are_plain_ustar_and_name_neither_time_nor_machine(shard: Path) -> None:
    data = shard_path(shard, UNIT).read_bytes()
    assert len(data) % tarfile.RECORDSIZE == 0
    with tarfile.open(shard_path(shard, UNIT)) as archive:
        for member in archive:
            assert (member.mtime, member.uid, member.gid, member.uname, member.gname) == (
                0,
                0,
                0,
                "",
                "",
            )
            assert (member.mode, member.type, member.pax_headers) == (0o644, tarfile.REGTYPE, {})
            assert data[member.offset + 257 : member.offset + 265] == b"ustar\x0000"
            assert member.offset_data == member.offset + 512  # no further header before the data


def test_two_writes_give_equal_bytes(tmp_path: Path, pairs: list[Pair]) -> None:
    facts = [write_shard(tmp_path / name, pairs) for name in ("one", "two")]
    assert facts[0] == facts[1]
    for path in (shard_path, index_path):
        assert (
            path(tmp_path / "one", UNIT).read_bytes() == path(tmp_path / "two", UNIT).read_bytes()
        )


def test_writing_again_replaces_what_was_there(tmp_path: Path, pairs: list[Pair]) -> None:
    write_shard(tmp_path, pairs[:2])
    facts = write_shard(tmp_path, pairs)
    assert [pair.key for pair in read_pairs(tmp_path, UNIT)] == [pair.key for pair in pairs]
    assert facts == write_shard(tmp_path / "other", pairs)


def test_close_tells_path_size_and_checksum_of_both_files(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    facts = write_shard(tmp_path, pairs)
    assert list(facts) == ["shards/train-000003.tar", "shards/train-000003.idx"]
    for name, fact in facts.items():
        data = (tmp_path / name).read_bytes()
        assert fact == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def test_leaving_without_close_leaves_no_file(tmp_path: Path, pairs: list[Pair]) -> None:
    with ShardWriter(tmp_path, UNIT) as writer:
        writer.add(pairs[0])
        assert [path.name for path in (tmp_path / "shards").iterdir()] != []
    assert list((tmp_path / "shards").iterdir()) == []


def test_leaving_by_an_exception_leaves_no_file_and_keeps_an_older_shard(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    write_shard(tmp_path, pairs)
    before = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    broken = Pair("k" * 200, {}, b"", b"", "png", "jpg")  # a name that no plain header holds
    with pytest.raises(ValueError, match="does not fit into a USTAR header"):
        write_shard(tmp_path, [pairs[0], broken])
    assert {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()} == before


def test_nothing_stands_under_the_final_names_before_close(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    with ShardWriter(tmp_path, UNIT) as writer:
        writer.add(pairs[0])
        assert not shard_path(tmp_path, UNIT).exists()
        assert not index_path(tmp_path, UNIT).exists()
        writer.close()
        assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [
            "train-000003.idx",
            "train-000003.tar",
        ]


def test_the_longest_key_fits_the_header(tmp_path: Path, make_test_pair: Any) -> None:
    pair = make_test_pair(1)
    long = Pair("k" * 80, pair.record | {"key": "k" * 80}, pair.low, pair.normal, "png", "jpg")
    write_shard(tmp_path, [long])
    assert list(read_pairs(tmp_path, UNIT)) == [long]
    with tarfile.open(shard_path(tmp_path, UNIT)) as archive:
        assert archive.getnames()[0] == "k" * 80 + ".json"


# The index


def test_index_points_at_every_member(shard: Path, pairs: list[Pair]) -> None:
    data = shard_path(shard, UNIT).read_bytes()
    samples = read_index(index_path(shard, UNIT))
    assert len(samples) == len(pairs)
    for sample, pair in zip(samples, pairs, strict=True):
        low, normal = f"low.{pair.low_suffix}", f"normal.{pair.normal_suffix}"
        assert [member.ending for member in sample] == ["json", low, normal]
        assert [member.name for member in sample] == [
            f"{pair.key}.{member.ending}" for member in sample
        ]
        found = [data[member.offset : member.offset + member.size] for member in sample]
        assert json.loads(found[0]) == pair.record
        assert found[1:] == [pair.low, pair.normal]


@pytest.mark.skipif(importlib.util.find_spec("nvidia.dali") is None, reason="DALI is not installed")
@pytest.mark.parametrize("count", [1, 2, 7])
def test_index_equals_dalis_own_tool(tmp_path: Path, pairs: list[Pair], count: int) -> None:
    write_shard(tmp_path, pairs[:count])
    theirs = tmp_path / "theirs.idx"
    tool = Path(sys.executable).with_name("wds2idx")
    subprocess.run(
        [sys.executable, tool, shard_path(tmp_path, UNIT), theirs],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert index_path(tmp_path, UNIT).read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1.1 0\n",
        "v1.2 2\njson 512 3 a.json\n",
        "v1.2 1\njson 512 3\n",
        "v1.2 1\njson x 3 a.json\n",
        "v1.2\n",
        "v1.2 1\n\n",
        "\xe4",
    ],
)
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.idx").write_bytes(text.encode("latin-1"))
    with pytest.raises(SetError, match=r"x\.idx: not a DALI index of v1\.2"):
        read_index(tmp_path / "x.idx")


def test_a_missing_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetError, match=r"x\.idx: No such file"):
        read_index(tmp_path / "x.idx")


def test_index_of_two_members_is_read_into_places(tmp_path: Path) -> None:
    (tmp_path / "x.idx").write_text("v1.2 1\njson 512 3 a.json low.png 1536 70 a.low.png\n")
    assert read_index(tmp_path / "x.idx") == [
        [Member("json", 512, 3, "a.json"), Member("low.png", 1536, 70, "a.low.png")]
    ]


def test_places_are_those_of_the_index(shard: Path, pairs: list[Pair], tmp_path: Path) -> None:
    samples = read_index(index_path(shard, UNIT))
    keys, places = read_places(index_path(shard, UNIT), ("normal", "low"))
    assert keys == [pair.key for pair in pairs]
    assert places.tolist() == [
        [[sample[i].offset, sample[i].size] for i in (2, 1)] for sample in samples
    ]
    for text in (
        "v1.2 1\njson 0 1 a.json low.png 1 2\n",
        "v1.2 2\njson 0 1 a.json low.png 1 2 a.low.png\n",
        "v1.2 0\n",
        "v1.1 1\n",
        "v1.2 2\njson 0 1 a.json low.png 1 2 a.low.png low.png 0 1 b.low.png json 1 2 b.json\n",
    ):
        (tmp_path / "x.idx").write_text(text)
        with pytest.raises(SetError, match=r"x\.idx: not a DALI index of v1\.2"):
            read_places(tmp_path / "x.idx", ("low",))
    with pytest.raises(SetError, match="No such file"):
        read_places(tmp_path / "y.idx", ("low",))


# Reading


def test_pairs_and_records_come_back_in_order(shard: Path, pairs: list[Pair]) -> None:
    assert list(read_pairs(shard, UNIT)) == pairs
    assert list(read_records(shard, UNIT)) == [pair.record for pair in pairs]


def test_an_empty_shard_reads_back_empty(tmp_path: Path) -> None:
    write_shard(tmp_path, [])
    assert list(read_pairs(tmp_path, UNIT)) == []
    assert list(read_records(tmp_path, UNIT)) == []


def test_records_are_read_without_the_images(shard: Path, pairs: list[Pair]) -> None:
    path = shard_path(shard, UNIT)
    data = bytearray(path.read_bytes())
    for sample in read_index(index_path(shard, UNIT)):
        for member in sample[1:]:
            data[member.offset : member.offset + member.size] = bytes(member.size)
    path.write_bytes(data)
    assert list(read_records(shard, UNIT)) == [pair.record for pair in pairs]


def test_pairs_are_read_without_the_index(shard: Path, pairs: list[Pair]) -> None:
    index_path(shard, UNIT).unlink()
    assert list(read_pairs(shard, UNIT)) == pairs


def test_the_layout_reads_and_writes_the_same_shard(tmp_path: Path, pairs: list[Pair]) -> None:
    with layouts.writer(layouts.SHARDS, tmp_path, layouts.unit_name("train", 3)) as writer:
        for pair in pairs:
            writer.add(pair)
        files = writer.close()
    assert list(layouts.read_pairs(layouts.SHARDS, tmp_path, UNIT, files)) == pairs
    assert list(layouts.read_records(layouts.SHARDS, tmp_path, UNIT, files)) == [
        pair.record for pair in pairs
    ]


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # webdataset leaves the shards that it opened to the garbage collector
def test_webdataset_reads_the_same_pixels_and_records(shard: Path, pairs: list[Pair]) -> None:
    samples = list(
        webdataset.WebDataset(str(shard_path(shard, UNIT)), shardshuffle=False).decode("rgb8")
    )
    gc.collect()
    assert [sample["__key__"] for sample in samples] == [pair.key for pair in pairs]
    for sample, pair in zip(samples, pairs, strict=True):
        assert sample["json"] == pair.record
        for image, data, suffix in (
            ("low", pair.low, pair.low_suffix),
            ("normal", pair.normal, pair.normal_suffix),
        ):
            theirs, ours = sample[f"{image}.{suffix}"], decode(data, suffix)
            assert theirs.shape == ours.shape
            assert np.abs(theirs.astype(int) - ours).max() <= (1 if suffix == "jpg" else 0)


# What is refused


@pytest.mark.parametrize("reader", [read_pairs, read_records])
def test_a_missing_shard_is_named(tmp_path: Path, reader: Any) -> None:
    with pytest.raises(SetError, match="train-000003"):
        list(reader(tmp_path, UNIT))


def test_a_shard_cut_short_anywhere_is_refused(shard: Path, pairs: list[Pair]) -> None:
    """Also between two pairs, where a reader that trusts tarfile sees a shorter shard and nothing
    wrong."""
    path = shard_path(shard, UNIT)
    whole = path.read_bytes()
    last = read_index(index_path(shard, UNIT))[-1][-1]
    end = last.offset + -(-last.size // 512) * 512
    members = [member for sample in read_index(index_path(shard, UNIT)) for member in sample]
    cuts = {
        place
        for member in members
        for place in (member.offset - 512, member.offset - 300, member.offset, member.offset + 9)
    }
    passed = []
    for length in sorted(cuts | set(range(1, end, 1013)) | {end - 1}):
        path.write_bytes(whole[:length])
        try:
            passed.append((length, len(list(read_pairs(shard, UNIT)))))
        except SetError as error:
            assert UNIT in str(error)  # noqa: PT017
    assert passed == [], (
        f"(bytes, pairs) of a shard of {len(pairs)} pairs that were read as if it were whole"
    )


def test_a_damaged_header_is_refused_whichever_it_is(shard: Path, pairs: list[Pair]) -> None:
    path = shard_path(shard, UNIT)
    whole = path.read_bytes()
    passed = []
    for sample in read_index(index_path(shard, UNIT)):
        for member in sample:
            for place in (0, 100, 124, 148, 257):
                data = bytearray(whole)
                data[member.offset - 512 + place] ^= 1
                path.write_bytes(data)
                try:
                    passed.append((member.name, place, len(list(read_pairs(shard, UNIT)))))
                except SetError as error:
                    assert UNIT in str(error)  # noqa: PT017
    assert passed == [], (
        f"(member, damaged byte of its header, pairs read) of a shard of {len(pairs)} pairs"
    )


def test_a_shard_that_ends_inside_a_pair_says_so(
    tmp_path: Path, write_tar: Any, pairs: list[Pair]
) -> None:
    members = {f"{pairs[0].key}.{ending}": data for ending, data in pairs[0].members()}
    members |= dict([(f"{pairs[1].key}.{ending}", data) for ending, data in pairs[1].members()][:2])
    write_tar(shard_path(tmp_path, UNIT), members)
    found = read_pairs(tmp_path, UNIT)
    assert next(found) == pairs[0]
    with pytest.raises(SetError, match=rf"{pairs[1].key}.* are not one pair"):
        next(found)


@pytest.mark.parametrize(
    "names",
    [
        ("a.json", "a.normal.jpg", "a.low.png"),
        ("a.json", "b.low.png", "a.normal.jpg"),
        ("a.low.png", "a.json", "a.normal.jpg"),
        ("a.txt", "a.low.png", "a.normal.jpg"),
        ("a.json", "a.png", "a.jpg"),
    ],
)
def test_members_that_are_not_one_pair_are_refused(
    tmp_path: Path, write_tar: Any, pairs: list[Pair], names: tuple[str, str, str]
) -> None:
    record = pairs[0].members()[0][1]
    write_tar(shard_path(tmp_path, UNIT), dict.fromkeys(names, record))
    with pytest.raises(SetError, match="are not one pair"):
        list(read_pairs(tmp_path, UNIT))


def test_records_through_a_shard_that_was_cut_are_refused(shard: Path) -> None:
    path = shard_path(shard, UNIT)
    place = read_index(index_path(shard, UNIT))[3][0].offset
    os.truncate(path, place + 20)
    found = read_records(shard, UNIT)
    for _ in range(3):
        next(found)
    with pytest.raises(SetError, match="not a pair's record"):
        next(found)


# Records


def test_records_hold_sizes_and_checksums_of_both_images(pairs: list[Pair]) -> None:
    for pair in pairs:
        for image, data, suffix in (
            ("low", pair.low, pair.low_suffix),
            ("normal", pair.normal, pair.normal_suffix),
        ):
            facts = {
                "sha256": hashlib.sha256(data).hexdigest(),
                "bytes": len(data),
                "suffix": suffix,
            }
            assert pair.record[image] == facts
        assert (pair.record["format"], pair.record["key"]) == (FORMAT, pair.key)
        assert (pair.record["width"], pair.record["height"]) == decode(
            pair.low, pair.low_suffix
        ).shape[1::-1]


def test_record_of_a_newer_format_is_refused_with_the_way_out(pairs: list[Pair]) -> None:
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
    with pytest.raises(SetError, match=r"x\.json: not a pair's record"):
        parse_record(data, "x.json")


@pytest.mark.parametrize("changed", [{"format": 0}, {"format": -1}, {"key": 7}, {"key": None}])
def test_a_wrong_record_is_not_called_newer(pairs: list[Pair], changed: dict[str, Any]) -> None:
    with pytest.raises(SetError, match="not a pair's record"):
        parse_record(json.dumps(pairs[0].record | changed).encode(), "x.json")


def test_a_shard_can_be_read_as_a_stream(shard: Path, pairs: list[Pair]) -> None:
    """As training does over a network: no member needs a seek backwards."""
    stream = io.BytesIO(shard_path(shard, UNIT).read_bytes())
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        assert len(list(archive)) == 3 * len(pairs)
