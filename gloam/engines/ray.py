"""Jobs as tasks of a Ray cluster: `RayEngine`. Needs Ray: `pip install 'gloam[ray]'`.

Ray Core alone is used, a task a job, as jobs are equal in size and need no exchange. What is done
is what has a receipt, so that a node, a worker or the driver may die at any time: Ray makes a task
of a dead node or worker again, up to three times, and after the driver's death the same command
goes on. A task may run twice at once then, when a node that was thought dead works on; both make
the same bytes.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import ConfigError, WorkerLost, first_line, needed
from .engine import Counted, J, R, ignore_progress
from .local import counted
from .process import prepare_own_process

_RETRIES = 3
_POLL = 0.5  # seconds
_ANSWER = 10.0  # seconds in which a cluster has to answer
_AHEAD = 2  # tasks for each core that are handed out
_HELD = 8  # results for each core that wait for one before them


class RayEngine:
    """The cores of a Ray cluster; see `engine.Engine`.

    address: HOST:PORT of a cluster; "" for that of `RAY_ADDRESS`; "auto", or without either, for
      the one that this machine knows, or else one of this machine alone, which ends with the
      engine, as "local" does. Where the process is connected already, its cluster is taken.

    Raises ConfigError when Ray is not installed, or no cluster answers at the address.
    """

    remote = True

    def __init__(self, address: str = "") -> None:
        self._ray = _ray()
        self._connected = _connect_to_cluster(self._ray, address)
        self._run = self._ray.remote(max_retries=_RETRIES, num_cpus=1)(_run)

    def map(
        self, function: Callable[[J], R], jobs: Iterable[J], at: Counted = ignore_progress
    ) -> Iterator[R]:
        """Run `function` on every job; results come in the jobs' order.

        Progress is reported when a job is done.
        """
        ray, remaining = self._ray, enumerate(jobs)
        running: dict[Any, int] = {}
        done: dict[int, R] = {}
        total, next_one = 0, 0
        try:
            while True:
                cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)  # as it stands
                held = len(running) + len(done)
                room = min(_AHEAD * cores - len(running), _HELD * cores - held)
                for number, job in islice(remaining, max(room, 0)):
                    running[self._run.remote(function, job)] = number
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1, timeout=_POLL)
                for one in ready:
                    number = running.pop(one)  # whatever comes of it, it is over
                    done[number], amount = self._result(one)
                    total += amount
                at(total)
                while next_one in done:
                    yield done.pop(next_one)
                    next_one += 1
        finally:
            if running:
                self._cancel_tasks(list(running))

    def _cancel_tasks(self, running: list[Any]) -> None:
        """End tasks, but none that is over: Ray 2.60 aborts this process at times for that."""
        ray = self._ray
        with suppress(Exception):  # the cluster is gone
            _, running = ray.wait(running, num_returns=len(running), timeout=0)
        for one in running:
            with suppress(Exception):
                ray.cancel(one, force=True)

    def warm(self, module: str) -> None:
        """Do nothing: Ray starts workers when there are tasks."""

    def close(self) -> None:
        """Leave the cluster, unless the process was connected before; one of its own ends."""
        if self._connected:
            self._ray.shutdown()

    def _result(self, one: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(one)
        except errors.RayTaskError as error:
            raise (error.cause or error) from None
        except errors.RayError as error:
            raise WorkerLost(
                f"a worker of the cluster was lost {_RETRIES + 1} times, perhaps because memory ran"
                f" out ({first_line(error)}); what was finished is kept: run the same command"
                " again to continue"
            ) from None


def _run(function: Callable[[J], R], job: J) -> tuple[R, int]:
    """Run a job in a worker of Ray; returns how many things it has counted, too."""
    prepare_own_process()
    with counted() as counter:
        result = function(job)
    return result, counter.value


def _ray() -> Any:
    # Ray asks for statistics of its use, which are nobody's business here.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return needed("ray", "--engine ray needs Ray", "ray", "engine")


def _connect_to_cluster(ray: Any, address: str) -> bool:
    """Connect to a cluster; returns whether the process was not connected before."""
    if ray.is_initialized():
        return False
    asked = address or os.environ.get("RAY_ADDRESS", "")
    known = asked if asked not in ("", "auto") else _last_cluster_here()
    known = "" if known == "local" else known
    if known:
        try:
            _check_answers(known)
        except ConfigError:
            if known == asked:
                raise
            known = ""  # what this machine knew of is gone
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "gloam"}
    if not known:
        how |= {"include_dashboard": False}
    try:
        with _own_signals():
            ray.init(address=known or "local", **how)
    except Exception as error:
        raise ConfigError(f"--engine ray:{known}: {first_line(error)}", key="engine") from error
    return True


def _last_cluster_here() -> str:
    """Return the address of the cluster that was begun last on this machine; "" for none."""
    folder = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray"
    try:
        return (folder / "ray_current_cluster").read_text().strip()
    except OSError:
        return ""


def _check_answers(address: str) -> None:
    """Refuse an address where nothing listens: Ray would wait for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not port.isdigit():
        raise ConfigError(f"--engine ray:{address}: must be HOST:PORT", key="engine")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER).close()
    except OSError as error:
        raise ConfigError(
            f"--engine ray:{address}: no cluster answers: {error.strerror or error}", key="engine"
        ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's handlers of signals, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # which one of another language's is
                signal.signal(number, handler)
