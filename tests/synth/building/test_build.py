"""Whole builds, in this process and in others, undisturbed and killed."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gloam.engines.engine import ignore_progress
from gloam.errors import ConfigError, SetError, SourceError
from gloam.manifests.selection.bounds import EVERYTHING, load_profile
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sets import close
from gloam.manifests.sets.info import WORK_FOLDER, read_set
from gloam.manifests.sets.pair_set import open_set
from gloam.manifests.sets.problems import verify_set
from gloam.manifests.sources import Source
from gloam.synth.building import build as build_module
from gloam.synth.building.build import build_request
from gloam.synth.building.deep_verify import recheck_set
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.recipes.load import load_recipe

from ...trees import files_of


def request_for(folder: Path, **changes) -> Request:
    values = {
        "sources": (Source(kind="folder", path=str(folder), name="folder"),),
        "profile": load_profile(),
        "plan": PlanOptions(val=3, shard_size=5, seed=4),
        "recipe": load_recipe("uneven"),
        "output": OutputOptions(low_codec="jpg"),
    }
    return Request(**(values | changes))


@pytest.fixture(scope="module")
def reference(photographs, tmp_path_factory) -> Path:
    """An undisturbed set of one worker."""
    root = tmp_path_factory.mktemp("reference") / "set"
    build_request(request_for(photographs), root, workers=1)
    return root


def test_a_set_is_complete_and_verifies(reference):
    info = read_set(reference)
    assert info.counts == {"train": 21, "val": 3, "refused": 0}
    assert verify_set(reference) == []
    assert recheck_set(open_set(reference)) == []
    assert not (reference / ".gloam").exists()
    assert not [name for name in files_of(reference) if ".tmp-" in name]


def test_every_photograph_ends_as_a_pair_or_as_a_refusal_with_its_reason(photographs, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photographs, folder)
    (folder / "empty.jpg").touch()
    (folder / "text.jpg").write_text("not a photograph")
    whole = (folder / "photo-0.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    shutil.copy(folder / "photo-1.jpg", folder / "twin.jpg")
    root = tmp_path / "set"
    report = build_request(request_for(folder), root)
    pairs = pq.read_table(root / "pairs.parquet")["path"].to_pylist()
    refused = {
        row["path"]: row["reason"] for row in pq.read_table(root / "refused.parquet").to_pylist()
    }
    assert sorted(pairs + list(refused)) == sorted(path.name for path in folder.iterdir())
    assert refused == {
        "empty.jpg": "empty",
        "text.jpg": "not an image",
        "cut.jpg": "damaged",
        "twin.jpg": "near-duplicate",
    }
    assert report.candidates == 28
    assert report.reasons["folder"].total() == 4
    assert verify_set(root) == []


def test_without_selection_nothing_is_measured_and_refusals_come_from_making_pairs(
    photographs, tmp_path
):
    folder = tmp_path / "photos"
    shutil.copytree(photographs, folder)
    (folder / "text.jpg").write_text("not a photograph")
    root = tmp_path / "set"
    build_request(request_for(folder, profile=EVERYTHING, plan=PlanOptions(shard_size=6)), root)
    refused = pq.read_table(root / "refused.parquet").to_pylist()
    assert [(row["path"], row["stage"], row["reason"]) for row in refused] == [
        ("text.jpg", "building", "not an image")
    ]
    assert read_set(root).counts == {"train": 24, "val": 0, "refused": 1}
    assert verify_set(root) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_set_of_nothing_but_refusals_is_an_error_and_leaves_nothing(
    photographs, tmp_path, workers
):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.jpg").write_text("no")
    (folder / "3.jpg").touch()
    root = tmp_path / "set"
    request = request_for(folder, profile=EVERYTHING, plan=PlanOptions(shard_size=1))
    with pytest.raises(SourceError, match=r"all 4 .* refused \(3 not an image, 1 empty\), such as"):
        build_request(request, root, workers)
    assert not root.exists()
    shutil.copy(next(photographs.iterdir()), folder / "4.jpg")
    build_request(request, root, workers)  # with shards of refusals alone
    assert read_set(root).counts == {"train": 1, "val": 0, "refused": 4}
    assert verify_set(root) == []


def test_two_workers_write_the_same_bytes(photographs, reference, tmp_path):
    build_request(request_for(photographs), tmp_path / "set", workers=2)
    assert files_of(tmp_path / "set") == files_of(reference)


class Elsewhere:
    """An engine of somebody else's: jobs travel as bytes, and the last one is done first."""

    remote = False

    def __init__(self) -> None:
        self.done: list[str] = []

    def map(self, function, jobs, at=ignore_progress):
        sent = [pickle.dumps((function, job)) for job in jobs]
        results = []
        for parcel in reversed(sent):
            there, job = pickle.loads(parcel)
            results.append(pickle.dumps(there(job)))
            self.done.append(str(function))  # or a part of one
            at(0)
        yield from map(pickle.loads, reversed(results))

    def warm(self, module: str) -> None:
        importlib.import_module(module)


