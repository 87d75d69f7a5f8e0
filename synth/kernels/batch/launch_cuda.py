"""The steps of a batch as CUDA kernels: one launch a step for all images. Needs numba-cuda."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from cuda.bindings import driver
from numba import cuda

from ..arrays import u32
from ..compiling.for_cuda import device, kernel, plain_arithmetic
from . import chroma_steps as chroma
from . import degradation_steps as degraded
from . import illumination_steps as field
from . import jpeg_steps as jpeg
from . import map_steps as mapping
from . import noise_steps as noise
from . import pixel_steps as pixels
from . import resize_steps as resizing
from .device_memory import checked
from .image_state import KINDS, next_place, nothing, row_and_column, site_state

THREADS = 128
"""Threads of a block, which works on one image. Few, so that many registers a thread leave no room
empty."""
EACH = 8
"""Places that a thread works on, about: with one alone, half of its time would go into finding its
image."""
_KEPT = 32  # batches whose launches are kept
REGISTERS = 128
"""Registers of a thread that makes sensor samples. On an H200 a batch of 256 lows of 500 x 375 then
takes 1.62 ms in that step; with 96 registers 1.69, with 80 1.71, with 64 1.80, without a limit
3.3."""


class Step(NamedTuple):
    """A step: its name and its kernel.

    The kernel takes a tuple of a batch and what the step needs beside it, and how many blocks each
    image has.
    """

    name: str
    kernel: Any


def _over(name: str, places_of: Any, step_of: Any, registers: int | None = None) -> Step:
    """Make the kernel of a step that is a function of an image's number and a place in it.

    places_of: function of an image, its draw, and the last of the step's arguments: how many places
    there are. step_of: function of number, place and the step's arguments.
    """
    places, step = device(places_of), device(step_of)

    def run(arguments, blocks):
        number, batch = cuda.blockIdx.x // blocks, arguments[0]
        image = batch.images[number]
        count = u32(places(image, batch.draws[image.draw], arguments[-1]))
        place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
        while place < count:
            step(number, place, *arguments)
            place = u32(place + u32(blocks * THREADS))

    run.__name__ = run.__qualname__ = name
    return Step(name, kernel(run, registers))


_row_and_column, _next_place = device(row_and_column), device(next_place)


def _holding(
    name: str,
    state_of: Any,
    places_of: Any,
    step_of: Any,
    fetch_of: Any = nothing,
    registers: int | None = None,
) -> Step:
    """Make the kernel of a step that is a function of an image's state and a place.

    Beside the place it gets its row and column, which are counted on: division is slow; and what is
    fetched for it, while the place before is worked on, as memory is far.
    """
    held, places = device(state_of), device(places_of)
    fetch, step = device(fetch_of), device(step_of)

    def run(arguments, blocks):
        number, batch = cuda.blockIdx.x // blocks, arguments[0]
        image = batch.images[number]
        count = u32(places(image, batch.draws[image.draw], batch))
        place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
        if place < count:
            state, far = held(number, batch), u32(blocks * THREADS)
            row, column = _row_and_column(place, state.columns)
            down, right = _row_and_column(far, state.columns)
            fetched = fetch(state, row, column, batch)
            while place < count:
                now, own_row, own_column, own = place, row, column, fetched
                place, row, column = _next_place(
                    place, row, column, (far, down, right), state.columns
                )
                if place < count:
                    fetched = fetch(state, row, column, batch)
                step(state, now, own_row, own_column, own, batch)

    run.__name__ = run.__qualname__ = name
    return Step(name, kernel(run, registers))


FIELDS = (
    _over("luminance", field.luminance_thread_count, field.luminance_step),
    _over("lights", field.lights_thread_count, field.lights_step),
    _over("fields", field.cell_thread_count, field.field_step),
    _over("means", field.mean_thread_count, field.mean_step),
    _over("light", field.cell_thread_count, field.light_step),
    _over("lures", field.lure_thread_count, field.lure_step),
    _over("emitters", field.emitter_thread_count, field.emitter_step),
    _over("tables", field.table_thread_count, field.table_step),
)
SPREADS = (
    _holding("spreads", degraded.spread_state, degraded.spread_thread_count, degraded.spread_place),
    _holding(
        "emitter_spreads",
        degraded.emitter_spread_state,
        degraded.spread_thread_count,
        degraded.spread_place,
        registers=64,
    ),
)
PIXELS = (
    *SPREADS,
    _over("patterns", degraded.pattern_thread_count, degraded.pattern_step),
    _over("rows", pixels.row_thread_count, pixels.row_step),
    _over("gaussians", pixels.gaussian_thread_count, pixels.gaussian_step),
    *(
        _holding(
            f"{kind}quads",
            state,
            pixels.quad_thread_count,
            pixels.quad_step,
            pixels.quad_levels,
            REGISTERS,
        )
        for kind, state in KINDS
    ),
    _holding(
        "sites",
        site_state,
        pixels.site_thread_count,
        pixels.site_step,
        pixels.site_levels,
        REGISTERS,
    ),
    *(
        _holding(
            f"{kind}mosaics", state, pixels.mosaic_thread_count, pixels.mosaic_step, registers=96
        )
        for kind, state in KINDS
    ),
    _holding("blurs", chroma.blurred_image, chroma.blur_thread_count, chroma.blur_step),
    _holding("merges", chroma.merged_image, chroma.merge_thread_count, chroma.merge_step),
)
JPEG = (
    _over("samples", jpeg.sample_thread_count, jpeg.sample_step),
    _over("transforms", jpeg.sample_thread_count, jpeg.transform_step),
    _over("quantisations", jpeg.sample_thread_count, jpeg.quantise_step),
    _over("restorations", jpeg.sample_thread_count, jpeg.restore_step),
    _over("returns", jpeg.sample_thread_count, jpeg.return_step),
    _over("decodes", jpeg.decode_thread_count, jpeg.decode_step),
)
LOWS = *FIELDS, *PIXELS, *JPEG
"""From normals to lows, of a batch alone."""
LIGHT = *FIELDS, *SPREADS
"""Those of them that maps need."""
MAPS = (
    _over("levels", field.table_thread_count, noise.level_step),
    _over("roots", noise.root_thread_count, noise.root_step),
    _over("channels", noise.channel_thread_count, noise.channel_step),
    _over("site_means", pixels.site_thread_count, noise.mean_step),
    _over("moments", noise.moment_thread_count, noise.moment_step, REGISTERS),
    _over("column_blurs", chroma.blur_thread_count, noise.column_step),
    _over("smooths", noise.smooth_thread_count, noise.smooth_step),
    _over("maps", mapping.map_thread_count, mapping.map_step),
)
"""Beside a batch they take `Maps`."""
FLIP = (_over("forms", resizing.flip_thread_count, resizing.flip_step),)
"""Beside a batch it takes an `OutputLayout`."""
RESIZE = (
    _over("taps", resizing.tap_thread_count, resizing.tap_step),
    _over("resize_flipped", resizing.resized_thread_count, resizing.resized_step),
)
"""Beside a batch they take an `OutputLayout` and a `Resizing`."""


def blocks_of(places: int) -> int:
    """Return how many blocks an image of so many places has, at most: a power of two.

    So batches of about the same sizes have the same launches.
    """
    blocks = -(-places // (THREADS * EACH))
    return 1 << max(blocks - 1, 0).bit_length()


class PreparedLaunch:
    """A kernel that is compiled, and loaded, with its arguments as the driver takes them.

    kernel: of `for_cuda.kernel`. blocks, threads: of the launch, in one dimension. arguments:
    device arrays, which are to live on, numbers, and tuples of both.
    """

    def __init__(self, kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        compiled = kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))
        plain: list[Any] = []
        for kind, value in zip(compiled.argument_types, arguments, strict=True):
            compiled._prepare_args(kind, value, 0, [], plain)
        # Sizes, strides and addresses come as plain numbers, each of a word; others typed.
        self._kept = [one if hasattr(one, "_type_") else ctypes.c_int64(int(one)) for one in plain]
        self._places = (ctypes.c_void_p * len(plain))(*map(ctypes.addressof, self._kept))
        self._function = driver.CUfunction(int(compiled._codelibrary.get_cufunc().handle))
        self._shape = blocks, 1, 1, threads, 1, 1, 0

    def __call__(self, stream: int) -> None:
        """Launch it on the stream of an address, without waiting for it."""
        places = ctypes.addressof(self._places)
        checked(driver.cuLaunchKernel(self._function, *self._shape, stream, places, 0))


class Launches:
    """Launches of steps, kept as they are prepared.

    A launch through Numba costs the host half a millisecond, a prepared one microseconds. They are
    no CUDA graph: while launches are recorded as one, whatever waits for the device, in any thread
    of the process, ends in an error.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, list[PreparedLaunch]] = OrderedDict()

    def run(
        self,
        key: Hashable,
        runs: Iterable[tuple[tuple[Step, ...], tuple[Any, ...]]],
        count: int,
        blocks: Mapping[str, int],
        stream: int,
    ) -> None:
        """Run steps of a batch, in device memory, without waiting for them.

        key: equal for equal launches of equal arguments.
        runs: steps, each with what their kernels take: a batch of device arrays, and more.
        count: images.
        blocks: how many each image has in a step; steps that no image needs may be left out.
        stream: the address of a CUDA stream; 0 is the default one.
        """
        if key not in self._held:
            with plain_arithmetic():
                self._held[key] = [
                    PreparedLaunch(step, blocks[name] * count, THREADS, (arguments, blocks[name]))
                    for steps, arguments in runs
                    for name, step in steps
                    if name in blocks
                ]
            if len(self._held) > _KEPT:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        for launch in self._held[key]:
            launch(stream)

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
