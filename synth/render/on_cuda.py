"""Lows of the camera model on a CUDA GPU, a batch at a time, with the bytes of the CPU.

Needs numba-cuda.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import cuda

from ..draws.table import DrawTable
from ..kernels.arrays import Pixels, check_normal
from ..kernels.batch.arrays import Batch
from ..kernels.batch.device_memory import DeviceMemory, Graphs, address_of
from ..kernels.batch.launch_cuda import blocks_of, launch, launch_maps
from ..kernels.batch.resize_steps import OutputLayout, Resizing
from ..kernels.taps import tap_count
from .plan import (
    BatchPlan,
    IntArray,
    MapSpec,
    lay_out,
    lay_out_maps,
    map_places,
    map_tables,
    plan_batch,
    upload_draws,
    upload_tables,
)
from .self_test import check_once

Samples = npt.NDArray[np.uint8]


class OutputSpec(NamedTuple):
    """The memory that windows of lows and normals go to, resized, flipped and turned."""

    low: IntArray  # uint64 arrays (N), the address of each
    normal: IntArray  # uint64 arrays (N), the address of each
    floats: bool = False  # float32 samples instead of uint8
    shift: float = 0.0  # a sample becomes (sample - shift) * scale, in float32
    scale: float = 1.0  # a sample becomes (sample - shift) * scale, in float32
    channels_last: bool = False  # HWC instead of CHW
    size: tuple[int, int] | None = None  # (height, width) that windows are resized to


class CameraOnCuda:
    """The camera model on the current CUDA device.

    Its batches follow one another on one stream, and work in the same memory. One thread at a time
    uses it.

    stream: the address of a CUDA stream; 0 is the default one. device: number of the GPU; the
    current one where it is not given.
    """

    def __init__(self, stream: int = 0, device: int | None = None) -> None:
        if device is not None:
            cuda.select_device(device)
        self._memory, self._graphs = DeviceMemory(stream), Graphs()
        self._tables = upload_tables(self._memory.upload)
        self._map_tables = map_tables(self._memory.upload)
        # Images lie anywhere; their places are counted from here.
        self._anchor = cuda.device_array(1, np.uint8)
        self._float_anchor = cuda.device_array(1, np.float32)
        self._table: DrawTable | None = None
        self._launched: tuple[bytes, BatchPlan, Batch] | None = None
        self._generation = 0
        self._draws: dict[str, Any] = {}
        check_once(gpu_name(), self.render)

    def load(self, table: DrawTable) -> None:
        """Bring draws into device memory, for all batches until others are loaded."""
        self._draws = upload_draws(table, self._memory.upload)
        self._memory.uploaded()
        self._table, self._launched = table, None

    def render(
        self, normals: Sequence[Pixels], table: DrawTable, firsts: Sequence[int] | None = None
    ) -> list[Pixels]:
        """Make the lows of a batch of images of any sizes.

        normals: sequence of uint8 arrays (H, W, 3). table: a row each. firsts: of frames of clips:
        the number in the batch of the first frame of each one's clip.

        Returns list of uint8 arrays (H, W, 3). Raises ValueError when a normal is not of that type
        and shape.
        """
        if not normals:
            return []
        for normal in normals:
            check_normal(normal)
        flat = np.concatenate([np.ascontiguousarray(normal).reshape(-1) for normal in normals])
        low = np.empty_like(flat)
        sizes = np.array([normal.shape[:2] for normal in normals])
        self.render_flat(flat, low, sizes, table, firsts)
        ends = np.cumsum([normal.size for normal in normals])
        return [
            part.reshape(normal.shape)
            for part, normal in zip(np.split(low, ends[:-1]), normals, strict=True)
        ]

    def render_flat(
        self,
        normals: Samples,
        lows: Samples,
        sizes: IntArray,
        table: DrawTable,
        firsts: Sequence[int] | None = None,
    ) -> None:
        """Fill the lows of a batch of N images, which lie one after the other in host memory.

        normals, lows: uint8 arrays, samples of all images, of as many. sizes: array (N, 2), height,
        width. firsts: as of `render`.
        """
        begins = np.cumsum(np.concatenate([[0], 3 * sizes.prod(axis=1)]))[:-1]
        there = self._memory.room("normals", normals.shape, np.uint8)
        made = self._memory.room("lows", lows.shape, np.uint8)
        self._memory.copy_in(there, normals)
        self.load(table)
        source = address_of(there) + begins
        lit_as = None if firsts is None else source[list(firsts)]
        self.launch(sizes, source, address_of(made) + begins, firsts=lit_as)
        self._memory.copy_out(made, lows)

    def launch(
        self,
        sizes: IntArray,
        normals: IntArray,
        lows: IntArray,
        *,
        firsts: IntArray | None = None,
        numbers: IntArray | None = None,
        windows: IntArray | None = None,
        formed: OutputSpec | None = None,
    ) -> None:
        """Begin to make the lows of a batch of N images, without waiting for them.

        sizes: array (N, 2), height, width.
        normals, lows: arrays (N), addresses of their first samples, whose memory lives on until
          they are made.
        firsts: array (N) of frames of clips: addresses of the normals of the clips' first frames.
        numbers: array (N) of the draws that are loaded; one after the other where it is not given.
        windows: array (N, 7), see `plan.plan_batch`.
        formed: where windows are to go, resized or all of one size, flipped and turned.
        """
        table = self._table
        assert table is not None, "draws are loaded first"
        self._launched = None
        places = self._from_anchor(normals), self._from_anchor(lows)
        to = None
        if formed is not None:
            low, normal = (self._from_anchor(one, formed.floats) for one in formed[:2])
            to = low, normal
        lit_as = None if firsts is None else self._from_anchor(firsts)
        plan = plan_batch(
            table, sizes, places, firsts=lit_as, numbers=numbers, windows=windows, formed=to
        )
        images = self._memory.upload("images", plan.images)
        self._memory.uploaded()
        both = self._anchor, self._anchor
        batch = lay_out(plan, images, both, self._tables | self._draws, self._memory.room)
        blocks = tuple((name, blocks_of(places)) for name, places in plan.places.items())
        forms = resizing = None
        if formed is not None:
            if formed.size is not None:
                resizing = self._resizing(plan, formed.size)
            pixels = int(
                np.prod(formed.size or (plan.images["rows"][0], plan.images["columns"][0]))
            )
            into = self._float_anchor if formed.floats else self._anchor
            change = np.float32(formed.shift), np.float32(formed.scale)
            steps = (1, 3) if formed.channels_last else (pixels, 1)
            forms = OutputLayout(into, into, *change, *steps)
        self._forget_moved()
        launched = partial(launch, batch, len(sizes), blocks, forms=forms, resizing=resizing)
        most = None if resizing is None else resizing.most
        key = len(sizes), blocks, most, None if formed is None else formed[2:]
        self._graphs.run(key, lambda stream: launched(stream=stream), self._memory)
        if formed and windows is not None and numbers is not None and firsts is None:
            self._launched = _content(sizes, normals, numbers, windows), plan, batch

    def maps(
        self,
        sizes: IntArray,
        normals: IntArray,
        spec: MapSpec,
        numbers: IntArray,
        windows: IntArray,
    ) -> Any:
        """Begin to make the maps of a batch of N images, without waiting for them.

        Their light is found once where the batch launched before was the same: of the same
        addresses, where the same normals still lie.

        sizes, normals, numbers, windows: as of `launch`.

        Returns a float32 device array (N * planes * rows * columns), or longer, which the next call
        fills anew.
        """
        table = self._table
        assert table is not None, "draws are loaded first"
        content = _content(sizes, normals, numbers, windows)
        lit = self._launched is not None and self._launched[0] == content
        if self._launched is not None and lit:
            _, plan, batch = self._launched
        else:
            places = self._from_anchor(normals)
            plan = plan_batch(table, sizes, (places, places), numbers=numbers, windows=windows)
            images = self._memory.upload("images", plan.images)
            both = self._anchor, self._anchor
            batch = lay_out(plan, images, both, self._tables | self._draws, self._memory.room)
        self._launched = None  # memory of its mosaics is used anew
        into = self._memory.room(
            "maps", (len(sizes) * spec.planes * int(np.prod(spec.room)),), np.float32
        )
        room, upload = self._memory.room, self._memory.upload
        maps = lay_out_maps(plan, spec, table, into, self._map_tables, room, upload)
        self._memory.uploaded()
        every = plan.places | map_places(plan, spec, table)
        blocks = tuple((name, blocks_of(places)) for name, places in every.items())
        self._forget_moved()
        self._memory.clear(into)
        launched = partial(launch_maps, batch, len(sizes), blocks, maps, lit=lit)
        key = "maps", len(sizes), blocks, spec, lit
        self._graphs.run(key, lambda stream: launched(stream=stream), self._memory)
        return into

    def _forget_moved(self) -> None:
        """Forget what was recorded of arrays that have moved."""
        if self._memory.generation != self._generation:
            self._memory.wait()
            self._graphs.clear()
            self._generation = self._memory.generation

    def _resizing(self, plan: BatchPlan, size: tuple[int, int]) -> Resizing:
        """Return room for the filters of a batch's windows."""
        rows, columns = size
        most = max(
            tap_count(int(plan.images["rows"].max()), rows),
            tap_count(int(plan.images["columns"].max()), columns),
        )
        most = 1 << (most - 1).bit_length()  # of few kinds, as graphs are of one each
        sides = len(plan.images) * (rows + columns)
        first = self._memory.room("first_taps", (sides,), np.int32)
        counts = self._memory.room("tap_counts", (2 * len(plan.images),), np.int32)
        weights = self._memory.room("tap_weights", (sides * most,), np.float32)
        return Resizing(rows, columns, most, first, counts, weights)

    def _from_anchor(self, addresses: IntArray, floats: bool = False) -> IntArray:
        """Return where addresses lie, counted in samples modulo 2^64."""
        anchor, size = (self._float_anchor, 4) if floats else (self._anchor, 1)
        apart = np.asarray(addresses).astype(np.uint64) - np.uint64(address_of(anchor))
        return (apart.view(np.int64) // size).view(np.uint64)


def _content(*arrays: IntArray) -> bytes:
    """Return what arrays hold, to be compared."""
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def gpu_name() -> str:
    """Return the name of the current CUDA GPU."""
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def is_available() -> bool:
    """Return whether there is a CUDA GPU that can be used."""
    return bool(cuda.is_available())
