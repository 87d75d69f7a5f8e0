"""Worker processes: real ones, and killed where that is the point."""

from __future__ import annotations

import fcntl
import importlib
import math
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType

import pytest

from gloam.engines.local import LocalEngine, _await_result, count, local_engine
from gloam.errors import ConfigError, ImageRefused, WorkerLost
from gloam.manifests.images.header import read_header

PATIENCE_S = 300  # for what should come at once; a test fails after it, and measures nothing

TASKS = '''
"""Functions that workers can import."""

import fcntl
import os
import signal
import time
from dataclasses import dataclass, replace

from gloam.engines.local import begin_part, count


def process_of(task):
    return os.getpid()


def slow_if_even(task):
    time.sleep(0.15 if task % 2 == 0 else 0)
    return task


def counting(task):
    for _ in range(task):
        count()
    count(10)
    return task


def time_out(task):
    raise TimeoutError(f"of task {task}")


def hold_and_sleep(path):
    """Hold a lock for as long as this process lives."""
    with open(path, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        handle.write("held")
        handle.flush()
        time.sleep(600)


def hold_unless_empty(path):
    return hold_and_sleep(path) if path else path


@dataclass(frozen=True)
class Parts:
    """Twenty parts, of which some end the process by a signal."""

    deadly: tuple
    signal: int
    refused: frozenset = frozenset()

    def check(self, part):
        if part in self.deadly:
            signal.raise_signal(self.signal)

    def without(self, part):
        return replace(self, refused=self.refused | {part})


def work(job):
    for part in range(20):
        begin_part(part)
        if part not in job.refused:
            job.check(part)
        count()
    return sorted(job.refused)


def die_once(job):
    """Die by what no part alone dies of."""
    begin_part(0)
    os.kill(os.getpid(), signal.SIGKILL)
'''


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """`TASKS` as a module, on the path that workers inherit."""
    name = "tasks_of_worker_tests"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{name}.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    yield importlib.import_module(name)
    del sys.modules[name]


