"""Where lows are made: on the workers' own cores, or by one process for each GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import multiprocessing
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...engines.engine import Engine
from ...engines.forkserver import prepare_workers
from ...engines.process import main_left_alone
from ...errors import ConfigError
from ..kernels.arrays import Pixels
from ..kernels.compiling import cache_folders
from ..models import Draw
from ..renderers import NEEDS, CpuRenderer, Device, Firsts, Renderer, check_device, renderer_on
from .client import served
from .server import Ready, serve

_PATIENCE = 0.5  # seconds before one is told what is waited for
_MANY = 32
"""Images that a GPU makes at once for a worker."""


@dataclass(frozen=True)
class Renderers:
    """What makes the lows of units, as workers are told.

    Attributes
    ----------
    gpus : tuple of str
        The addresses of the processes that own one; none where workers make them.
    """

    gpus: tuple[str, ...] = ()

    @property
    def many(self) -> int:
        """How many images are best made at once."""
        return _MANY if self.gpus else 1

    def of(self, unit: str) -> Renderer:
        """Return what makes the lows of a unit."""
        if not self.gpus:
            return CpuRenderer()
        return served(self.gpus[zlib.crc32(unit.encode()) % len(self.gpus)])


ON_WORKERS = Renderers()
"""Workers make lows themselves."""


class Starting:
    """What makes lows on a device, while it gets ready.

    Parameters
    ----------
    device : str
        "cpu", "cuda" for all GPUs of this machine, or "auto" for them if there are any.

    Raises
    ------
    ConfigError
        When there is no such device.
    """

    def __init__(self, device: Device) -> None:
        check_device(device)
        self._device = device
        self._processes: list[Any] = []
        self._first: Any = None
        problem = "" if device == "cpu" else _missing()
        self._refuse(problem)
        if device != "cpu" and not problem:
            self._first = self._start(0)

    def ready(self) -> Renderers:
        """Wait until it is ready.

        Raises
        ------
        ConfigError
            When there is no GPU.
        """
        if self._first is None:
            return ON_WORKERS
        if not self._first.poll(_PATIENCE):
            cache_folders.announce(gpu=True)
        answers = [_answer(self._first)]
        others = [self._start(number) for number in range(1, answers[0].gpus)]
        answers += map(_answer, others)
        self._refuse(answers[0].problem)
        return Renderers(tuple(answer.address for answer in answers if answer.address))

    def end(self) -> None:
        """End its processes."""
        for process in self._processes:
            process.kill()
            process.join()

    def _refuse(self, problem: str) -> None:
        if problem and self._device == "cuda":
            raise ConfigError(f"device cuda: {problem}; {NEEDS}", key="device", value="cuda")

    def _start(self, number: int) -> Any:
        """Start the process of a GPU; returns the connection that it tells of itself by."""
        context: Any = multiprocessing.get_context(prepare_workers([serve.__module__], 2))
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=serve, args=(theirs, number), daemon=True)
        with main_left_alone():
            process.start()
        self._processes.append(process)
        theirs.close()
        return mine


@dataclass(frozen=True)
class OnCluster(Renderers):
    """Those on a cluster: by an actor for each GPU.

    Attributes
    ----------
    actors : gloam.engines.ray.Actors
        Of renderers.
    """

    actors: Any = None

    @property
    def many(self) -> int:
        """How many images are best made at once."""
        return _MANY

    def of(self, unit: str) -> Renderer:
        """Return what makes the lows of a unit."""
        return _Distant(self.actors, zlib.crc32(unit.encode()))


class _Distant:
    """A renderer that an actor holds."""

    def __init__(self, actors: Any, number: int) -> None:
        self._actors, self._number = actors, number

    def render(
        self, normals: Sequence[Pixels], draws: Sequence[Draw], firsts: Firsts = None
    ) -> list[Pixels]:
        """Make the lows of a batch; see `Renderer`."""
        made: list[Pixels] = self._actors.call(self._number, "render", normals, draws, firsts)
        return made


class _StartingFar:
    """As `Starting`, on a cluster."""

    def __init__(self, device: Device, engine: Any) -> None:
        check_device(device)
        self._device, self._engine = device, engine

    def ready(self) -> Renderers:
        """Wait until it is ready."""
        if self._device == "cpu":
            return ON_WORKERS
        try:
            return OnCluster(self._engine.on_gpus(partial(renderer_on, "cuda")))
        except ConfigError:
            if self._device == "cuda":
                raise
            return ON_WORKERS

    def end(self) -> None:
        """Do nothing: actors end when nobody knows them any more."""


@contextmanager
def renderers_on(device: Device, engine: Engine | None = None) -> Iterator[Starting]:
    """Begin to get ready what makes lows on a device; it ends with the block.

    See `Starting`. Of an engine that is far it is on its machines.
    """
    starting: Any = (
        _StartingFar(device, engine) if engine is not None and engine.far else Starting(device)
    )
    try:
        yield starting
    finally:
        starting.end()


def _missing() -> str:
    """Say what is missing for a GPU, without touching one."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed"
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is none"
    return ""


def _answer(connection: Any) -> Ready:
    try:
        ready: Ready = connection.recv()
    except EOFError:
        return Ready("", problem="the process that was to own it ended as it began")
    return ready
