"""Every layout: samples of any members come back, and damage is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gloam.errors import SetError
from gloam.manifests.sets.close import publish_unit
from gloam.manifests.sets.layouts import LAYOUTS, layout_named
from gloam.manifests.sets.layouts.layout import Layout, split_of, unit_name
from gloam.manifests.sets.layouts.shard_index import read_index
from gloam.manifests.sets.layouts.shard_tar import index_path, shard_path
from gloam.manifests.sets.receipts import Receipt
from gloam.manifests.sets.sample import Encoded, Sample
from gloam.storage.atomic import sha256_file

UNIT = "train-000000"


@pytest.fixture(params=list(LAYOUTS))
def layout(request: pytest.FixtureRequest) -> Layout:
    return layout_named(request.param)


def published(root: Path, layout: Layout, samples: list[Sample], unit: str = UNIT) -> Receipt:
    return publish_unit(root, layout.name, unit, "0" * 64, samples)


def test_layouts_go_by_their_names() -> None:
    assert list(LAYOUTS) == ["shards", "files"]
    assert all(layout_named(name).name == name for name in LAYOUTS)
    with pytest.raises(SetError, match=r"^layout 'pile': must be one of shards, files$"):
        layout_named("pile")


def test_units_are_named_by_split_and_number() -> None:
    assert unit_name("train", 12) == "train-000012"
    assert split_of("train-000012") == "train"


def test_pairs_come_back(tmp_path: Path, layout: Layout, pairs: list[Sample]) -> None:
    receipt = published(tmp_path, layout, pairs)
    assert list(layout.samples(tmp_path, receipt)) == pairs
    assert list(layout.records(tmp_path, receipt)) == [pair.record for pair in pairs]
    assert all(
        list(found.members) == ["low", "normal"] for found in layout.samples(tmp_path, receipt)
    )


def test_a_writer_tells_of_the_files_that_it_wrote(
    tmp_path: Path, layout: Layout, pairs: list[Sample]
) -> None:
    with layout.writer(tmp_path, UNIT) as writer:
        for pair in pairs:
            writer.add(pair)
        files = writer.close()
    receipt = published(tmp_path / "other", layout, pairs)
    assert receipt.files == files
    assert list(layout.samples(tmp_path, receipt)) == pairs


def test_further_members_come_back(tmp_path: Path, layout: Layout, rich: list[Sample]) -> None:
    """An array, an image of a numbered series, and one without a suffix: bytes and suffixes."""
    receipt = published(tmp_path, layout, rich)
    assert list(layout.samples(tmp_path, receipt)) == rich
    assert list(layout.records(tmp_path, receipt)) == [sample.record for sample in rich]


def test_members_come_back_in_their_order(
    tmp_path: Path, layout: Layout, rich: list[Sample]
) -> None:
    receipt = published(tmp_path, layout, rich)
    for found, sample in zip(layout.samples(tmp_path, receipt), rich, strict=True):
        assert list(found.members) == list(sample.members)
        assert found.files() == sample.files()


def test_a_member_may_be_json_itself(
    tmp_path: Path,
    layout: Layout,
    make_test_pair: Callable[..., Sample],
) -> None:
    samples = [make_test_pair(i, boxes=Encoded(b"[%d]" % i, "json")) for i in range(3)]
    receipt = published(tmp_path, layout, samples)
    assert list(layout.samples(tmp_path, receipt)) == samples
    assert list(layout.records(tmp_path, receipt)) == [sample.record for sample in samples]


@pytest.mark.parametrize("members", ["pairs", "rich"])
def test_samples_go_from_one_layout_to_the_other_and_back(
    tmp_path: Path, members: str, request: pytest.FixtureRequest
) -> None:
    first: list[Sample] = request.getfixturevalue(members)
    samples = first
    for i, name in enumerate(["shards", "files", "shards"]):
        receipt = published(tmp_path / str(i), layout_named(name), samples)
        samples = list(layout_named(name).samples(tmp_path / str(i), receipt))
        assert samples == first
    tars = [shard_path(tmp_path / str(i), UNIT).read_bytes() for i in (0, 2)]
    assert tars[0] == tars[1]


def test_a_receipt_knows_every_file_in_the_layouts_folders(
    tmp_path: Path, layout: Layout, rich: list[Sample]
) -> None:
    receipt = published(tmp_path, layout, rich)
    found = {
        path.relative_to(tmp_path).as_posix(): (sha256_file(path), path.stat().st_size)
        for folder in ("shards", "train", "val", "test")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file()
    }
    assert {file.path: (file.sha256, file.bytes) for file in receipt.files} == found


@pytest.mark.parametrize("held", [False, True])
def test_members_lie_where_their_extents_say(
    tmp_path: Path, held: bool, layout: Layout, pairs: list[Sample]
) -> None:
    units = [UNIT, "train-000001"]
    receipts = [
        published(tmp_path, layout, part, unit)
        for part, unit in zip((pairs[:3], pairs[3:]), units, strict=True)
    ]
    layout.write_lists(tmp_path, "train", receipts)
    keys, (normals, lows) = layout.extents(tmp_path, "train", units, ("normal", "low"), held=held)
    assert [keys[i] for i in range(len(keys))] == [pair.key for pair in pairs]
    for i, pair in enumerate(pairs):
        assert lows[i].read() == pair.low.data
        assert normals[i].read() == pair.normal.data


@pytest.mark.parametrize("held", [False, True])
def test_further_members_leave_extents_in_step(
    tmp_path: Path, held: bool, layout: Layout, rich: list[Sample]
) -> None:
    layout.write_lists(tmp_path, "train", [published(tmp_path, layout, rich)])
    keys, (lows, normals) = layout.extents(tmp_path, "train", [UNIT], ("low", "normal"), held=held)
    assert [keys[i] for i in range(len(keys))] == [sample.key for sample in rich]
    for i, sample in enumerate(rich):
        assert (lows[i].read(), normals[i].read()) == (sample.low.data, sample.normal.data)


def test_what_loaders_would_read_is_checked(
    tmp_path: Path, layout: Layout, pairs: list[Sample]
) -> None:
    written = layout.write_lists(tmp_path, "train", [published(tmp_path, layout, pairs)])
    layout.check(tmp_path, "train", [UNIT], len(pairs), ["low", "normal"])
    written[0].write_text(written[0].read_text() + "train/low/more.png 7\n")
    with pytest.raises(SetError, match="gloam verify says what was changed") as refused:
        layout.check(tmp_path, "train", [UNIT], len(pairs), ["low", "normal"])
    assert refused.value.path == written[0]
    for path in written:
        path.unlink()
    with pytest.raises(SetError, match="No such file") as refused:
        layout.check(tmp_path, "train", [UNIT], len(pairs), ["low", "normal"])
    assert refused.value.path == written[0]


def test_a_missing_list_or_index_is_named(
    tmp_path: Path, layout: Layout, pairs: list[Sample]
) -> None:
    written = layout.write_lists(tmp_path, "train", [published(tmp_path, layout, pairs)])
    missing = index_path(tmp_path, UNIT) if layout.name == "shards" else written[0]
    missing.unlink()
    with pytest.raises(SetError, match="No such file") as refused:
        layout.extents(tmp_path, "train", [UNIT], ("low", "normal"), held=True)
    assert refused.value.path == missing


# Damage


@pytest.mark.parametrize("member", range(1, 6))
def test_a_damaged_member_of_a_shard_is_named(
    tmp_path: Path, rich: list[Sample], member: int
) -> None:
    """Whichever it is, and it alone."""
    shards = layout_named("shards")
    published(tmp_path, shards, rich)
    path = shard_path(tmp_path, UNIT)
    place = read_index(index_path(tmp_path, UNIT))[1][member]
    data = bytearray(path.read_bytes())
    data[place.offset + place.size // 2] ^= 4
    path.write_bytes(data)
    said = [(place.name, "is damaged (its SHA-256 differs from its record's)")]
    assert shards.damage(tmp_path, UNIT, f"shards/{UNIT}.tar") == said
    assert place.name == f"{rich[1].key}.{rich[1].files()[member][0]}"


def test_damaged_records_and_headers_of_a_shard_are_named(
    tmp_path: Path, rich: list[Sample]
) -> None:
    shards = layout_named("shards")
    published(tmp_path, shards, rich)
    path = shard_path(tmp_path, UNIT)
    index = read_index(index_path(tmp_path, UNIT))
    data = bytearray(path.read_bytes())
    data[index[0][0].offset] ^= 4
    data[index[2][3].offset - 400] ^= 4
    path.write_bytes(data)
    assert shards.damage(tmp_path, UNIT, f"shards/{UNIT}.tar") == [
        (f"{rich[0].key}.json", "is damaged"),
        (f"{rich[2].key}.boxes.npy", "has a damaged tar header"),
    ]


def test_where_nothing_is_damaged_no_member_is_named(
    tmp_path: Path, layout: Layout, rich: list[Sample]
) -> None:
    """Nor where it cannot be told: of an index, and of files, which hold a member each."""
    receipt = published(tmp_path, layout, rich)
    for file in receipt.files:
        assert layout.damage(tmp_path, UNIT, file.path) == []
    if layout.name == "files":
        (tmp_path / receipt.files[1].path).write_bytes(b"?")
        assert layout.damage(tmp_path, UNIT, receipt.files[1].path) == []
    else:
        index_path(tmp_path, UNIT).unlink()
        assert layout.damage(tmp_path, UNIT, f"shards/{UNIT}.tar") == []


def test_a_member_that_its_record_does_not_know_is_damaged(
    tmp_path: Path, rich: list[Sample]
) -> None:
    shards = layout_named("shards")
    members = rich[0].record["members"]
    record = rich[0].record | {"members": {name: members[name] for name in ("low", "normal")}}
    published(tmp_path, shards, [replace(rich[0], record=record)])
    named = [name for name, _ in shards.damage(tmp_path, UNIT, f"shards/{UNIT}.tar")]
    assert named == [f"{rich[0].key}.{end}" for end in ("boxes.npy", "normal.000.jpg", "cls")]
