"""The base of loaders that run a DALI pipeline: its epochs, its state, its failures."""

from __future__ import annotations

import base64
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...errors import LoaderError
from ..backend import is_installed
from ..devices import Device, find_device, has_torch
from ..epoch_loader import EpochLoader
from ..index import Contents
from ..options import Options, make_options
from ..ranks import decoder_load, usable_cores
from ..states import DaliState, read_state
from .building import PipelineBuilder
from .encoded import ReaderNumbers
from .failures import explained

_FEW = 64  # batches, which a GPU decodes in a second


class DaliLoader(EpochLoader):
    """A loader whose batches a DALI pipeline makes, which goes on from epoch to epoch."""

    _gives_tensors = True  # of torch, which must be installed then

    _wanted: Device
    _resident: Any = False  # True or "auto" where decoded pairs may be kept in memory
    _drawn: Any = None  # how lows are or were drawn, where something of that is given
    _pipeline: Any = None
    _base = 0  # the epoch that the pipeline was built for; it goes on through the next
    # DALI's own state, of the place that a pipeline is to be built at
    _resume: bytes | None = None
    # the same of the reader of numbers, see `ReaderNumbers.start`
    _start: tuple[int, bytes] | None = None
    _source: Any = None  # of numbers, for the pipeline that runs
    # the same of the pipeline that runs, where it was asked for
    _checkpoint: bytes | None = None
    _padding = 0  # batches that DALI has left of the epoch before this place
    # epoch and batch that the pipeline gives next; none while it makes one
    _next: tuple[int, int] | None = None
    _lost = False  # whether DALI failed, and its state of this place is gone

    def _options(self, given: Mapping[str, Any], training: bool, live: bool) -> Options:
        """Find the device, and validate the options.

        given: options of `options.check_names`.
        training: whether it shuffles and drops, by default.

        Raises LoaderError when there is no such device, or an option is wrong.
        """
        if not is_installed():
            raise LoaderError(
                "backend='dali' needs NVIDIA DALI, which runs on Linux: pip install"
                " nvidia-dali-cuda120; backend='torch' does not"
            )
        if self._gives_tensors and not has_torch():
            raise LoaderError("batches are torch tensors: pip install 'gloam[torch]'")
        device = given.get("device", "auto")
        self._wanted = find_device(device)
        if self._wanted.kind == "mps" and device == "auto":
            self._wanted = find_device("cpu")
        if self._wanted.kind == "mps":
            raise LoaderError(
                "device 'mps': DALI knows CUDA's GPUs alone; take device='cpu' or backend='torch'"
            )
        given = {name: value for name, value in given.items() if value is not None}
        return make_options(
            {"hw_decoder_load": decoder_load(live), **given},
            training,
            device=self._wanted.kind,
            workers=given.get("workers") or usable_cores(),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is: a small dict of JSON values. Take it between batches.

        After a batch that could not be made, it is one of the epoch's beginning.
        """
        dali, start = self._dali_state(), self._numbers_start()
        return (
            super().state_dict()
            | ({"batch": 0} if self._lost else {})
            | {
                "base": self._base,
                "dali": _as_text(dali),
                "numbers": [start[0], _as_text(start[1])] if start is not None else [],
            }
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on, with the next pass, where another loader of the same set, options and rank was.

        Raises LoaderError when the state is of something else, with what differs, or is not as
        `state_dict` gave it.
        """
        found = read_state(DaliState, state, self._fingerprint())
        found.check_places(len(self), self._builder.epoch_batches(), bool(self._resident))
        super().load_state_dict(state)
        self._base, self._resume, self._start = found.base, found.dali or None, found.numbers

    def pipeline(self, epoch: int = 0) -> Any:
        """Return the DALI pipeline of an epoch, built, of this rank's samples.

        `len(self)` batches of it are the epoch.
        """
        return self._build(epoch, None)

    def __getstate__(self) -> dict[str, Any]:
        dali, start = self._dali_state(), self._numbers_start()
        return super().__getstate__() | {
            "_pipeline": None,
            "_checkpoint": None,
            "_resume": dali,
            "_start": start,
            "_source": None,
            "_padding": 0,
            "_next": None,
        }

    def _dali_state(self) -> bytes | None:
        if self._pipeline is None or not (self._batch or self.epoch != self._base):
            return self._resume
        self._check_process()
        self._settle()
        if self._checkpoint is None:
            self._checkpoint = self._pipeline.checkpoint()
        return self._checkpoint

    def _source_numbers(self, epoch: int, checkpoint: bytes | None) -> Any:
        """Return what tells the numbers of the batches of an epoch's pipeline."""
        start = None if checkpoint is None else self._start
        self._source = self._builder.source_numbers(epoch, start)
        return self._source

    def _numbers_start(self) -> tuple[int, bytes] | None:
        """Return where a reader of numbers may begin that goes on from this place."""
        if self._pipeline is None or not isinstance(self._source, ReaderNumbers):
            return self._start
        return self._source.start(self._done)

    @property
    def _done(self) -> int:
        """The batch that comes next, counted from the pipeline's beginning."""
        return (self.epoch - self._base) * self._builder.epoch_batches() + self._batch

    def _begin(self) -> Iterator[tuple[Any, ...]]:
        self._copy_ahead()
        if self._batch >= len(self):
            return
        if self._next != (self.epoch, self._batch) and self._pipeline is not None:
            self._moved()  # something, Ctrl-C say, came before a batch was handed out
        self._process = os.getpid()
        if self._pipeline is None:
            self._pipeline = self._build(self._base, self._resume)
        self._settle()
        for batch in range(self._batch, len(self)):
            self._next = None
            outputs = self._run()
            if batch + 1 == len(self):
                self._padding = self._padded()
            count = len(self._places_of(batch))
            done = (self.epoch - self._base) * self._builder.epoch_batches() + batch
            made = self._handed_out(outputs, count, done)
            over = batch + 1 == len(self)
            self._next = (self.epoch + 1, 0) if over else (self.epoch, batch + 1)
            yield made

    def _drop(self) -> None:
        """Let go of the pipeline, and end what works for it."""
        close = getattr(self._pipeline, "close", None)
        if close is not None:
            close()
        self._pipeline = self._checkpoint = self._next = None

    def _moved(self) -> None:
        self._drop()
        self._resume = self._start = None
        self._base, self._padding, self._lost = self.epoch, 0, False

    def _abandoned(self, left: int) -> None:
        # Where nothing is shuffled, the pipeline may as well run to the end: it is a second or two
        # that a new one takes on a GPU.
        place = self.epoch - 1, len(self) - left
        if self._next == place and not self.options.shuffle and left <= _FEW:
            self._padding = left + self._padded()
            self._next = self.epoch, 0
        else:
            self._moved()

    def _free(self) -> None:
        if self._pipeline is not None:
            with suppress(Exception):  # states are still of this place
                self._resume, self._start = self._dali_state(), self._numbers_start()
        self._drop()

    def _padded(self) -> int:
        return self._builder.epoch_batches() - len(self)

    def _settle(self) -> None:
        """Take the pipeline from the end of one epoch to the beginning of the next.

        A new one would cost seconds on a GPU.
        """
        for _ in range(self._padding):
            self._run()
        self._padding = 0

    @abstractmethod
    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        """Build the pipeline of an epoch."""

    @abstractmethod
    def _handed_out(self, outputs: tuple[Any, ...], count: int, done: int) -> tuple[Any, ...]:
        """Return a batch of the pipeline's outputs.

        count: number of the samples that belong to the epoch.
        done: number of the batch, counted from the pipeline's first.
        """

    @property
    def _builder(self) -> PipelineBuilder:
        device_id = self._wanted.current() if self.options.device == "gpu" else None
        return PipelineBuilder(
            self.contents, self.options, self.rank, self.live, self._drawn, self.reader, device_id
        )

    def _run(self) -> tuple[Any, ...]:
        self._checkpoint = None
        try:
            if self.options.device == "gpu":
                import torch

                return tuple(self._pipeline.run(torch.cuda.current_stream(self._wanted.current())))
            return tuple(self._pipeline.run())
        except LoaderError:
            self._moved()
            self._lost = True
            raise
        except Exception as error:  # DALI raises RuntimeError and whatever a source raised
            self._drop()
            found = explained(error, self.contents.name, self.options, self._suspects())
            self._moved()
            self._lost = True
            raise found from error

    def _suspects(self) -> Iterable[tuple[Contents, Sequence[int]]]:
        """Return the numbers of the pairs that DALI was at when it failed.

        Those are the pairs of the next batch and of the ones that it makes ahead.
        """
        first, numbers = self._done, self._builder.source_numbers(self._base, self._numbers_start())
        ahead = range(first, first + self.options.prefetch + 1)
        own = list(dict.fromkeys(number for batch in ahead for number in numbers(batch)))
        return [(self.contents, own)]


def _as_text(state: bytes | None) -> str:
    return base64.b64encode(state or b"").decode("ascii")
