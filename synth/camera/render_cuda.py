"""Lows of the camera model on a CUDA GPU, a batch at a time, with the bytes of the CPU.

Needs numba-cuda.
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
from ..kernels.batch.launch_cuda import launch
from .batch import Plan, Shape, Tables, lay_out, plan_batch
from .draw import CameraDraw
from .pack import Packed, pack

_MORE = 1.25  # an array that is too short is made anew with room to grow


@dataclass(frozen=True)
class Prepared:
    """A batch in device memory, ready to be launched as often as one likes."""

    batch: Batch
    work: dict[str, Work]
    plan: Plan
    stream: Any

    def launch(self) -> None:
        """Begin to make all lows, without waiting for them; see `kernels.batch.cuda.launch`."""
        launch(self.batch, self.work, self.plan.blocks, self.stream)


@dataclass(frozen=True)
class Images:
    """Images in device memory.

    Attributes
    ----------
    memory : uint8 device array
        Flat; it spans all of them.
    at : sequence of int, optional
        Where each begins in it; one image after the other where they are not given.
    """

    memory: Any
    at: Sequence[int] | None = None

    @classmethod
    def at_addresses(cls, addresses: Sequence[int], sizes: Sequence[tuple[int, int]]) -> Images:
        """Images wherever they lie, by their addresses; whoever holds them keeps them alive."""
        first = min(addresses)
        last = max(a + 3 * h * w for a, (h, w) in zip(addresses, sizes, strict=True))
        return cls(
            cuda.as_cuda_array(_Span(first, last - first), sync=False),
            [address - first for address in addresses],
        )


class _Span:
    """Device memory from an address on, as the CUDA array interface describes it."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class CameraOnCuda:
    """The camera model on the current CUDA device.

    Its batches follow one another on one stream, and work in the same memory.

    Parameters
    ----------
    stream : CUDA stream of numba-cuda, or the address of one
        0 is the default one.
    device : int, optional
        Number of the GPU; the current one where it is not given.
    """

    def __init__(self, stream: Any = 0, device: int | None = None) -> None:
        if device is not None:
            cuda.select_device(device)
        self._stream = (
            cuda.external_stream(stream) if isinstance(stream, int) and stream else stream
        )
        self._arrays: dict[str, Any] = {}
        self._tables = Tables(self._upload)

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
        return self.render_packed(normals, pack(draws)) if normals else []

    def render_packed(self, normals: Sequence[Pixels], packed: Packed) -> list[Pixels]:
        """Make the lows of a batch, as `render`, of packed draws."""
        for normal in normals:
            check_normal(normal)
        flat = np.concatenate([np.ascontiguousarray(normal).reshape(-1) for normal in normals])
        low = cuda.device_array(flat.shape, np.uint8, stream=self._stream)
        sizes = [(normal.shape[0], normal.shape[1]) for normal in normals]
        there = Images(cuda.to_device(flat, stream=self._stream))
        self.prepare(packed, sizes, there, Images(low)).launch()
        flat = low.copy_to_host(stream=self._stream)
        if self._stream:
            self._stream.synchronize()
        ends = np.cumsum([normal.size for normal in normals])[:-1]
        return [
            part.reshape(normal.shape)
            for part, normal in zip(np.split(flat, ends), normals, strict=True)
        ]

    def prepare(
        self, packed: Packed, sizes: Sequence[tuple[int, int]], normals: Images, lows: Images
    ) -> Prepared:
        """Bring what a batch needs into device memory.

        What it works in is valid until the next batch is prepared.

        Parameters
        ----------
        packed : Packed
            Draws.
        sizes : sequence of (height, width)
        normals, lows : Images
        """
        plan = plan_batch(packed, sizes, normals.at, lows.at)
        pixels = normals.memory, lows.memory
        batch = lay_out(plan, packed, pixels, self._tables, self._upload, self._room)
        work = {
            name: Work(
                one.length,
                self._upload(f"{name} images", one.images),
                self._upload(f"{name} first", one.first),
            )
            for name, one in plan.work.items()
            if one.length
        }
        return Prepared(batch, work, plan, self._stream)

    def _upload(self, name: str, array: npt.NDArray[Any]) -> Any:
        """Copy an array into device memory that is kept under its name."""
        held = self._room(name, array.shape, array.dtype)
        held[: len(array)].copy_to_device(np.ascontiguousarray(array), stream=self._stream)
        return held

    def _room(self, name: str, shape: Shape, dtype: Any) -> Any:
        """Device memory that is kept under a name, as long as asked or longer."""
        held = self._arrays.get(name)
        if held is None or held.shape[0] < shape[0] or held.shape[1:] != shape[1:]:
            length = shape[0] if held is None else int(shape[0] * _MORE)
            held = cuda.device_array((length, *shape[1:]), dtype, stream=self._stream)
            self._arrays[name] = held
        return held


def is_available() -> bool:
    """Return whether there is a CUDA GPU that can be used."""
    return bool(cuda.is_available())
