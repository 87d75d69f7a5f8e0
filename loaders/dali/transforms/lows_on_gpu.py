"""Lows and maps that a GPU makes of normals that lie in its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...live.cuda_tensors import OnGpu, Whole, addresses, moved_maps, new_camera, transformed_pairs
from ...live.draws import EpochDraws
from ...live.lows import LiveLows
from ...options import Options


class LowsOnGpu:
    """Lows that a GPU makes, on the stream of the thread that asks first.

    live: lows of a recipe of the camera model.
    keys: those of all pairs that may come.
    """

    def __init__(self, live: LiveLows, options: Options, keys: Sequence[str]) -> None:
        self._options = options
        self.draws = EpochDraws(live, keys, options.workers)
        self._camera: Any = None
        self._loaded: Any = None

    def whole(self, normals: OnGpu, epoch: int, lows: Sequence[Any]) -> None:
        """Fill whole lows."""
        at = normals.at, addresses(lows)
        self._ready(epoch).launch(normals.sizes, *at, numbers=normals.places)

    def pairs(self, normals: OnGpu, epoch: int, crops: Whole) -> tuple[Any, Any]:
        """Make lows and normals of a size; see `cuda_tensors.transformed_pairs`."""
        return transformed_pairs(self._ready(epoch), normals, crops, self._options)

    def maps(self, normals: OnGpu, epoch: int, crops: Whole, options: Options) -> dict[str, Any]:
        """Make maps of pairs; see `cuda_tensors.moved_maps`."""
        return moved_maps(self._ready(epoch), normals, crops, options)

    def close(self) -> None:
        """End the threads that draw."""
        self.draws.close()

    def _ready(self, epoch: int) -> Any:
        """Return the camera, with an epoch's draws loaded."""
        if self._camera is None:
            self._camera = new_camera()
        table = self.draws.table(epoch)
        if table is not self._loaded:
            self._camera.load(table)
            self._loaded = table
        return self._camera
