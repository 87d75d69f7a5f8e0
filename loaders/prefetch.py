"""Work that is begun before it is asked for, and a GPU's batches that are made ahead."""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import torch

from .backend import converted

_Begun = TypeVar("_Begun")


class BegunAhead(Generic[_Begun]):
    """Work that is numbered from 0 on, and begun before it is asked for.

    begin: function of a number; begins the work, and returns what it is taken from.
    ahead: how much further work is begun than is asked for.
    """

    def __init__(self, begin: Callable[[int], _Begun], ahead: int) -> None:
        self._begin, self._ahead = begin, ahead
        self._begun: dict[int, _Begun] = {}

    def of(self, number: int) -> _Begun:
        """Return what the work of a number is taken from; forget all that is not ahead of it."""
        wanted = range(number, number + 1 + self._ahead)
        for other in [one for one in self._begun if one not in wanted]:
            del self._begun[other]
        for one in wanted:
            if one not in self._begun:
                self._begun[one] = self._begin(one)
        return self._begun[number]


class PrefetchedBatch(NamedTuple):
    """A batch that was made, ready once `event` has passed on its GPU; or what went wrong."""

    made: Any = None
    event: Any = None
    error: BaseException | None = None


class CudaPrefetcher:
    """Batches of a function, a few of them made ahead once the first one is asked for.

    make: method of a CUDA stream; returns the next `RenderedStep`, whose tensors of torch are on
      that stream.
    depth: batches made ahead.
    device: number of the GPU.
    """

    def __init__(self, make: Any, depth: int, device: int) -> None:
        self._made: queue.Queue[PrefetchedBatch] = queue.Queue(depth)
        self._stop = threading.Event()
        self._device = device
        # The thread holds no reference to whoever makes, or to this object: dropping them ends it.
        arguments = weakref.WeakMethod(make), self._made, self._stop, device
        self._begin: Callable[[], None] | None = threading.Thread(
            target=_make_ahead, args=arguments, daemon=True
        ).start

    def next(self) -> Any:
        """Return the next batch, on torch's current stream.

        Raises what went wrong when it was made.
        """
        begin, self._begin = self._begin, None
        if begin is not None:
            begin()
        made, event, error = self._made.get()
        if error is not None:
            raise error
        current = torch.cuda.current_stream(self._device)
        current.wait_event(event)
        converted((*made.images, made.extras), lambda one: one.record_stream(current))
        return made

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        with suppress(queue.Empty):
            while True:
                self._made.get_nowait()

    def __del__(self) -> None:
        self.close()


def _make_ahead(
    reference: weakref.WeakMethod[Callable[[Any], Any]],
    made: queue.Queue[PrefetchedBatch],
    stop: threading.Event,
    device: int,
) -> None:
    torch.cuda.set_device(device)
    stream = torch.cuda.Stream(device)
    while not stop.is_set():
        make = reference()
        if make is None:
            return
        try:
            with torch.cuda.stream(stream):
                one = PrefetchedBatch(make(stream), stream.record_event())
        except BaseException as error:  # raised where the batch is taken
            one = PrefetchedBatch(error=error)
        del make
        while not stop.is_set():
            with suppress(queue.Full):
                made.put(one, timeout=0.2)
                break
        if one.error is not None:
            return


class StreamKeepAlive:
    """Keeps memory that a GPU's kernels were told to read.

    DALI's decoders write into memory that was given back as soon as it is, without waiting for what
    is under way on any stream: whoever reads their outputs on another one keeps them until that is
    done, however far behind the GPU is.

    most: batches that are kept; the oldest one is waited for where more would be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: deque[tuple[Any, Any]] = deque()

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, memory: Any, stream: Any) -> None:
        """Keep memory until all that was begun on a stream of torch is done; forget what is."""
        self._held.append((stream.record_event(), memory))
        while self._held and self._held[0][0].query():
            self._held.popleft()
        if len(self._held) > self._most:
            self._held[0][0].synchronize()
            self._held.popleft()

    def __del__(self) -> None:
        with suppress(Exception):  # CUDA may be gone when the interpreter ends
            if self._held:
                self._held[-1][0].synchronize()
