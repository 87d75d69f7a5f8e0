"""Lows and maps that a GPU makes of normals that lie in its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...synth.draws.clips import frame_table
from ..lows import LiveLows
from ..options import Options
from .cuda_tensors import (
    DeviceImages,
    Whole,
    addresses,
    new_camera,
    transformed_maps,
    transformed_pairs,
)
from .draws import EpochDraws


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
