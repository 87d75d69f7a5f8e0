"""`set.json` and the note of a build under way."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gloam.errors import DamagedError, SetError
from gloam.manifests.recorded_request import RecordedRequest
from gloam.manifests.sets.info import (
    SET_FILE,
    WORK_FOLDER,
    BuildNote,
    SetInfo,
    differences,
    facts_of,
    note_path,
    read_note,
    read_set,
    write_note,
    write_set,
)
from gloam.manifests.sets.receipts import FileFacts
from gloam.storage.atomic import canonical_json
from gloam.storage.untrusted import FORMAT

REQUEST = {
    "sources": [{"kind": "voc", "limit": 5}],
    "profile": {},
    "plan": {"seed": 7, "pairs": None},
    "recipe": {"camera": {"iso": 3200}},
    "output": {},
}
NOTE = BuildNote(
    request=REQUEST,
    versions={"gloam": "0.1.0", "numpy": "2.4"},
    plan_sha256="ab" * 32,
)


def asked(**changes: Any) -> BuildNote:
    """NOTE, of another request."""
    request = RecordedRequest.model_validate(NOTE.request.model_dump() | changes)
    return NOTE.model_copy(update={"request": request})


def info_of(**changes: Any) -> SetInfo:
    values: dict[str, Any] = {
        "name": "caf\u00e9",
        "layout": "shards",
        "seed": 7,
        "recipe": "uneven",
        "counts": {"train": 3, "val": 1, "refused": 0},
        "fingerprint": NOTE.fingerprint,
        "build": NOTE,
        "libraries": {"pyarrow": "26"},
        "units": {"train-000000": 3, "val-000000": 1},
        "files": {"plan.parquet": FileFacts(sha256="cd" * 32, bytes=99)},
    }
    return SetInfo.model_validate(values | changes)


def test_a_set_reads_back_as_it_was_written_and_sealed(tmp_path: Path) -> None:
    write_set(tmp_path, info_of())
    info = read_set(tmp_path)
    assert info == info_of().sealed()
    bare = json.loads((tmp_path / SET_FILE).read_bytes()) | {"sha256": ""}
    assert info.sha256 == hashlib.sha256(canonical_json(bare)).hexdigest()
    assert info.model_copy(update={"sha256": ""}) == info_of()
    assert [path.name for path in tmp_path.iterdir()] == [SET_FILE]


def test_sealing_twice_changes_nothing() -> None:
    assert info_of().sealed().sealed() == info_of().sealed()


def test_any_flipped_bit_is_detected(tmp_path: Path) -> None:
    write_set(tmp_path, info_of())
    path = tmp_path / SET_FILE
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), 5):  # in every byte, in every place of one
        data = bytearray(whole)
        data[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(data)
        with pytest.raises(SetError, match=r"set\.json"):
            read_set(tmp_path)
    path.write_bytes(whole)
    assert read_set(tmp_path).name == "caf\u00e9"


@pytest.mark.parametrize("length", [0, 1, 200, -2, -1])
def test_a_set_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    write_set(tmp_path, info_of())
    path = tmp_path / SET_FILE
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(SetError, match=r"set\.json: damaged"):
        read_set(tmp_path)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"text", b"\xff\xfe"])
def test_what_is_no_set_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / SET_FILE).write_bytes(data)
    with pytest.raises(SetError, match=r"set\.json: damaged"):
        read_set(tmp_path)


def test_the_same_values_written_in_another_way_are_refused(tmp_path: Path) -> None:
    write_set(tmp_path, info_of())
    path = tmp_path / SET_FILE
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))
    with pytest.raises(SetError, match="not as it was written"):
        read_set(tmp_path)


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / SET_FILE).write_text(json.dumps({"format": FORMAT + 1, "else": "unknown"}))
    for reader in (read_set, read_note):
        with pytest.raises(
            SetError, match=rf"newer gloam \(format {FORMAT + 1}\); upgrade gloam to read it"
        ):
            reader(tmp_path)


def test_an_older_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / SET_FILE
    line = (
        f"{path}: written by an older gloam (format 1, this one has {FORMAT}); build the set anew,"
        " in another folder, or read it with that gloam"
    )
    path.write_text(json.dumps({"format": 1, "else": "forgotten"}))
    for reader in (read_set, read_note):
        with pytest.raises(SetError) as refused:
            reader(tmp_path)
        assert str(refused.value) == line
    write_set(tmp_path, info_of(format=1))  # nor one of that number and this shape
    with pytest.raises(SetError) as refused:
        read_set(tmp_path)
    assert str(refused.value) == line


def test_no_set_and_an_unfinished_set_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(SetError, match=r"not a gloam set \(it has no set\.json\)"):
        read_set(tmp_path)
    with pytest.raises(SetError, match="not a gloam set"):
        read_set(tmp_path / "nowhere")
    (tmp_path / WORK_FOLDER).mkdir()
    with pytest.raises(
        SetError, match="the set is not finished; run its gloam build command again"
    ):
        read_set(tmp_path)


# The note of a build


def test_a_note_reads_back_until_the_set_is_finished_and_from_the_set_afterwards(
    tmp_path: Path,
) -> None:
    assert read_note(tmp_path) is None
    write_note(tmp_path, NOTE)
    assert note_path(tmp_path).is_relative_to(tmp_path / WORK_FOLDER)
    assert read_note(tmp_path) == NOTE
    note_path(tmp_path).unlink()
    assert read_note(tmp_path) is None
    write_set(tmp_path, info_of())
    assert read_note(tmp_path) == NOTE


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"text", b"\xff\xfe", b'{"format":%d}' % FORMAT]
)
def test_a_damaged_note_is_refused(tmp_path: Path, data: bytes) -> None:
    write_note(tmp_path, NOTE)
    note_path(tmp_path).write_bytes(data)
    with pytest.raises(SetError, match=r"build\.json: damaged"):
        read_note(tmp_path)


def test_a_note_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE.model_copy(update={"format": FORMAT + 1}))
    with pytest.raises(SetError, match="upgrade gloam"):
        read_note(tmp_path)


def test_a_note_of_an_older_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE.model_copy(update={"format": 1}))
    with pytest.raises(SetError) as refused:
        read_note(tmp_path)
    assert str(refused.value) == (
        f"{note_path(tmp_path)}: written by an older gloam (format 1, this one has {FORMAT}); build"
        " the set anew, in another folder, or read it with that gloam"
    )


def test_fingerprint_depends_on_every_value_and_on_no_order() -> None:
    reordered = BuildNote(
        versions=dict(reversed(NOTE.versions.items())),
        plan_sha256=NOTE.plan_sha256,
        request=dict(reversed(NOTE.request.model_dump().items())),
    )
    assert reordered.fingerprint == NOTE.fingerprint
    others = [
        NOTE.model_copy(update={"plan_sha256": "ac" * 32}),
        NOTE.model_copy(update={"versions": {"gloam": "0.1.0", "numpy": "2.5"}}),
        asked(plan={"seed": 8, "pairs": None}),
        asked(sources=[{"kind": "voc", "limit": 6}]),
        NOTE.model_copy(update={"format": FORMAT + 1}),
    ]
    assert len({note.fingerprint for note in [NOTE, *others]}) == 6


def test_what_was_not_asked_is_not_written_and_nobody_changes_it() -> None:
    """Sets of the time before an option was there keep their bytes."""
    written = NOTE.model_dump()["request"]
    assert written == REQUEST
    assert (NOTE.request.output.low_codec, NOTE.request.seed) == ("png", 7)
    assert asked(low_seed=3).request.seed == 3
    with pytest.raises(ValidationError):
        NOTE.request.low_seed = 3


def test_a_request_of_a_later_gloam_is_said_to_be_one(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE)
    value = NOTE.model_dump()
    value["request"]["plan"]["moon"] = 3
    note_path(tmp_path).write_bytes(canonical_json(value))
    with pytest.raises(SetError, match=r"of another gloam: request\.plan\.moon is unknown"):
        read_note(tmp_path)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (None, "build.request: Input should be"),
        ([], "build.request: Input should be"),
        ({}, "build.request.sources is missing"),
        (REQUEST | {"sources": [{"kind": "moon\n"}]}, "unknown kind 'moon\\n'"),
        (
            REQUEST | {"sources": [{"kind": "voc", "limit": 1 << 80}]},
            "build.request.sources.0.limit",
        ),
        (REQUEST | {"plan": {"seed": -1}}, "build.request.plan.seed"),
        (REQUEST | {"plan": {"test": 10**10}}, "build.request.plan.test"),
        (REQUEST | {"low_seed": 1 << 63}, "build.request.low_seed"),
        (REQUEST | {"recipe": "even"}, "build.request.recipe"),
        (REQUEST | {"output": {"layout": "../files"}}, "build.request.output.layout"),
        (
            REQUEST | {"sources": [{"kind": "clips", "frames": 3}, {"kind": "voc"}]},
            "clips of one number of frames",
        ),
    ],
)
def test_what_is_no_request_is_damage_and_said_in_a_line(
    tmp_path: Path, changes: Any, found: str
) -> None:
    value = info_of().sealed().model_dump()
    value["build"]["request"] = changes
    (tmp_path / "set.json").write_bytes(canonical_json(value))
    with pytest.raises(DamagedError) as refused:
        read_set(tmp_path)
    assert found in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_fingerprint_survives_being_stored(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE)
    stored = read_note(tmp_path)
    assert stored is not None
    assert stored.fingerprint == NOTE.fingerprint


# What changed between two builds


def test_differences_name_the_leaves_that_changed() -> None:
    before = {
        "plan": {"seed": 1, "val": 0},
        "sources": [{"kind": "voc"}, {"kind": "coco"}],
        "same": [1, 2],
        "gone": "x",
    }
    now = {
        "plan": {"seed": 2, "val": 0},
        "sources": [{"kind": "voc"}, {"kind": "iapr"}],
        "same": [1, 2],
        "new": 3,
    }
    assert differences(before, now) == [
        'gone: "x", now null',
        "new: null, now 3",
        "plan.seed: 1, now 2",
        'sources[1].kind: "coco", now "iapr"',
    ]


def test_lists_of_other_lengths_and_other_types_differ_as_a_whole() -> None:
    assert differences({"a": [1, 2]}, {"a": [1]}) == ["a: [1, 2], now [1]"]
    assert differences({"a": {"b": 1}}, {"a": [1]}) == ['a: {"b": 1}, now [1]']


def test_equal_values_have_no_differences() -> None:
    assert differences(NOTE.model_dump(), NOTE.model_dump()) == []


def test_long_values_are_shown_in_short() -> None:
    (line,) = differences({"a": "x" * 500}, {"a": "y"})
    assert len(line) < 100
    assert line.startswith('a: "xxx')
    (line,) = differences({"a": list(range(500))}, {"a": [1]})
    assert line == "a: 500 values, now [1]"
    assert differences({"a": None}, {"a": {"b": 1, "c": None}}) == ["a.b: null, now 1"]
    assert differences({"a": None}, {"a": {"b": None}}) == ['a: null, now {"b": null}']


def test_facts_are_size_and_checksum_of_a_file(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "x").write_bytes(data)
    assert facts_of(tmp_path / "x") == FileFacts(
        sha256=hashlib.sha256(data).hexdigest(), bytes=len(data)
    )
