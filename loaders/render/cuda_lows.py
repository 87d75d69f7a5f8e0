"""Lows and maps that a GPU makes of normals in its memory, and their draws, made ahead.

A GPU darkens more images in a second than are drawn by the way.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

from ...engines.process import begin_child, main_left_alone, may_have_children, prepare_workers
from ...synth.draws.table import DrawTable, concat, frame_table
from ...synth.models import draw_table
from ...synth.parameters.keyed_columns import Keys
from ..lows import LiveLows
from ..options import Options
from ..read import BegunAhead
from .cuda_tensors import (
    DeviceImages,
    Whole,
    addresses,
    new_camera,
    transformed_maps,
    transformed_pairs,
)

_CHUNK = 2048  # pairs that are drawn at once
_MANY = _CHUNK  # pairs of an epoch, beyond which processes draw


class CudaLows:
    """Lows that a GPU makes, on the stream of the thread that asks first.

    live: lows of a recipe of the camera model.
    keys: those of all pairs that may come.
    """

    def __init__(self, live: LiveLows, options: Options, keys: Sequence[str]) -> None:
        self._options = options
        self.draws = EpochDraws(live, keys, options.workers)
        self._camera: Any = None
        self._loaded: Any = None

    def whole(self, normals: DeviceImages, epoch: int, lows: Sequence[Any]) -> None:
        """Fill whole lows."""
        at = normals.at, addresses(lows)
        self._ready(epoch).launch(normals.sizes, *at, numbers=normals.places)

    def pairs(
        self, normals: DeviceImages, epoch: int, crops: Whole, frames: int = 1
    ) -> tuple[Any, Any]:
        """Make lows and normals of a size; see `cuda_tensors.transformed_pairs`.

        frames: of each sample, which has one draw, and the light of its first frame.
        """
        if frames == 1:
            return transformed_pairs(self._ready(epoch), normals, crops, self._options)
        camera = self._of_stream()
        camera.load(frame_table(self.draws.table(epoch).take(normals.places), frames))
        self._loaded = None
        firsts = np.repeat(normals.at[::frames], frames)
        each = normals._replace(places=np.arange(len(normals.at)))
        return transformed_pairs(camera, each, crops, self._options, firsts)

    def maps(
        self, normals: DeviceImages, epoch: int, crops: Whole, options: Options
    ) -> dict[str, Any]:
        """Make maps of pairs; see `cuda_tensors.transformed_maps`."""
        return transformed_maps(self._ready(epoch), normals, crops, options)

    def close(self) -> None:
        """End the threads that draw."""
        self.draws.close()

    def _ready(self, epoch: int) -> Any:
        """Return the camera, with an epoch's draws loaded."""
        camera, table = self._of_stream(), self.draws.table(epoch)
        if table is not self._loaded:
            camera.load(table)
            self._loaded = table
        return camera

    def _of_stream(self) -> Any:
        if self._camera is None:
            self._camera = new_camera()
        return self._camera


class EpochDraws:
    """The draws of some pairs, epoch by epoch.

    keys: those of all pairs that may be asked for; as an attribute, `Keys`.
    live: lows of a recipe of the camera model.
    workers: threads that draw the first epoch, and processes that draw the next ones of many pairs:
      they leave the interpreter to whoever trains.
    """

    def __init__(self, live: LiveLows, keys: Sequence[str], workers: int) -> None:
        self._live, self._keys = live, keys
        self.keys = Keys(keys)
        self._workers = max(workers, 1)
        self._pool: Executor = ThreadPoolExecutor(self._workers)
        self._same: DrawTable | None = None
        self._thread = ThreadPoolExecutor(1)
        # An epoch's draws are made while the one before is gone through.
        self._epochs = BegunAhead(lambda epoch: self._thread.submit(self._drawn, epoch), 1)

    def table(self, epoch: int) -> DrawTable:
        """Return the draws of an epoch; the same object where epochs do not differ."""
        return self._epochs.of(epoch).result()

    def close(self) -> None:
        """End threads and processes."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        # A child of multiprocessing waits for its own ones, which are told to end by a thread.
        waits = isinstance(self._pool, ProcessPoolExecutor)
        self._pool.shutdown(wait=waits, cancel_futures=True)

    def _drawn(self, epoch: int) -> DrawTable:
        if self._same is not None:
            return self._same
        recipe, seed = self._live.recipe, self._live.seed_of(epoch)
        with main_left_alone():
            parts = [
                self._pool.submit(draw_table, recipe, seed, self._keys[i : i + _CHUNK])
                for i in range(0, len(self._keys), _CHUNK)
            ]
        whole = concat([part.result() for part in parts])
        many = len(self._keys) > _MANY and may_have_children()
        if self._live.draws == "set":
            self._same = whole
        elif many and isinstance(self._pool, ThreadPoolExecutor):
            self._pool.shutdown(wait=False)
            context = multiprocessing.get_context(prepare_workers([__name__], self._workers))
            self._pool = ProcessPoolExecutor(self._workers, context, begin_child)
        return whole
