"""A process that owns a GPU and makes lows for all workers, through memory that they share.

    worker: normals into shared memory -> request -> here: GPU -> lows into it -> answer

A worker that asks waits for its answer; requests are done one after the other.
"""

from __future__ import annotations

import mmap
import os
import secrets
import signal
from collections.abc import Callable
from multiprocessing.connection import Listener, wait
from multiprocessing.reduction import recv_handle
from typing import Any, NamedTuple

import numpy as np

from ...engines.process import end_with_parent
from ..camera.recipe import CameraRecipe
from ..draws.table import DrawTable
from ..models import draw_table
from ..recipes.load import load_recipe
from ..renderers import Firsts


class Request(NamedTuple):
    """A batch: normals lie one after the other from the beginning of the memory, lows go behind.

    Attributes
    ----------
    table : DrawTable
        Their draws.
    sizes : int64 array (N, 2)
        Height, width.
    firsts : sequence of int, optional
        As of `renderers.Renderer.render`.
    """

    table: DrawTable
    sizes: Any
    firsts: Firsts = None

    @property
    def bytes(self) -> int:
        """Bytes of all normals."""
        return int(3 * self.sizes.prod(axis=1).sum())


class Ready(NamedTuple):
    """What a server says when it has begun.

    Attributes
    ----------
    address : str
        To connect to; empty where there is no GPU.
    gpus : int
        How many this machine has.
    problem : str
        Why there is none.
    """

    address: str
    gpus: int = 0
    problem: str = ""


def serve(ready: Any, device: int, renderer: Callable[[int], Any] | None = None) -> None:
    """Make lows until the process that started this one ends.

    Parameters
    ----------
    ready : Connection
        Gets a `Ready`.
    device : int
        Number of the GPU.
    renderer : function of that number, optional
        Makes what renders, `CameraOnCuda` by default.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    try:
        count, camera = _camera(device) if renderer is None else (1, renderer(device))
    except (ImportError, RuntimeError, OSError) as error:
        ready.send(Ready("", problem=str(error).splitlines()[0] if str(error) else repr(error)))
        return
    # A name beside all files, which ends with its process.
    address = f"\0gloam-{os.getpid()}-{secrets.token_hex(8)}"
    with Listener(address, "AF_UNIX", backlog=256) as listener:
        ready.send(Ready(address, count))
        _listen(listener, camera)


def _camera(device: int) -> tuple[int, Any]:
    from numba import cuda

    from ..render.on_cuda import CameraOnCuda, is_available

    if not is_available():
        raise RuntimeError("there is none")
    camera = CameraOnCuda(device=device)
    for recipe in ("uneven", "day-to-night"):  # compiles what they need
        drawn = draw_table(_camera_recipe(recipe), 0, ["0"])
        camera.render([np.full((16, 16, 3), 128, np.uint8)], drawn)
    return len(cuda.gpus), camera


def _camera_recipe(name: str) -> CameraRecipe:
    recipe = load_recipe(name)
    assert isinstance(recipe, CameraRecipe)
    return recipe


def _listen(listener: Any, camera: Any) -> None:
    held: dict[Any, _Shared] = {}
    door = listener._listener._socket
    while True:
        for one in wait([door, *held]):
            if one is door:
                held[listener.accept()] = _Shared(camera)
                continue
            try:
                _answer(one, held[one], camera)
            except (EOFError, OSError):  # the worker is gone
                held.pop(one).close()


def _answer(worker: Any, memory: _Shared, camera: Any) -> None:
    """Do what a worker asks for."""
    asked = worker.recv()
    if isinstance(asked, int):
        memory.map(recv_handle(worker), asked)
        return
    size, samples = asked.bytes, memory.samples
    try:
        normals, lows = samples[:size], samples[size : 2 * size]
        camera.render_flat(normals, lows, asked.sizes, asked.table, asked.firsts)
    except Exception as error:  # told to the worker, who tells the user
        worker.send(f"{type(error).__name__}: {error}")
    else:
        worker.send("")


class _Shared:
    """The memory that a worker shares, its pages locked where the camera can do that."""

    def __init__(self, camera: Any) -> None:
        self._camera = camera
        self._locked = False
        self.samples = np.empty(0, np.uint8)

    def map(self, handle: int, size: int) -> None:
        """Map the memory of a file's handle, which is closed."""
        self.close()
        try:
            self.samples = np.frombuffer(mmap.mmap(handle, size), np.uint8)
        finally:
            os.close(handle)
        self._locked = self._camera.lock(self.samples)

    def close(self) -> None:
        """Let go of it."""
        if self._locked:
            self._camera.unlock(self.samples)
        self._locked, self.samples = False, np.empty(0, np.uint8)
