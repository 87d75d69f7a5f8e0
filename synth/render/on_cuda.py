"""Lows of the camera model on a CUDA GPU, a batch at a time: the CPU's bytes. Needs numba-cuda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ..draws.table import DrawTable
from ..kernels.arrays import Pixels, check_normal
from ..kernels.batch.device_memory import DeviceMemory, address_of
from ..kernels.batch.launch_cuda import EACH, FLIP, LIGHT, LOWS, MAPS, RESIZE, Launches, blocks_of
from ..kernels.batch.resize_steps import OutputLayout, Resizing
from ..kernels.resize import tap_count
from .batch_plan import BatchPlan, IntArray, lay_out, plan_batch, upload_draws, upload_tables
from .maps import MapSpec, lay_out_maps, map_places, map_tables
from .self_test import check_once


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
        self._memory, self._launches = DeviceMemory(stream), Launches()
        self._tables = upload_tables(self._memory.upload)
        self._map_tables = map_tables(self._memory.upload)
        # Images lie anywhere; their places are counted from here.
        self._anchor = cuda.device_array(1, np.uint8)
        self._float_anchor = cuda.device_array(1, np.float32)
        self._table: DrawTable | None = None
        self._launched: tuple[bytes, BatchPlan, Any] | None = None
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
        lows = np.empty_like(flat)
        there = self._memory.room("normals", flat.shape, np.uint8)
        made = self._memory.room("lows", lows.shape, np.uint8)
        self._memory.copy_in(there, flat)
        self.load(table)
        begins = np.cumsum([0, *(normal.size for normal in normals)])[:-1]
        source = address_of(there) + begins
        lit_as = None if firsts is None else source[list(firsts)]
        sizes = np.array([normal.shape[:2] for normal in normals])
        self.launch(sizes, source, address_of(made) + begins, firsts=lit_as)
        self._memory.copy_out(made, lows)
        return [
            part.reshape(normal.shape)
            for part, normal in zip(np.split(lows, begins[1:]), normals, strict=True)
        ]

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
        batch = self._lay_out(plan)
        self._memory.uploaded()
        runs: list[Any] = [(LOWS, (batch,))]
        needed, most, steps = dict(plan.places), None, None
        if formed is not None:
            rows, columns = formed.size or (plan.images["rows"][0], plan.images["columns"][0])
            into = self._float_anchor if formed.floats else self._anchor
            change = np.float32(formed.shift), np.float32(formed.scale)
            steps = (1, 3) if formed.channels_last else (int(rows * columns), 1)
            forms = OutputLayout(into, into, *change, *steps)
            runs.append((FLIP, (batch, forms)))
            if formed.size is not None:
                resizing = self._resizing(plan, formed.size)
                runs[-1], most = (RESIZE, (batch, forms, resizing)), resizing.most
                # A place for each thread, as each is much work.
                needed |= {"taps": EACH * (rows + columns), "resize_flipped": EACH * rows * columns}
        self._run(runs, needed, len(sizes), (most, steps, None if formed is None else formed[2:]))
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
            batch = self._lay_out(plan)
        self._launched = None  # memory of its mosaics is used anew
        into = self._memory.room(
            "maps", (len(sizes) * len(spec.kinds) * int(np.prod(spec.room)),), np.float32
        )
        room, upload = self._memory.room, self._memory.upload
        maps = lay_out_maps(plan, spec, table, into, self._map_tables, room, upload)
        self._memory.uploaded()
        self._memory.clear(into)
        runs = [] if lit else [(LIGHT, (batch,))]
        needed = plan.places | map_places(plan, spec, table)
        self._run([*runs, (MAPS, (batch, maps))], needed, len(sizes), ("maps", spec, lit))
        return into

    def _lay_out(self, plan: BatchPlan) -> Any:
        images, uploaded = self._memory.upload("images", plan.images), self._tables | self._draws
        return lay_out(plan, images, (self._anchor, self._anchor), uploaded, self._memory.room)

    def _run(self, runs: list[Any], places: dict[str, int], count: int, key: Any) -> None:
        """Launch steps of a batch of so many images; `runs` as of `Launches.run`.

        key: what of their arguments is no array and may change while arrays stay where they are.
        """
        if self._memory.generation != self._generation:  # what was prepared is of other arrays
            self._launches.clear()
            self._generation = self._memory.generation
        blocks = {name: blocks_of(most) for name, most in places.items()}
        key = count, *blocks.items(), key
        self._launches.run(key, runs, count, blocks, self._memory.address)

    def _resizing(self, plan: BatchPlan, size: tuple[int, int]) -> Resizing:
        """Return room for the filters of a batch's windows."""
        rows, columns = size
        most = max(
            tap_count(int(plan.images["rows"].max()), rows),
            tap_count(int(plan.images["columns"].max()), columns),
        )
        most = 1 << (most - 1).bit_length()  # of few kinds, so that launches are used again
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