def patiently(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def is_held(path: Path) -> bool:
    """Whether a living process is inside `hold_and_sleep` with this file."""
    if not path.exists():
        return False
    with open(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs(tasks: ModuleType, workers: int) -> None:
    assert list(LocalEngine(workers).map(tasks.slow_if_even, range(9))) == list(range(9))


@pytest.mark.parametrize("workers", [1, 2])
def test_no_jobs_give_no_results(workers: int) -> None:
    assert list(LocalEngine(workers).map(operator.neg, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_is_done_whatever_its_value(workers: int) -> None:
    tasks = [0, None, "", (), False, 3]
    results = LocalEngine(workers).map(operator.not_, tasks)
    assert list(results) == [True, True, True, True, True, False]


def test_one_worker_is_this_process_and_takes_any_function() -> None:
    seen: list[int] = []

    def local(task: int) -> int:
        seen.append(task)
        return os.getpid()

    assert set(LocalEngine(1).map(local, range(4))) == {os.getpid()}
    assert seen == [0, 1, 2, 3]


def test_several_workers_are_other_processes(tasks: ModuleType) -> None:
    found = set(LocalEngine(2).map(tasks.process_of, range(30)))
    assert os.getpid() not in found
    assert 1 <= len(found) <= 2
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("workers", "ahead"), [(1, 1), (2, 4)])
def test_jobs_are_taken_only_as_fast_as_they_are_worked_on(workers: int, ahead: int) -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for task in range(1000):
            taken.append(task)
            yield task

    results = LocalEngine(workers).map(operator.neg, source())
    assert taken == []
    for done in range(20):
        assert next(results) == -done
        assert len(taken) == done + ahead
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_is_raised_where_its_result_is_taken(workers: int) -> None:
    results = LocalEngine(workers).map(math.sqrt, [4, 9, -1, 16])
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ValueError, match="math domain error"):
        next(results)
    patiently(lambda: not multiprocessing.active_children())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refusal_keeps_its_reason_and_detail_on_its_way(workers: int) -> None:
    with pytest.raises(ImageRefused) as refused:
        list(LocalEngine(workers).map(read_header, [b"text"]))
    assert (refused.value.reason, refused.value.detail) == (
        "not an image",
        "no JPEG, PNG, TIFF, BMP, WebP, AVIF or HEIC header",
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_time_out_of_a_job_is_an_exception_like_any_other(
    tasks: ModuleType, workers: int
) -> None:
    with pytest.raises(TimeoutError, match="of task 7"):
        list(LocalEngine(workers).map(tasks.time_out, [7]))


def test_a_result_that_arrives_just_after_a_wait_has_run_out_is_taken() -> None:
    """Else a build ends with a TimeoutError of nobody's, once in a great while."""
    late: Future[int] = Future()
    told: list[bool] = []

    def tell() -> None:
        told.append(late.done())
        if len(told) == 1:
            late.set_result(5)

    assert _await_result(late, tell) == 5
    assert told == [False, True]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_of_the_jobs_iterable_is_passed_on(workers: int) -> None:
    def source() -> Iterable[int]:
        yield from range(3)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        list(LocalEngine(workers).map(operator.neg, source()))
    patiently(lambda: not multiprocessing.active_children())


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_dies_raises_worker_lost(deadly: int) -> None:
    with pytest.raises(WorkerLost, match="run the same command again to continue"):
        list(LocalEngine(2).map(signal.raise_signal, [0, 0, deadly, 0, 0, 0, 0, 0]))
    patiently(lambda: not multiprocessing.active_children())


def test_a_worker_that_exits_raises_worker_lost() -> None:
    with pytest.raises(WorkerLost):
        list(LocalEngine(2).map(os._exit, [3]))


@pytest.mark.parametrize("deadly", [signal.SIGSEGV, signal.SIGKILL])
def test_a_part_that_ends_its_process_is_left_out_and_the_others_are_done(
    tasks: ModuleType, deadly: int
) -> None:
    jobs = [tasks.Parts(parts, deadly) for parts in ((), (0, 7), (), (19,), (), ())]
    ticks: list[int] = []
    found = list(LocalEngine(2).map(tasks.work, jobs, ticks.append))
    assert found == [[], [0, 7], [], [19], [], []]
    assert ticks[-1] == 20 * len(jobs)
    patiently(lambda: not multiprocessing.active_children())


def test_a_worker_that_dies_of_no_part_of_its_job_is_lost(tasks: ModuleType) -> None:
    with pytest.raises(WorkerLost, match="run the same command again to continue"):
        list(LocalEngine(2).map(tasks.die_once, [tasks.Parts((), 0)]))


def test_after_a_lost_worker_the_next_map_works() -> None:
    with pytest.raises(WorkerLost):
        list(LocalEngine(2).map(signal.raise_signal, [signal.SIGKILL]))
    assert list(LocalEngine(2).map(operator.neg, range(5))) == [0, -1, -2, -3, -4]


def test_workers_ignore_ctrl_c() -> None:
    """The terminal sends it to all; the parent alone decides what becomes of its workers."""
    results = list(LocalEngine(2).map(signal.raise_signal, [signal.SIGINT] * 4))
    assert results == [None] * 4


@pytest.mark.parametrize("workers", [1, 2])
def test_what_jobs_count_is_told(tasks: ModuleType, workers: int) -> None:
    ticks: list[int] = []
    assert list(LocalEngine(workers).map(tasks.counting, [1, 2, 3], ticks.append)) == [1, 2, 3]
    assert ticks == sorted(ticks)
    assert ticks[-1] == 36
    if workers == 1:
        assert ticks == [1, 11, 12, 13, 23, 24, 25, 26, 36]


def test_counting_outside_a_map_does_nothing(tasks: ModuleType) -> None:
    count()
    assert list(LocalEngine(1).map(tasks.counting, [0])) == [0]
    count(5)


def test_a_map_within_a_map_counts_for_itself(tasks: ModuleType) -> None:
    inner: list[int] = []
    outer: list[int] = []

    def task(number: int) -> int:
        list(LocalEngine(1).map(tasks.counting, [number], inner.append))
        count()
        return number

    assert list(LocalEngine(1).map(task, [0, 0], outer.append)) == [0, 0]
    assert (inner, outer) == ([10, 10], [1, 2])


def test_leaving_early_ends_the_workers(tasks: ModuleType, tmp_path: Path) -> None:
    held = tmp_path / "held"
    results = LocalEngine(2).map(tasks.hold_unless_empty, ["", str(held)])
    assert next(results) == ""
    patiently(lambda: is_held(held))
    results.close()  # type: ignore[attr-defined]
    patiently(lambda: not is_held(held))
    patiently(lambda: not multiprocessing.active_children())


PARENT = """
import signal
import sys
import tasks_of_worker_tests as tasks
from gloam.engines.local import LocalEngine

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells' background jobs ignore it
    list(LocalEngine(2).map(tasks.hold_and_sleep, sys.argv[1:]))
"""


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_parent(
    tasks: ModuleType, tmp_path: Path, deadly: signal.Signals
) -> None:
    script = tmp_path / "modules" / "parent.py"
    script.write_text(PARENT)
    held = [tmp_path / "a", tmp_path / "b"]
    parent = subprocess.Popen([sys.executable, script, *held], stderr=subprocess.DEVNULL)
    try:
        patiently(lambda: all(is_held(path) for path in held))
        parent.send_signal(deadly)
        parent.wait(PATIENCE_S)
        patiently(lambda: not any(is_held(path) for path in held))
    finally:
        parent.kill()
        parent.wait()


@pytest.mark.parametrize("workers", [True, 1.0, "2", -1, 10**9])
def test_workers_are_a_whole_number(workers):
    with pytest.raises(ConfigError, match=r"workers = .*: must be a whole number from 0 to"):
        local_engine(workers)
