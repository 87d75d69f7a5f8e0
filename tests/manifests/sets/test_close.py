"""A unit is published whole, its receipt last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gloam.manifests.sets.close import publish_unit
from gloam.manifests.sets.layouts import LAYOUTS, layout_named
from gloam.manifests.sets.receipts import RefusedPair, is_done, read_receipt
from gloam.manifests.sets.sample import Sample

UNIT, PRINT = "train-000000", "5ac1" * 16
REFUSED = RefusedPair(key="voc-x", source="voc", path="x.jpg", reason="damaged", detail="cut")


@pytest.fixture(params=list(LAYOUTS))
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_unit_is_done_when_it_is_published(
    tmp_path: Path, layout: str, pairs: list[Sample]
) -> None:
    receipt = publish_unit(tmp_path, layout, UNIT, PRINT, pairs, [REFUSED])
    assert is_done(tmp_path, UNIT, PRINT)
    assert read_receipt(tmp_path, UNIT) == receipt.sealed()
    assert (receipt.unit, receipt.fingerprint, receipt.pairs) == (UNIT, PRINT, len(pairs))
    assert receipt.refused == [REFUSED]
    assert list(layout_named(layout).samples(tmp_path, receipt)) == pairs


def test_refusals_are_looked_at_after_the_samples(
    tmp_path: Path, layout: str, pairs: list[Sample]
) -> None:
    refused: list[RefusedPair] = []

    def samples() -> Iterator[Sample]:
        yield pairs[0]
        refused.append(REFUSED)

    assert publish_unit(tmp_path, layout, UNIT, PRINT, samples(), refused).refused == [REFUSED]


def test_a_unit_without_samples_is_a_receipt_alone(tmp_path: Path, layout: str) -> None:
    receipt = publish_unit(tmp_path, layout, UNIT, PRINT, [], [REFUSED])
    assert (receipt.pairs, receipt.files) == (0, [])
    assert is_done(tmp_path, UNIT, PRINT)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{UNIT}.json"]


def test_what_stops_in_the_middle_is_not_done(
    tmp_path: Path, layout: str, pairs: list[Sample]
) -> None:
    """Nor is anything of it known as a unit."""

    def samples() -> Iterator[Sample]:
        yield pairs[0]
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        publish_unit(tmp_path, layout, UNIT, PRINT, samples())
    assert not is_done(tmp_path, UNIT, PRINT)
    assert not (tmp_path / "receipts").exists()
    assert not list(tmp_path.rglob("*.tar*"))
    publish_unit(tmp_path, layout, UNIT, PRINT, pairs)
    assert is_done(tmp_path, UNIT, PRINT)
