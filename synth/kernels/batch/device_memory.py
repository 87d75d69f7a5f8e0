"""Device memory kept under names, and copies into it that nobody waits for. Needs numba-cuda."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from cuda.bindings import driver
from numba import cuda

_MORE = 1.25  # an array that is too short is made anew with room to grow
_RING = 8  # buffers that copies lie in until they are done, two of each batch
_LARGE = 16 << 20  # bytes; what is larger is copied at once
_ALIGNED = 256


def checked(result: tuple[Any, ...]) -> Any:
    """Return what a call of the driver gives. Raises RuntimeError with the driver's error."""
    if result[0] != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA: {result[0].name}")
    return result[1] if len(result) > 1 else None


def address_of(array: Any) -> int:
    """Return where a device array, or whatever describes itself as one, lies."""
    return int(array.__cuda_array_interface__["data"][0])


def copy_images(
    to: npt.NDArray[np.uint64], source: npt.NDArray[np.uint64], sizes: Any, stream: int
) -> None:
    """Begin to copy images within device memory.

    to, source: arrays (N), addresses. sizes: array (N), bytes. stream: the address of a CUDA
    stream.
    """
    for one in zip(to.tolist(), source.tolist(), sizes.tolist(), strict=True):
        checked(driver.cuMemcpyDtoDAsync(*one, stream))


class DeviceMemory:
    """Arrays in device memory, filled and used in the order of one stream.

    stream: the address of a CUDA stream; 0 is the default one.
    """

    def __init__(self, stream: int = 0) -> None:
        self.address = stream
        self.stream: Any = cuda.external_stream(stream) if stream else 0
        self.generation = 0
        """Counts up when an array has moved."""
        self._arrays: dict[str, Any] = {}
        self._ring = [_Staging() for _ in range(_RING)]
        self._turn, self._used = 0, 0

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return the array of a name, as long as asked or longer."""
        held = self._arrays.get(name)
        if held is None or held.shape[0] < shape[0] or held.shape[1:] != shape[1:]:
            length = shape[0] if held is None else int(shape[0] * _MORE)
            held = cuda.device_array((length, *shape[1:]), dtype)
            self._arrays[name] = held
            self.generation += 1
        return held

    def upload(self, name: str, array: npt.NDArray[Any]) -> Any:
        """Begin to copy an array to the one of its name."""
        held = self.room(name, array.shape, array.dtype)
        array = np.ascontiguousarray(array)
        source = array
        if array.nbytes < _LARGE:
            source = self._ring[self._turn].take(array.nbytes, self._used)
            source[:] = array.reshape(-1).view(np.uint8)
            self._used += -(-array.nbytes // _ALIGNED) * _ALIGNED
        self.copy_in(held, source)
        return held

    def clear(self, array: Any) -> None:
        """Begin to fill an array of 32 bits with zeros."""
        checked(driver.cuMemsetD32Async(address_of(array), 0, array.size, self.address))

    def copy_in(self, to: Any, array: npt.NDArray[Any]) -> None:
        """Begin to copy a host array to a device array, which may be longer.

        Its memory is free when this returns, unless it is page-locked.
        """
        checked(
            driver.cuMemcpyHtoDAsync(address_of(to), array.ctypes.data, array.nbytes, self.address)
        )

    def copy_out(self, source: Any, array: npt.NDArray[Any]) -> None:
        """Fill a host array from a device array, once all is done that the stream was given."""
        checked(
            driver.cuMemcpyDtoHAsync(
                array.ctypes.data, address_of(source), array.nbytes, self.address
            )
        )
        self.wait()

    def wait(self) -> None:
        """Wait until all is done that the stream was given."""
        checked(driver.cuStreamSynchronize(self.address))

    def uploaded(self) -> None:
        """Mark the end of the uploads that belong together; the next ones take another buffer."""
        self._ring[self._turn].done.record(self.stream)
        self._turn, self._used = (self._turn + 1) % _RING, 0
        self._ring[self._turn].done.synchronize()


class _Staging:
    """A buffer in page-locked host memory, which a GPU copies from by itself."""

    def __init__(self) -> None:
        self.done = cuda.event(timing=False)
        self._buffers: list[Any] = []

    def take(self, size: int, used: int) -> Any:
        """Return bytes of the buffer behind those that are used."""
        if not used:
            del self._buffers[:-1]
        if not self._buffers or len(self._buffers[-1]) < used + size:
            self._buffers.append(cuda.pinned_array(max(2 * (used + size), 1 << 16), np.uint8))
        return self._buffers[-1][used : used + size]
