"""Shards: tars that DALI, webdataset and tarfile read alike, with an index that is DALI's own."""

from __future__ import annotations

import gc
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset

from gloam.errors import SetError
from gloam.manifests.images.decode import decode
from gloam.manifests.sets.layouts import SHARDS
from gloam.manifests.sets.layouts.shard_index import read_index
from gloam.manifests.sets.layouts.shard_tar import ShardWriter, index_path, shard_path
from gloam.manifests.sets.layouts.shards import read_samples
from gloam.manifests.sets.sample import Encoded, Sample
from gloam.storage.atomic import canonical_json

from .writing import RECEIPT, UNIT, write_shard

# What is written


def test_members_are_adjacent_in_order_and_hold_the_bytes_of_the_pairs(
    shard: Path, pairs: list[Sample]
) -> None:
    with tarfile.open(shard_path(shard, UNIT)) as archive:
        found = [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]
    expected = []
    for pair in pairs:
        expected.append((f"{pair.key}.json", found[len(expected)][1]))
        assert json.loads(expected[-1][1]) == pair.record
        expected.append((f"{pair.key}.low.{pair.low.suffix}", pair.low.data))
        expected.append((f"{pair.key}.normal.{pair.normal.suffix}", pair.normal.data))
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


def test_two_writes_give_equal_bytes(tmp_path: Path, pairs: list[Sample]) -> None:
    facts = [write_shard(tmp_path / name, pairs) for name in ("one", "two")]
    assert facts[0] == facts[1]
    for path in (shard_path, index_path):
        assert (
            path(tmp_path / "one", UNIT).read_bytes() == path(tmp_path / "two", UNIT).read_bytes()
        )


def test_writing_again_replaces_what_was_there(tmp_path: Path, pairs: list[Sample]) -> None:
    write_shard(tmp_path, pairs[:2])
    facts = write_shard(tmp_path, pairs)
    assert [pair.key for pair in read_samples(shard_path(tmp_path, UNIT))] == [
        pair.key for pair in pairs
    ]
    assert facts == write_shard(tmp_path / "other", pairs)