def test_another_engine_writes_the_same_bytes(photographs, reference, tmp_path):
    engine = Elsewhere()
    build_request(request_for(photographs), tmp_path / "set", workers=0, engine=engine)
    assert files_of(tmp_path / "set") == files_of(reference)
    made = [name for name in engine.done if "make_unit" in name]
    assert len(made) == len(read_set(reference).units)
    assert len(set(engine.done)) == 2  # measuring too
    assert recheck_set(open_set(tmp_path / "set"), engine=engine) == []


@pytest.mark.parametrize("harm", ["none", "gone", "cut", "of another", "nonsense"])
def test_records_that_were_kept_are_those_of_the_unit(
    photographs, reference, tmp_path, monkeypatch, harm
):
    """Closing takes them where they are those of the very unit, and reads its shard otherwise."""
    taken, closed, read = [], build_module.finish_set, close.read_kept_records

    def harmed(root, *arguments, **options):
        files = sorted((root / WORK_FOLDER / "records").iterdir())
        assert len(files) == len(options["receipts"]) > 2
        if harm == "gone":
            files[1].unlink()
        elif harm == "cut":
            files[1].write_bytes(files[1].read_bytes()[:-400])
        elif harm == "of another":
            files[1].write_bytes(files[0].read_bytes())
        elif harm == "nonsense":
            files[1].write_bytes(b"nothing of the kind")
        return closed(root, *arguments, **options)

    def kept(*arguments):
        taken.append(read(*arguments))
        return taken[-1]

    monkeypatch.setattr(build_module, "finish_set", harmed)
    monkeypatch.setattr(close, "read_kept_records", kept)
    root = tmp_path / "set"
    build_request(request_for(photographs), root, workers=1)
    assert files_of(root) == files_of(reference)
    assert sum(one is None for one in taken) == (harm != "none")


def test_where_the_source_lies_does_not_matter(photographs, reference, tmp_path):
    shutil.copytree(photographs, tmp_path / "elsewhere")
    build_request(request_for(tmp_path / "elsewhere"), tmp_path / "set")
    assert files_of(tmp_path / "set") == files_of(reference)


def test_another_seed_or_recipe_changes_lows_and_keeps_normals(photographs, reference, tmp_path):
    build_request(
        request_for(photographs, recipe=load_recipe("uneven", ["camera.iso=50"])), tmp_path / "set"
    )
    before = pq.read_table(reference / "pairs.parquet")
    after = pq.read_table(tmp_path / "set" / "pairs.parquet")
    assert before["normal_sha256"] == after["normal_sha256"]
    assert before["draw_exposure_ev"] == after["draw_exposure_ev"]
    assert not set(before["low_sha256"].to_pylist()) & set(after["low_sha256"].to_pylist())


