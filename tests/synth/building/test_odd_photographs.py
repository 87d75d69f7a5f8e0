"""Photographs that readers show differently, or that end the process that decodes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gloam.manifests.sets.info import REFUSED
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.problems import verify_set
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.recipes.load import load_recipe

from ...manifests.images.making import chunk_of, exif_block, png_with

CRASHING = """
import os
import signal
import sys


def crash(event, args):
    if event == "open" and str(args[0]).endswith("photo-4.jpg") and "GLOAM_SERVER" in os.environ:
        os.kill(os.getpid(), signal.SIGSEGV)


sys.addaudithook(crash)
"""
"""In `sitecustomize.py`: workers that open one of the photographs die, as of a decoder's fault."""


def request_for(folder: Path, **changes: Any) -> Request:
    source = Source(kind="folder", path=str(folder), name="photos")
    return Request(sources=(source,), recipe=load_recipe("even"), **changes)


@pytest.mark.parametrize("options", [[], ["--no-select"]])
def test_a_photograph_that_workers_die_of_is_refused_and_the_others_become_pairs(
    photographs: Path, tmp_path: Path, options: list[str]
) -> None:
    """While it is measured, or while its pair is made where nothing is measured."""
    (tmp_path / "sitecustomize.py").write_text(CRASHING)
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [
            *(sys.executable, "-m", "gloam", "build", tmp_path / "set", "--workers", "2", *options),
            *("--source", f"folder={photographs}", "--low-codec", "none"),
        ],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused = pq.read_table(tmp_path / "set" / REFUSED).to_pylist()
    (crash,) = (row for row in refused if row["path"] == "photo-4.jpg")
    assert (crash["reason"], crash["stage"]) == ("damaged", "building" if options else "selecting")
    assert "crashes" in crash["detail"]
    found = open_set(tmp_path / "set")
    assert sum(found.info.units.values()) + len(refused) == 24
    assert verify_set(found) == []


def test_deep_verification_finds_a_normal_that_a_reader_turns(
    photographs: Path, tmp_path: Path
) -> None:
    """Sets that were built before such photographs were encoded anew hold them."""
    root = tmp_path / "set"
    build_request(request_for(photographs, output=OutputOptions(layout="files")), root)
    assert recheck_set(open_set(root)) == []
    normal = next(root.glob("train/normal/*.png"))
    normal.write_bytes(png_with(normal.read_bytes(), after=chunk_of(b"eXIf", exif_block(6))))
    (problem,) = recheck_set(open_set(root))
    assert normal.stem in problem.where
    assert "OpenCV shows" in problem.what
