"""A worker's side: lows made by the process that owns a GPU."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from functools import lru_cache
from multiprocessing.connection import Client
from multiprocessing.reduction import send_handle

import numpy as np

from ...errors import WorkerLost
from ..draws.table import DrawTable
from ..kernels.arrays import Pixels, check_normal
from ..models import Draw
from ..renderers import Firsts, render_by_model
from .server import Request

_MORE = 1.25  # memory that is too small is made anew with room to grow


class ServedRenderer:
    """Makes lows in the process that listens at an address; see `renderers.Renderer`.

    Draws of the power_law model are made on this core.

    Parameters
    ----------
    address : str
        Of a `server.serve`.

    Raises
    ------
    WorkerLost
        When it is gone.
    """

    def __init__(self, address: str) -> None:
        try:
            self._server = Client(address, "AF_UNIX")
        except OSError as error:
            raise _lost() from error
        self._memory = np.empty(0, np.uint8)

    def render(
        self, normals: Sequence[Pixels], draws: Sequence[Draw], firsts: Firsts = None
    ) -> list[Pixels]:
        """Make the lows of a batch; they are valid until the next one.

        Raises
        ------
        ValueError
            When a normal is not a uint8 array (H, W, 3).
        WorkerLost
            When the process is gone, or failed.
        """
        for normal in normals:
            check_normal(normal)
        return render_by_model(
            normals,
            draws,
            self.render_table,
            firsts,
        )

    def render_table(
        self, normals: Sequence[Pixels], table: DrawTable, firsts: Firsts = None
    ) -> list[Pixels]:
        """Make the lows of a batch of packed draws, as `render`."""
        request = Request(table, np.array([n.shape[:2] for n in normals], np.int64), firsts)
        size = request.bytes
        try:
            if len(self._memory) < 2 * size:
                self._grow(int(2 * size * _MORE))
            ends = np.cumsum([normal.size for normal in normals])
            for normal, end in zip(normals, ends, strict=True):
                self._memory[end - normal.size : end] = normal.reshape(-1)
            self._server.send(request)
            problem = self._server.recv()
        except (EOFError, OSError) as error:
            raise _lost() from error
        if problem:
            raise _lost(problem)
        return [
            self._memory[size + end - normal.size : size + end].reshape(normal.shape)
            for normal, end in zip(normals, ends, strict=True)
        ]

    def _grow(self, size: int) -> None:
        """Share more memory."""
        # Lows of the last batch may still lie in the old one, which ends with them.
        handle = os.memfd_create("gloam")
        try:
            os.ftruncate(handle, size)
            shared = mmap.mmap(handle, size)
            self._server.send(size)
            send_handle(self._server, handle, None)
        finally:
            os.close(handle)
        self._memory = np.frombuffer(shared, np.uint8)


@lru_cache(maxsize=8)
def served(address: str) -> ServedRenderer:
    """Return this process's connection to a server."""
    return ServedRenderer(address)


def _lost(problem: str = "") -> WorkerLost:
    why = f": {problem}" if problem else ", perhaps because memory ran out"
    return WorkerLost(
        f"the process that makes lows on the GPU ended{why}; what was finished is kept: run the"
        " same command again to continue, with --device cpu if it happens again"
    )
