"""Tasks of a Ray cluster: the bytes of a local build, whoever dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gloam
from gloam.engines.engine import check_paths
from gloam.engines.local import LocalEngine, count
from gloam.engines.ray import RayEngine
from gloam.errors import ConfigError, WorkerLost
from gloam.manifests.sets.problems import verify_set
from gloam.storage.stores import as_path
from gloam.synth.building.deep_verify import recheck_set

from ...trees import files_of

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    # Ray's own: files and sockets that it leaves to the end of the process, and old names.
    pytest.mark.filterwarnings("ignore"),
]
_OPTIONS: dict[str, Any] = {"val": 4, "shard_size": 4, "select": False, "recipe": "even"}
_SMALL = 80 * 2**20  # bytes of a node's object store


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each, on this machine."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Else Ray kills tasks where the machine's memory is full, whoever fills it.
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": _SMALL}
    )
    made.add_node(num_cpus=1, object_store_memory=_SMALL)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[Any]:
    """An engine on it."""
    import ray

    yield RayEngine(cluster.address)
    ray.shutdown()


@pytest.fixture(scope="module")
def local(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("local") / "set"
    gloam.build(root, f"folder={photographs}", **_OPTIONS)
    return files_of(root)


def squared(number: int) -> int:
    count(2)
    return number**2


def refused(number: int) -> int:
    raise ConfigError(f"number {number}", key="number")


def dies_at_first(folder: Path, number: int) -> int:
    mark = folder / f"{number}"
    if number % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def always_dies(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def waits(folder: Path, number: int) -> int:
    if number:
        (folder / f"{os.getpid()}").touch()
        time.sleep(600)
    return number


@pytest.mark.slow
def test_results_come_in_order_and_are_counted(engine):
    seen: list[int] = []
    assert list(engine.map(squared, range(40), seen.append)) == [n**2 for n in range(40)]
    assert seen[-1] == 80


def test_jobs_are_taken_only_as_fast_as_they_are_done(engine):
    taken: list[int] = []

    def jobs() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    results = engine.map(squared, jobs())
    next(results)
    assert len(taken) < 100
    results.close()


def test_an_error_of_a_job_is_raised_as_it_is(engine):
    with pytest.raises(ConfigError, match="number 3") as raised:
        list(engine.map(refused, [3]))
    assert raised.value.key == "number"


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(engine, tmp_path):
    assert list(engine.map(partial(dies_at_first, tmp_path), range(9))) == list(range(9))


@pytest.mark.slow
def test_a_job_that_kills_every_worker_is_one_line(engine):
    with pytest.raises(WorkerLost, match="run the same command again"):
        list(engine.map(always_dies, [1]))


def test_closing_ends_what_runs_and_leaves_the_cluster(engine, tmp_path):
    results = engine.map(partial(waits, tmp_path), range(10))
    assert next(results) == 0
    while not list(tmp_path.iterdir()):
        time.sleep(0.1)
    results.close()
    pids = [int(path.name) for path in tmp_path.iterdir()]
    while any(_alive(pid) for pid in pids):
        time.sleep(0.1)
    assert list(engine.map(squared, [5])) == [25]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_set_that_a_cluster_builds_is_the_local_one(engine, photographs, tmp_path, local):
    seen: list[int] = []
    gloam.build(tmp_path / "set", f"folder={photographs}", engine=engine, **_OPTIONS)
    assert files_of(tmp_path / "set") == local
    assert not verify_set(tmp_path / "set", engine=engine, at=seen.append)
    assert not recheck_set(gloam.open_set(tmp_path / "set"), engine=engine)
    gloam.regenerate(tmp_path / "set", tmp_path / "one", seed=3, engine=engine)
    gloam.regenerate(tmp_path / "set", tmp_path / "other", seed=3)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")


def test_measuring_is_the_clusters_work_too(engine, photographs, tmp_path):
    options = {**_OPTIONS, "select": True, "pairs": 12}
    gloam.build(tmp_path / "far", f"folder={photographs}", engine=engine, **options)
    gloam.build(tmp_path / "near", f"folder={photographs}", **options)
    assert files_of(tmp_path / "far") == files_of(tmp_path / "near")


def test_a_cluster_builds_into_a_store(engine, cluster, photographs, bucket, local):
    # Nodes that were begun before the test have none of its variables.
    variables = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    root = f"{bucket}/set"
    far = _WithVariables(engine, variables)
    gloam.build(root, f"folder={photographs}", engine=far, **_OPTIONS)
    assert files_of(as_path(root)) == local


class _WithVariables:
    """An engine whose jobs begin with variables of the environment."""

    remote = True

    def __init__(self, engine: Any, variables: dict[str, str]) -> None:
        self._engine, self._variables = engine, variables

    def map(self, function: Any, jobs: Any, *at: Any) -> Any:
        return self._engine.map(partial(_with, self._variables, function), jobs, *at)

    def warm(self, module: str) -> None:
        pass


def _with(variables: dict[str, str], function: Any, job: Any) -> Any:
    os.environ.update(variables)
    return function(job)


def command(photographs: Path, root: Path, address: str, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "gloam", "build", str(root), "--recipe", "even", "--no-select"),
            *("--val", "4", "--shard-size", "4", "--source", f"folder={photographs}"),
            *("--engine", f"ray:{address}", *more),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _workers() -> list[int]:
    """The processes of Ray's workers that are at a task."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if words.startswith(b"ray::_run"):
                found.append(int(folder.name))
    return found


@pytest.mark.slow
def test_nodes_workers_and_the_driver_may_die(cluster, photographs, tmp_path, local):
    third = cluster.add_node(num_cpus=1, object_store_memory=_SMALL)
    root = tmp_path / "set"
    process = command(photographs, root, cluster.address)
    while not list((root / "receipts").glob("*.json")) and process.poll() is None:
        time.sleep(0.05)
    process.kill()  # the driver
    process.communicate()

    process = command(photographs, root, cluster.address)
    for _ in range(2):
        while not (found := _workers()) and process.poll() is None:
            time.sleep(0.02)
        for pid in found[:1]:
            os.kill(pid, signal.SIGKILL)
    cluster.remove_node(third, allow_graceful=False)
    said, _ = process.communicate()
    assert process.returncode == 0, said.decode()
    assert files_of(root) == local


@pytest.mark.slow
def test_ctrl_c_is_a_line_and_leaves_the_cluster(cluster, engine, photographs, tmp_path, local):
    process = command(photographs, tmp_path / "set", cluster.address)
    while not list((tmp_path / "set" / "receipts").glob("*.json")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    if process.returncode:  # it may have been done already
        assert said.decode().splitlines()[-1].startswith("gloam: stopped"), said.decode()
    assert list(engine.map(squared, [3])) == [9]
    gloam.build(tmp_path / "set", f"folder={photographs}", **_OPTIONS)
    assert files_of(tmp_path / "set") == local


def test_relative_paths_are_refused_with_the_reason(engine):
    with pytest.raises(ConfigError, match="workers run in another one: give the whole path"):
        gloam.build("set", "folder=/photos", engine=engine)
    with pytest.raises(ConfigError, match="photos: is relative"):
        gloam.build("/set", "folder=photos", engine=engine)
    check_paths(engine, as_path("s3://bucket/set"), Path("/set"), None, "")
    check_paths(LocalEngine(), "set")