def test_files_layout_holds_the_same_pairs(photographs, reference, tmp_path):
    root = tmp_path / "set"
    build_request(
        request_for(photographs, output=OutputOptions(low_codec="jpg", layout="files")), root
    )
    assert verify_set(root) == []
    assert recheck_set(open_set(root)) == []
    same = ["key", "low_sha256", "normal_sha256"]
    shards, files = (
        pq.read_table(r / "pairs.parquet", columns=same).to_pydict() for r in (reference, root)
    )
    assert shards == files
    low = (root / "lists" / "train-low.txt").read_text().splitlines()
    normal = (root / "lists" / "train-normal.txt").read_text().splitlines()
    assert len(low) == len(normal) == 21
    for i, (a, b) in enumerate(zip(low, normal, strict=True)):
        (low_path, low_label), (normal_path, normal_label) = a.rsplit(" ", 1), b.rsplit(" ", 1)
        assert low_label == normal_label == str(i)
        assert Path(low_path).stem == Path(normal_path).stem
        assert (root / low_path).is_file()
        assert (root / normal_path).is_file()


def test_png_lows_and_smaller_normals(photographs, tmp_path):
    root = tmp_path / "set"
    build_request(request_for(photographs, output=OutputOptions(max_side=100)), root)
    table = pq.read_table(root / "pairs.parquet")
    assert set(table["low_suffix"].to_pylist()) == {"png"}
    assert max(table["width"].to_pylist() + table["height"].to_pylist()) == 100
    assert set(table["converted"].to_pylist()) == {"resized"}
    assert recheck_set(open_set(root)) == []


def test_a_finished_set_is_left_alone(photographs, reference, tmp_path):
    shutil.copytree(reference, tmp_path / "set")
    report = build_request(request_for(photographs), tmp_path / "set")
    assert report.made == 0
    assert files_of(tmp_path / "set") == files_of(reference)


