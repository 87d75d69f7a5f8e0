"""Faults of a unit, and their kinds. Whole sets: tests/cli/test_verify.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gloam.manifests.recorded_request import OutputOptions, RecordedRequest
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sets.close import publish_unit
from gloam.manifests.sets.info import BuildNote
from gloam.manifests.sets.layouts import LAYOUTS
from gloam.manifests.sets.layouts.shard_index import read_index
from gloam.manifests.sets.layouts.shard_tar import index_path, shard_path
from gloam.manifests.sets.problems import Kind, Problem, check_unit
from gloam.manifests.sets.receipts import receipt_path
from gloam.manifests.sets.sample import Sample
from gloam.manifests.sets.units import Unit
from gloam.manifests.sets.workspace import missing_units

UNIT = "train-000000"
NOTE = BuildNote(
    request=RecordedRequest(
        sources=(), profile=EVERYTHING, plan=PlanOptions(), recipe={}, output=OutputOptions()
    ),
    versions={},
    plan_sha256="",
)


@pytest.fixture(params=list(LAYOUTS))
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def kinds(root: Path, layout: str, checksums: bool = True) -> list[tuple[str, Kind]]:
    return [
        (found.where, found.kind) for found in check_unit(Unit(root, layout, UNIT), checksums)[1]
    ]


def test_nothing_is_wrong_with_what_was_published(
    tmp_path: Path, layout: str, rich: list[Sample]
) -> None:
    publish_unit(tmp_path, layout, UNIT, NOTE.fingerprint, rich)
    assert kinds(tmp_path, layout) == kinds(tmp_path, layout, checksums=False) == []
    assert missing_units(tmp_path, layout, [UNIT], NOTE) == []


def test_every_sort_of_damage_has_its_kind(
    tmp_path: Path, layout: str, pairs: list[Sample]
) -> None:
    receipt = publish_unit(tmp_path, layout, UNIT, NOTE.fingerprint, pairs)
    name = receipt.files[0 if layout == "shards" else 1].path
    path = tmp_path / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert kinds(tmp_path, layout) == [(name, Kind.CHANGED)]
    assert kinds(tmp_path, layout, checksums=False) == []
    path.write_bytes(whole[:-1])
    assert kinds(tmp_path, layout, checksums=False) == [(name, Kind.SIZE)]
    path.unlink()
    assert kinds(tmp_path, layout) == [(name, Kind.MISSING)]
    assert missing_units(tmp_path, layout, [UNIT], NOTE) == [UNIT]
    path.write_bytes(whole)
    receipt_path(tmp_path, UNIT).write_bytes(b"{}")
    assert kinds(tmp_path, layout) == [(f"receipts/{UNIT}.json", Kind.RECEIPT)]


def test_the_damaged_member_of_a_shard_is_named(tmp_path: Path, rich: list[Sample]) -> None:
    publish_unit(tmp_path, "shards", UNIT, NOTE.fingerprint, rich)
    path = shard_path(tmp_path, UNIT)
    data = bytearray(path.read_bytes())
    for sample, member in ((0, 5), (2, 3)):
        data[read_index(index_path(tmp_path, UNIT))[sample][member].offset] ^= 1
    path.write_bytes(data)
    tar = f"shards/{UNIT}.tar"
    assert [str(problem) for problem in check_unit(Unit(tmp_path, "shards", UNIT), True)[1]] == [
        f"{tar}: {name}: is damaged (its SHA-256 differs from its record's)"
        for name in (f"{rich[0].key}.cls", f"{rich[2].key}.boxes.npy")
    ]
    assert {kind for _, kind in kinds(tmp_path, "shards")} == {Kind.CHANGED}


@pytest.mark.parametrize(("version", "word"), [(1, "an older"), (99, "a newer")])
def test_a_receipt_of_another_format_is_a_problem_of_one_line(
    tmp_path: Path, layout: str, version: int, word: str
) -> None:
    """Which names the receipt once."""
    path = receipt_path(tmp_path, UNIT)
    path.parent.mkdir()
    path.write_text(json.dumps({"format": version}))
    (problem,) = check_unit(Unit(tmp_path, layout, UNIT), True)[1]
    assert problem.kind is Kind.RECEIPT
    assert problem.where == f"receipts/{UNIT}.json"
    assert problem.what.startswith(f"written by {word} gloam (format {version}")


def test_a_problem_is_a_line(tmp_path: Path) -> None:
    assert str(Problem("a.tar", "is gone")) == "a.tar: is gone"
    assert str(Problem("a.tar", "is gone", "build it", Kind.MISSING)) == "a.tar: is gone; build it"
