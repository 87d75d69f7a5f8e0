"""Photographs that readers show differently, or that end the process that decodes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gloam.engines.engine import ignored
from gloam.engines.local import LocalEngine
from gloam.manifests.selection.bounds import EVERYTHING, load_profile
from gloam.manifests.sets.info import REFUSED
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.verify import verify_set
from gloam.manifests.sources import Source
from gloam.synth.building.build import build
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.recipes.load import load_recipe

from ...manifests.images.making import chunk_of, exif_block, png_with


class Dying(LocalEngine):
    """This process, as an engine whose workers died of the third photograph of each job."""

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Iterable[Any],
        at: Callable[[int], Any] = ignored,
    ) -> Iterator[Any]:
        for job in jobs:
            job.check(2)
            yield from super().map(function, [job.without(2)], at)


def request_for(folder: Path, **changes: Any) -> Request:
    source = Source(kind="folder", path=str(folder), name="photos")
    return Request(sources=(source,), recipe=load_recipe("even"), **changes)


@pytest.mark.parametrize("profile", [EVERYTHING, load_profile()])
def test_a_photograph_that_workers_die_of_is_refused_and_the_others_become_pairs(
    photographs: Path, tmp_path: Path, profile: Any
) -> None:
    """Of the jobs of measuring, or of making pairs where nothing is measured."""
    whole = build(request_for(photographs, profile=profile), tmp_path / "whole").info.counts[
        "train"
    ]
    engine = Dying()
    request = request_for(photographs, profile=profile)
    report = build(request, tmp_path / "set", engine=engine)
    refused = pq.read_table(tmp_path / "set" / REFUSED).to_pylist()
    crashes = [row for row in refused if "crashes" in row["detail"]]
    assert {row["reason"] for row in crashes} == {"damaged"}
    assert 1 <= len(crashes) <= 2
    assert whole - 2 <= report.info.counts["train"] < whole
    assert verify_set(open_set(tmp_path / "set")) == []


def test_deep_verification_finds_a_normal_that_a_reader_turns(
    photographs: Path, tmp_path: Path
) -> None:
    """As sets hold them that were built before such photographs were encoded anew."""
    root = tmp_path / "set"
    build(request_for(photographs, output=OutputOptions(layout="files")), root)
    assert recheck_set(open_set(root)) == []
    normal = next(root.glob("train/normal/*.png"))
    normal.write_bytes(png_with(normal.read_bytes(), after=chunk_of(b"eXIf", exif_block(6))))
    (problem,) = recheck_set(open_set(root))
    assert normal.stem in problem.where
    assert "OpenCV shows" in problem.what