@pytest.mark.parametrize("damage", ["flip", "cut", "delete", "index", "receipt"])
def test_a_damaged_shard_is_made_again(photographs, reference, tmp_path, damage):
    root = tmp_path / "set"
    shutil.copytree(reference, root)
    shard = root / "shards" / "train-000001.tar"
    data = bytearray(shard.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 8
        shard.write_bytes(data)
    elif damage == "cut":
        shard.write_bytes(data[: len(data) // 2])
    elif damage == "delete":
        shard.unlink()
    elif damage == "index":
        shard.with_suffix(".idx").write_text("v1.2 0\n")
    else:
        (root / "receipts" / "train-000001.json").unlink()
    assert verify_set(root)
    assert build_request(request_for(photographs), root).made == 1
    assert files_of(root) == files_of(reference)


def test_other_settings_are_refused_with_what_differs(photographs, reference, tmp_path):
    root = tmp_path / "set"
    shutil.copytree(reference, root)
    with pytest.raises(SetError, match=r"plan\.seed: 4, now 5"):
        build_request(request_for(photographs, plan=PlanOptions(val=3, shard_size=5, seed=5)), root)
    with pytest.raises(SetError, match=r"recipe\.camera\.iso"):
        build_request(
            request_for(photographs, recipe=load_recipe("uneven", ["camera.iso=800"])), root
        )
    assert files_of(root) == files_of(reference)


def test_a_folder_of_something_else_is_refused_and_left_alone(photographs, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SetError, match="not a gloam set"):
        build_request(request_for(photographs), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_lows_of_another_model_are_not_called_damaged(reference):
    pairs = open_set(reference)
    note = pairs.info.build.model_copy(
        update={"versions": pairs.info.build.versions | {"model": "1"}}
    )
    pairs.info = pairs.info.model_copy(update={"build": note})
    with pytest.raises(SetError, match="made by model 1"):
        recheck_set(pairs)


def test_too_few_suitable_photographs_is_an_error_before_anything_is_made(photographs, tmp_path):
    with pytest.raises(ConfigError, match="only 24 candidates are suitable"):
        build_request(request_for(photographs, plan=PlanOptions(pairs=100)), tmp_path / "set")
    assert not (tmp_path / "set" / "shards").exists()


def test_a_source_that_changed_since_the_plan_stops_the_build_and_loses_nothing(
    photographs, reference, tmp_path
):
    folder, root = tmp_path / "photos", tmp_path / "set"
    shutil.copytree(photographs, folder)
    shutil.copytree(reference, root)
    (root / "shards" / "train-000000.tar").unlink()
    lost = json.loads((root / "receipts" / "train-000000.json").read_text())
    assert lost["pairs"] == 5
    planned = pq.read_table(root / "plan.parquet").to_pylist()
    gone = next(row["path"] for row in planned if row["split"] == "train" and row["shard"] == 0)
    (folder / gone).unlink()
    with pytest.raises(SourceError, match="is gone since the set was planned"):
        build_request(request_for(folder), root)
    shutil.copy(photographs / gone, folder / gone)
    build_request(request_for(folder), root)
    assert files_of(root) == files_of(reference)


def command(folder: Path, root: Path, workers: int) -> list[str]:
    gloam = [sys.executable, "-c", "from gloam.cli.main import gloam; gloam()"]
    options = [
        "--source",
        f"folder={folder}",
        "--recipe",
        "uneven",
        "--val",
        "3",
        "--shard-size",
        "5",
        "--seed",
        "4",
        "--low-codec",
        "jpeg",
    ]
    return [*gloam, "build", str(root), *options, "--workers", str(workers)]


@contextmanager
def heeding_ctrl_c():
    """For processes started within the block: a shell that starts tests in the background has them
    ignore Ctrl-C, and so does gloam then.

    Not by `preexec_fn`, which forks: Linux refuses to fork a process with a mapping larger than
    the memory, and DALI's readers, tested in this one before, leave a heap that is (some 25 GB
    reserved, hardly any used).
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _files(root: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(root))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_build_killed_at_several_moments_ends_in_the_same_bytes(
    photographs, reference, tmp_path, workers
):
    root = tmp_path / "set"
    moments = random.Random(workers)
    kills = 0
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)[-2 * workers :]:
        enough = _files(root) + moments.randint(1, len(files_of(reference)) // 2)
        with heeding_ctrl_c():
            process = subprocess.Popen(
                command(photographs, root, workers),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        while process.poll() is None and _files(root) < enough:
            time.sleep(0.01)
        if process.poll() is None:
            kills += 1
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
                # 128 + number once the command runs; before that Python (or Click, with 1) itself
                # ends by the signal.
                assert process.wait() in (128 + number, -number, 1, 0)
            process.wait()
        else:
            shutil.rmtree(root)
    assert kills
    subprocess.run(command(photographs, root, workers), check=True, stdout=subprocess.DEVNULL)
    assert files_of(root) == files_of(reference)


@pytest.mark.slow
def test_a_lost_worker_stops_the_build_with_the_way_out(photographs, reference, tmp_path):
    root = tmp_path / "set"
    process = subprocess.Popen(
        command(photographs, root, 2), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    killed = False
    deadline = time.monotonic() + 300
    while process.poll() is None and not killed and time.monotonic() < deadline:
        workers = [worker for child in _children(process.pid) for worker in _children(child)]
        if workers:
            os.kill(int(workers[0]), signal.SIGKILL)
            killed = True
    _, errors = process.communicate(timeout=300)
    assert killed
    assert process.returncode == 1
    assert "a worker process died" in errors
    assert "Traceback" not in errors
    subprocess.run(command(photographs, root, 2), check=True, stdout=subprocess.DEVNULL)
    assert files_of(root) == files_of(reference)


@pytest.mark.parametrize("wait", [0, 0.3, 0.9])
def test_ctrl_c_prints_one_line_however_early(photographs, tmp_path, wait):
    """A terminal sends it to every process; here while imports run, the server starts, and workers
    start."""
    with heeding_ctrl_c():
        process = subprocess.Popen(
            command(photographs, tmp_path / "set", 2),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    deadline = time.monotonic() + 300
    while (
        len(_children(process.pid)) < 2 and process.poll() is None and time.monotonic() < deadline
    ):
        time.sleep(0.001)  # until the server that workers come from is there
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=300)
    if wait == 0 or "complete;" not in out:  # on a busy machine it may be done by then
        assert (errors, process.returncode) == (
            "gloam: stopped; run the same command again to continue\n",
            128 + signal.SIGINT,
        )


def test_no_worker_outlives_a_killed_parent(photographs, tmp_path):
    process = subprocess.Popen(
        command(photographs, tmp_path / "set", 2),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children: list[str] = []
    deadline = time.monotonic() + 300
    # What it starts: the server that workers are forked from, two workers, and what cleans up after
    # semaphores.
    while len(children) < 4 and process.poll() is None and time.monotonic() < deadline:
        own = _children(process.pid)
        children = own + [worker for child in own for worker in _children(child)]
    assert len(children) >= 4
    process.kill()
    process.wait()
    for _ in range(200):
        alive = [
            child for child in children if Path(f"/proc/{child}").exists() and _state(child) != "Z"
        ]
        if not alive:
            return
        time.sleep(0.1)
    pytest.fail(f"still running: {alive}")


def _children(pid: int | str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_real_photographs_as_two_sources(real_photos, tmp_path):
    sources = (
        Source(kind="imagenet", path=str(real_photos / "imagenet"), name="imagenet"),
        Source(kind="folder", path=str(real_photos / "bsds"), name="folder"),
    )
    request = Request(
        sources=sources,
        profile=load_profile(),
        recipe=load_recipe("even"),
        plan=PlanOptions(val=10),
    )
    report = build_request(request, tmp_path / "set")
    paths = {
        p
        for kind in ("pairs", "refused")
        for p in pq.read_table(tmp_path / "set" / f"{kind}.parquet")["path"].to_pylist()
    }
    assert len(paths) == report.candidates == 200
    assert verify_set(tmp_path / "set") == []


@pytest.mark.slow
def test_tasks_build_disjoint_shards_of_one_set(photographs, tmp_path):
    """Three tasks at once, one of them killed and started again, then closed: the bytes of a build
    in one go."""
    common = [
        "--source",
        f"folder={photographs}",
        "--val",
        "3",
        "--shard-size",
        "4",
        "--no-select",
        "--workers",
        "1",
    ]
    gloam = [sys.executable, "-c", "from gloam.cli.main import gloam; gloam()"]
    whole = [*gloam, "build", str(tmp_path / "whole"), *common]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    command = [*gloam, "build", str(tmp_path / "set"), *common]
    tasks = [
        subprocess.Popen(
            [*command, "--task-index", str(i), "--task-count", "3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i in range(3)
    ]
    time.sleep(1.5)
    tasks[1].kill()
    said = [task.communicate(timeout=300) for task in tasks]
    assert [task.returncode for task in tasks] in ([0, -9, 0], [0, 0, 0]), said
    again = subprocess.run(
        [*command, "--task-index", "1", "--task-count", "3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "all are there" in again.stdout
    assert not (tmp_path / "set" / "set.json").exists()
    closed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "complete" in closed.stdout
    assert files_of(tmp_path / "set") == files_of(tmp_path / "whole")


@pytest.mark.parametrize(
    "name", ["set.json", "plan.parquet", "candidates.parquet", "recipe.yaml", "pairs.parquet"]
)
def test_a_damaged_record_of_a_set_is_made_again(photographs, tmp_path, name):
    request = request_for(photographs)
    build_request(request, tmp_path / "set")
    whole = files_of(tmp_path / "set")
    data = whole[name]
    (tmp_path / "set" / name).write_bytes(
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    )
    build_request(request, tmp_path / "set")
    assert files_of(tmp_path / "set") == whole
    (tmp_path / "set" / "set.json").write_bytes(b"{}")
    with pytest.raises(SetError, match="not those it was built with"):
        build_request(
            request_for(photographs, plan=PlanOptions(val=3, shard_size=5, seed=99)),
            tmp_path / "set",
        )
    build_request(request, tmp_path / "set")
    assert files_of(tmp_path / "set") == whole
