"""Sets in an object store have the bytes of local ones, whatever happens while they are made."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

import gloam
from gloam.errors import SetError
from gloam.manifests.sets.stage import stage
from gloam.storage import store_requests
from gloam.storage.locks import exclusive
from gloam.storage.stores import as_path
from gloam.synth.building.deep_verify import recheck_set

from ...trees import files_of

_OPTIONS = {"val": 4, "shard_size": 4, "select": False, "recipe": "even"}
_COMMAND = ["--val", "4", "--shard-size", "4", "--no-select", "--recipe", "even"]


@pytest.fixture(scope="module")
def local(photographs, tmp_path_factory) -> dict[str, bytes]:
    """The files of a set that was built in a folder."""
    root = tmp_path_factory.mktemp("local") / "set"
    gloam.build(root, f"folder={photographs}", **_OPTIONS)
    return files_of(root)


def command(photographs, address: str, workers: int = 2) -> subprocess.Popen[bytes]:
    """A build by the command line, in a process group of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "gloam", "build", address, *_COMMAND),
            *("--source", f"folder={photographs}", "--workers", str(workers)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def check_receipts(root: Path) -> int:
    """Each receipt that there is has its files, of their sizes; returns how many there are."""
    receipts = list((root / "receipts").glob("*.json"))
    for receipt in receipts:
        for file in json.loads(receipt.read_bytes())["files"]:
            assert (root / file["path"]).stat().st_size == file["bytes"], receipt
    return len(receipts)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["shards", "files"])
def test_a_set_in_a_store_is_the_local_one(photographs, bucket, tmp_path, layout):
    options = {**_OPTIONS, "layout": layout}
    gloam.build(tmp_path / "set", f"folder={photographs}", **options)
    gloam.build(f"{bucket}/set", f"folder={photographs}", workers=2, **options)
    wanted = files_of(tmp_path / "set")
    assert files_of(as_path(f"{bucket}/set")) == wanted
    assert not gloam.verify(f"{bucket}/set")
    assert not recheck_set(gloam.open_set(f"{bucket}/set"))
    stage(f"{bucket}/set", tmp_path / "staged")
    assert files_of(tmp_path / "staged") == wanted
    again = gloam.build(f"{bucket}/set", f"folder={photographs}", **options)
    assert again.made == 0

    gloam.regenerate(tmp_path / "set", tmp_path / "other", seed=5)
    gloam.regenerate(f"{bucket}/set", f"{bucket}/other", seed=5)
    assert files_of(as_path(f"{bucket}/other")) == files_of(tmp_path / "other")
    gloam.export(tmp_path / "set", tmp_path / "exported", layout="files")
    gloam.export(f"{bucket}/set", f"{bucket}/exported", layout="files")
    assert files_of(as_path(f"{bucket}/exported")) == files_of(tmp_path / "exported")


def test_photographs_of_an_archive_in_a_store(photographs, bucket, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for path in sorted(photographs.iterdir()):
            archive.add(path, path.name)
    with open(tmp_path / "a.tar", "rb") as file:
        (as_path(bucket) / "a.tar").put(file)
    gloam.build(tmp_path / "set", f"archive={tmp_path / 'a.tar'}", **_OPTIONS)
    gloam.build(f"{bucket}/set", f"archive={bucket}/a.tar", workers=2, **_OPTIONS)
    assert files_of(as_path(f"{bucket}/set")) == files_of(tmp_path / "set")


@pytest.mark.slow
def test_eight_kills_end_in_the_same_bytes(photographs, bucket, local):
    root, draws = as_path(f"{bucket}/set"), random.Random(0)
    killed = 0
    while killed < 8:
        process = command(photographs, str(root))
        # From before the plan to after the end: whatever it is in the middle of.
        time.sleep(draws.uniform(0.5, 4.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        killed += 1
        check_receipts(root)
    process = command(photographs, str(root))
    said, _ = process.communicate()
    assert process.returncode == 0, said.decode()
    assert files_of(root) == local


@pytest.mark.slow
def test_twenty_errors_of_the_network_end_in_the_same_bytes(
    photographs, through, bucket, local, monkeypatch
):
    monkeypatch.setenv(store_requests.PATIENCE, "12")  # a stall is one of three seconds
    kinds = (*("500", "reset", "truncate") * 4, "stall")
    through.fails = lambda number, method, path: (
        kinds[number // 9 % len(kinds)] if number % 9 == 0 and number < 9 * 28 else ""
    )
    gloam.build(f"{bucket}/set", f"folder={photographs}", workers=2, **_OPTIONS)
    problems = gloam.verify(f"{bucket}/set")
    through.fails = lambda number, method, path: ""
    assert through.failed >= 20
    assert not problems
    assert files_of(as_path(f"{bucket}/set")) == local


@pytest.mark.slow
def test_of_two_builders_one_stops_or_both_end_in_the_same_bytes(photographs, bucket, local):
    root = as_path(f"{bucket}/set")
    processes = [command(photographs, str(root), 1) for _ in range(2)]
    said = [process.communicate()[0].decode() for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes[0] == 0, said
    if codes[1]:
        assert any("is working on it" in text for text in said), said
    assert files_of(root) == local


def test_a_lease_of_a_dead_builder_ends(photographs, bucket, local, monkeypatch):
    from gloam.storage import locks

    held = as_path(f"{bucket}/set/.gloam/lock.held")
    held.put(b"process 1 on another-host\n0")
    with pytest.raises(SetError, match="process 1 on another-host is working on it"):
        gloam.build(f"{bucket}/set", f"folder={photographs}", **_OPTIONS)
    monkeypatch.setattr(locks, "_LEASE", -1.0)  # as if that time had gone by
    gloam.build(f"{bucket}/set", f"folder={photographs}", **_OPTIONS)
    assert files_of(as_path(f"{bucket}/set")) == local


def test_a_lease_that_another_builder_took_over_is_left_to_it(bucket):
    held, other = as_path(f"{bucket}/set/.gloam/lock.held"), b"process 1 on another-host\n0"
    with exclusive(as_path(f"{bucket}/set/.gloam/lock")):
        held.put(other)
    assert held.read_bytes() == other


def test_verify_finds_what_is_damaged(photographs, bucket, local):
    root = as_path(f"{bucket}/set")
    gloam.build(str(root), f"folder={photographs}", **_OPTIONS)
    names = sorted(name for name in local if name.startswith("shards/train") and name[-1] == "r")
    flipped = bytearray(local[names[0]])
    flipped[len(flipped) // 2] ^= 1
    (root / names[0]).put(bytes(flipped))
    (root / names[1]).put(local[names[1]][:-100])
    (root / names[2]).unlink()
    found = {problem.where.partition(":")[0]: problem.kind for problem in gloam.verify(str(root))}
    assert [found[name] for name in names[:3]] == ["changed", "size", "missing"]
    gloam.build(str(root), f"folder={photographs}", **_OPTIONS)  # mends it
    assert files_of(root) == local


@pytest.mark.slow
def test_the_command_says_what_is_wrong_in_a_line(photographs, bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv(store_requests.PATIENCE, "1")
    process = command(photographs, f"{bucket}/set")
    said, _ = process.communicate()
    assert process.returncode == 1
    assert said.decode().count("\n") == 1, said
    assert "the store fails, tried for" in said.decode()
