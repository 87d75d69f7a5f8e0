"""DALI's backend: batches that this process makes, ahead of the loader, from epoch to epoch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np

from ..errors import LoaderError
from .backend import Choice, Device
from .epoch_loader import Backend, EpochLoader
from .options import MOST
from .order import Positions, Step
from .read import EncodedSteps
from .render.cpu_renderer import CpuRenderer, Fit, sized
from .resident import CudaPool, CudaResident, DoesNotFit, HostResident, decode_all, shrunk
from .steps import Decoder, Renderer

_FEW = 64  # batches, which a GPU makes in a second
_OTHER_ORDER = (
    "the state is of a loader that kept its pairs in memory, and this one does not: their orders"
    " differ; say resident=True or False, as there"
)
_FILLING = 128  # images that are decoded at once into a GPU's memory


class DaliBackend(Backend):
    """Decodes by DALI, and renders by threads or on a GPU.

    It has no state: a batch is a function of its step. What it has made ahead is dropped where the
    loader's place changes.

    resident: keep what is decoded in memory: True, False or "auto".
    fit: how windows are cut on a CPU.
    by_dali: let DALI resize stored pairs there.
    """

    _most_ahead = MOST  # batches that are prefetched

    def __init__(
        self,
        choice: Choice,
        wanted: Device,
        resident: bool | str = False,
        fit: Fit = sized,
        by_dali: bool = False,
    ) -> None:
        super().__init__(choice, wanted)
        self._resident = resident
        self._fit, self._by_dali = fit, by_dali
        self._pool: Any = None  # what is in memory, decoded
        self._renderer: Renderer | None = None
        self._next: tuple[int, int] | None = None  # place of its next batch; none while one is made
        self._skipped = 0  # batches of an epoch that was left
        self._most = 0  # samples of a step, where it is several batches

    def batches(self, loader: EpochLoader) -> Iterator[tuple[Any, ...]]:
        """Yield the batches that are left of the running epoch."""
        loader.copy_ahead()
        epoch, first = loader.place
        if first >= len(loader):
            return
        if self._next != loader.place:
            self.moved()  # something, Ctrl-C say, came before a batch was handed out
        loader.used()
        if self._renderer is None:
            self._renderer = self._begin_renderer(loader)
        for _ in range(self._skipped):
            self._run(self._renderer)
        self._skipped = 0
        for batch in range(first, len(loader)):
            self._next = None
            made = self._run(self._renderer).as_batch()
            over = batch + 1 == len(loader)
            self._next = (epoch + 1, 0) if over else (epoch, batch + 1)
            yield made

    def moved(self) -> None:
        """Drop what was made ahead."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer, self._next, self._skipped = None, None, 0

    def abandoned(self, loader: EpochLoader, left: int) -> None:
        """Run to the end of an epoch that little is left of: a new pipeline takes a second or two.

        Training leaves an epoch once in hours: its order is shuffled, validation's is not.
        """
        epoch, _ = loader.place
        here = self._next == (epoch - 1, len(loader) - left)
        if not here or loader.options.shuffle or left > _FEW:
            self.moved()
            return
        self._skipped += left
        self._next = epoch, 0

    def close(self) -> None:
        """End the threads."""
        self.moved()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pool": None, "_renderer": None, "_next": None, "_skipped": 0}

    def _run(self, renderer: Renderer) -> Any:
        try:
            return renderer.next()
        except Exception:
            self.moved()
            raise

    def _begin_renderer(self, loader: EpochLoader) -> Renderer:
        """Begin to decode and render from the loader's place on.

        Raises LoaderError when what is to stay in memory does not fit, or is not each rank's own.
        """
        components, sizes, options = loader.components, loader.sizes, loader.options
        device_id = self._wanted.current() if options.device == "gpu" else None
        decoder = self._begin_decoder(loader, device_id)
        if device_id is not None:
            from .render.cuda_renderer import CudaRenderer

            first, last = self._resident_span(loader) if self._resident else (0, None)
            return CudaRenderer(decoder, components, sizes, device_id, first, last, self._most)
        resizer, as_dali = None, self._by_dali and not self._resident and not components[0].live
        if as_dali and options.size is not None:
            from .dali.decoder import DaliResizer

            resizer = DaliResizer(options, 2 * options.batch_size * components[0].contents.frames)
        blank = 0.0 if as_dali and options.value_range[0] == 0 else None
        return CpuRenderer(decoder, components, sizes, self._fit, resizer, blank)

    def _begin_decoder(self, loader: EpochLoader, device_id: int | None) -> Decoder:
        """Return what decodes, from the loader's place on."""
        if self._resident:
            try:
                return self._resident_decoder(loader, device_id)
            except DoesNotFit as error:
                if self._resident != "auto":
                    raise
                print(f"{error}; loading it batch by batch", file=sys.stderr)
                if loader.rank.world > 1 and loader.place != (0, 0):
                    raise LoaderError.at(loader.name, _OTHER_ORDER) from error
                self._resident = False
                loader.order.own = False
        return self._reading_decoder(loader, device_id, loader.steps_ahead())

    def _reading_decoder(
        self,
        loader: EpochLoader,
        device_id: int | None,
        steps: Iterator[Step],
        most: int = 0,
        side: int | None = None,
    ) -> Decoder:
        """Return what reads and decodes steps, of at most so many samples or frames."""
        from .dali.decoder import DaliDecoder

        components, options = loader.components, loader.options
        prefetch = min(options.prefetch, self._most_ahead)
        options = options.model_copy(update={"prefetch": prefetch})
        kernels = device_id is None or loader.contents.of_clips
        source = EncodedSteps(components, steps, options.workers, kernels)
        images = 2 * (most or options.batch_size)
        return DaliDecoder(source, components, options, images, device_id, loader.name, side)

    def _resident_span(self, loader: EpochLoader) -> tuple[int, int]:
        if loader.options.last_batch == "padded":
            raise LoaderError(
                f"{loader.name}: resident pairs are each rank's own, and last_batch='padded'"
                " gives them in turn: leave resident out, or take last_batch='partial'"
            )
        return loader.rank.slice(loader.order.count)

    def _resident_decoder(self, loader: EpochLoader, device_id: int | None) -> Decoder:
        """Return what takes images out of memory, which they are decoded into the first time.

        Raises DoesNotFit when memory is too small.
        """
        (component,), options = loader.components, loader.options
        first, last = self._resident_span(loader)
        if device_id is not None:
            if self._pool is None:
                self._pool = self._fill_pool(loader, device_id, first, last)
            return CudaResident(self._pool, first, loader.steps_ahead())
        contents, side = component.contents, options.resident_side

        def decoded(pair: Any) -> tuple[Any, ...]:
            members = contents.images_of(pair, "opencv")[-1 if contents.live else 0 :]
            return tuple(shrunk(one, side) for (one,) in members)

        if self._pool is None:
            own, pairs = range(first, last), contents.pairs
            self._pool = decode_all(pairs, own, decoded, options.workers, loader.name)
        return HostResident(self._pool, loader.steps_ahead())

    def _fill_pool(self, loader: EpochLoader, device_id: int, first: int, last: int) -> Any:
        """Decode this rank's samples into the GPU's memory."""
        import torch

        from .dali.pipelines import release_memory

        (component,) = loader.components
        count, steps = last - first, []
        for i in range(first, last, _FILLING):
            numbers = np.arange(i, min(i + _FILLING, last))
            steps.append(Step(0, Positions(0 * numbers, numbers, 0 * numbers)))
        endless = chain(steps, repeat(steps[-1]))  # DALI asks ahead
        side = loader.options.resident_side
        decoder = self._reading_decoder(loader, device_id, endless, _FILLING, side)
        kinds = ("normal",) if component.live else ("low", "normal")
        with torch.cuda.device(device_id):
            decoded = (decoder.next(torch.cuda.current_stream()) for _ in range(0, count, _FILLING))
            pool = CudaPool(decoded, kinds, count, loader.name)
        decoder.close()
        del decoder, decoded
        release_memory()
        return pool
