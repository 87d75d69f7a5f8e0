"""Lows of the camera model on a CUDA GPU, a batch at a time, with the bytes of the CPU. Needs
numba-cuda.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import cuda

from ..kernels.arrays import Pixels, check_normal
from ..kernels.batch.arrays import Batch, Work
from ..kernels.batch.cuda import launch
from .batch import Plan, Tables, lay_out, plan_batch
from .draw import CameraDraw
from .pack import Packed, pack


@dataclass(frozen=True)
class Prepared:
    """A batch in device memory, ready to be launched as often as one likes."""

    batch: Batch
    work: dict[str, Work]
    plan: Plan

    def launch(self, stream: Any = 0) -> None:
        """Begin to make all lows, without waiting for them; see `kernels.batch.cuda.launch`."""
        launch(self.batch, self.work, self.plan.blocks, stream)


class CameraOnCuda:
    """The camera model on the current CUDA device."""

    def __init__(self) -> None:
        self._tables = Tables(_to_device)

    def render(self, normals: Sequence[Pixels], draws: Sequence[CameraDraw]) -> list[Pixels]:
        """Make the lows of a batch of images of any sizes.

        Parameters
        ----------
        normals : sequence of uint8 arrays (H, W, 3)
        draws : sequence of CameraDraw
            As many.

        Returns
        -------
        list of uint8 arrays (H, W, 3)

        Raises
        ------
        ValueError
            When a normal is not of that type and shape.
        """
        for normal in normals:
            check_normal(normal)
        if not normals:
            return []
        flat = np.concatenate([np.ascontiguousarray(normal).reshape(-1) for normal in normals])
        low = cuda.device_array(flat.shape, np.uint8)
        sizes = [(normal.shape[0], normal.shape[1]) for normal in normals]
        self.prepare(pack(draws), sizes, (cuda.to_device(flat), low)).launch()
        flat = low.copy_to_host()
        ends = np.cumsum([normal.size for normal in normals])[:-1]
        return [
            part.reshape(normal.shape)
            for part, normal in zip(np.split(flat, ends), normals, strict=True)
        ]

    def prepare(
        self, packed: Packed, sizes: Sequence[tuple[int, int]], pixels: tuple[Any, Any]
    ) -> Prepared:
        """Bring what a batch needs into device memory.

        Parameters
        ----------
        packed : Packed
            Draws.
        sizes : sequence of (height, width)
        pixels : (normals, lows)
            Flat uint8 device arrays, of all images one after the other.
        """
        plan = plan_batch(packed, sizes)
        batch = lay_out(plan, packed, pixels, self._tables, _to_device, cuda.device_array)
        work = {
            name: Work(_to_device(work.images), _to_device(work.first))
            for name, work in plan.work.items()
            if len(work.images)
        }
        return Prepared(batch, work, plan)


def _to_device(array: npt.NDArray[Any]) -> Any:
    return cuda.to_device(np.ascontiguousarray(array))


def is_available() -> bool:
    """Whether there is a CUDA GPU that can be used."""
    return bool(cuda.is_available())