def test_close_tells_path_size_and_checksum_of_both_files(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    facts = write_shard(tmp_path, pairs)
    assert [one.path for one in facts] == ["shards/train-000003.tar", "shards/train-000003.idx"]
    for one in facts:
        data = (tmp_path / one.path).read_bytes()
        assert (one.sha256, one.bytes) == (hashlib.sha256(data).hexdigest(), len(data))


def test_leaving_without_close_leaves_no_file(tmp_path: Path, pairs: list[Sample]) -> None:
    with ShardWriter(tmp_path, UNIT) as writer:
        writer.add(pairs[0])
        assert [path.name for path in (tmp_path / "shards").iterdir()] != []
    assert list((tmp_path / "shards").iterdir()) == []


def test_leaving_by_an_exception_leaves_no_file_and_keeps_an_older_shard(
    tmp_path: Path, pairs: list[Sample]
) -> None:
    write_shard(tmp_path, pairs)
    before = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    broken = Sample(
        "k" * 200, {}, {"low": Encoded(b"", "png")}
    )  # a name that no plain header holds
    with pytest.raises(ValueError, match="does not fit a USTAR header"):
        write_shard(tmp_path, [pairs[0], broken])
    assert {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()} == before


def test_nothing_stands_under_the_final_names_before_close(
    tmp_path: Path, pairs: list[Sample]
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
    long = Sample("k" * 80, pair.record | {"key": "k" * 80}, pair.members)
    write_shard(tmp_path, [long])
    assert list(read_samples(shard_path(tmp_path, UNIT))) == [long]
    with tarfile.open(shard_path(tmp_path, UNIT)) as archive:
        assert archive.getnames()[0] == "k" * 80 + ".json"


# Reading


def test_pairs_and_records_come_back_in_order(shard: Path, pairs: list[Sample]) -> None:
    assert list(read_samples(shard_path(shard, UNIT))) == pairs
    assert list(SHARDS.records(shard, RECEIPT)) == [pair.record for pair in pairs]


def test_an_empty_shard_reads_back_empty(tmp_path: Path) -> None:
    write_shard(tmp_path, [])
    assert list(read_samples(shard_path(tmp_path, UNIT))) == []
    assert list(SHARDS.records(tmp_path, RECEIPT)) == []


def test_records_are_read_without_the_images(shard: Path, pairs: list[Sample]) -> None:
    path = shard_path(shard, UNIT)
    data = bytearray(path.read_bytes())
    for sample in read_index(index_path(shard, UNIT)):
        for member in sample[1:]:
            data[member.offset : member.offset + member.size] = bytes(member.size)
    path.write_bytes(data)
    assert list(SHARDS.records(shard, RECEIPT)) == [pair.record for pair in pairs]


def test_pairs_are_read_without_the_index(shard: Path, pairs: list[Sample]) -> None:
    index_path(shard, UNIT).unlink()
    assert list(read_samples(shard_path(shard, UNIT))) == pairs


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # webdataset leaves the shards that it opened to the garbage collector
def test_webdataset_reads_the_same_pixels_and_records(shard: Path, pairs: list[Sample]) -> None:
    samples = list(
        webdataset.WebDataset(str(shard_path(shard, UNIT)), shardshuffle=False).decode("rgb8")
    )
    gc.collect()
    assert [sample["__key__"] for sample in samples] == [pair.key for pair in pairs]
    for sample, pair in zip(samples, pairs, strict=True):
        assert sample["json"] == pair.record
        for image, data, suffix in (
            ("low", pair.low.data, pair.low.suffix),
            ("normal", pair.normal.data, pair.normal.suffix),
        ):
            theirs, ours = sample[f"{image}.{suffix}"], decode(data, suffix)
            assert theirs.shape == ours.shape
            assert np.abs(theirs.astype(int) - ours).max() <= (1 if suffix == "jpg" else 0)


# What is refused


@pytest.mark.parametrize("reader", [SHARDS.samples, SHARDS.records])
def test_a_missing_shard_is_named(tmp_path: Path, reader: Any) -> None:
    with pytest.raises(SetError, match="train-000003"):
        list(reader(tmp_path, RECEIPT))


def test_a_shard_cut_short_anywhere_is_refused(shard: Path, pairs: list[Sample]) -> None:
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
            passed.append((length, len(list(read_samples(shard_path(shard, UNIT))))))
        except SetError as error:
            assert UNIT in str(error)  # noqa: PT017
    assert passed == [], (
        f"(bytes, pairs) of a shard of {len(pairs)} pairs that were read as if it were whole"
    )


def test_a_damaged_header_is_refused_whichever_it_is(shard: Path, pairs: list[Sample]) -> None:
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
                    passed.append(
                        (member.name, place, len(list(read_samples(shard_path(shard, UNIT)))))
                    )
                except SetError as error:
                    assert UNIT in str(error)  # noqa: PT017
    assert passed == [], (
        f"(member, damaged byte of its header, pairs read) of a shard of {len(pairs)} pairs"
    )


def test_a_shard_that_ends_inside_a_pair_says_so(
    tmp_path: Path, write_tar: Any, pairs: list[Sample]
) -> None:
    members = {f"{pairs[0].key}.{ending}": data for ending, data in pairs[0].files()}
    members |= dict([(f"{pairs[1].key}.{ending}", data) for ending, data in pairs[1].files()][:2])
    write_tar(shard_path(tmp_path, UNIT), members)
    found = read_samples(shard_path(tmp_path, UNIT))
    assert next(found) == pairs[0]
    with pytest.raises(SetError, match=rf"{pairs[1].key}.* are not one sample"):
        next(found)


_UNKNOWN = [
    ("a.json", "a.png", "a.jpg"),
    ("a.json", "a.low.png", "a.normal.jpg", "a.boxes.npy"),
]


def record_of(pair: Sample, name: str) -> bytes:
    return canonical_json(pair.record | {"key": name.partition(".")[0]})


@pytest.mark.parametrize(
    "names",
    [
        ("a.json", "b.low.png", "a.normal.jpg"),
        ("a.low.png", "a.json", "a.normal.jpg"),
        ("a.txt", "a.low.png", "a.normal.jpg"),
        ("a.json",),
        # Of several samples all have the members of the first, in its order.
        ("a.json", "a.low.png", "a.normal.jpg", "b.json", "b.normal.jpg", "b.low.png"),
        ("a.json", "a.low.png", "b.json", "b.low.png", "b.normal.jpg"),
        ("a.json", "a.low.png", "a.normal.jpg", "b.json", "b.low.png"),
        ("a.json", "a.low.png", "a.normal.jpg", "b.json", "b.png", "b.jpg"),
        *_UNKNOWN,
    ],
)
def test_members_that_are_not_one_sample_are_refused(
    tmp_path: Path, write_tar: Any, pairs: list[Sample], names: tuple[str, ...]
) -> None:
    write_tar(shard_path(tmp_path, UNIT), {name: record_of(pairs[0], name) for name in names})
    # Members that their record does not know are of the sample, all the same.
    known = "knows nothing of" if names in _UNKNOWN else "are not one sample"
    with pytest.raises(SetError, match=known):
        list(read_samples(shard_path(tmp_path, UNIT)))


def test_records_through_a_shard_that_was_cut_are_refused(shard: Path) -> None:
    path = shard_path(shard, UNIT)
    place = read_index(index_path(shard, UNIT))[3][0].offset
    os.truncate(path, place + 20)
    with pytest.raises(SetError, match="does not lie in its tar"):
        next(SHARDS.records(shard, RECEIPT))


def test_a_shard_can_be_read_as_a_stream(shard: Path, pairs: list[Sample]) -> None:
    """Training does so over a network: no member needs a seek backwards."""
    stream = io.BytesIO(shard_path(shard, UNIT).read_bytes())
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        assert len(list(archive)) == 3 * len(pairs)
