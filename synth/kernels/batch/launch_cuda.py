"""The steps of a batch as CUDA kernels: one launch a step for all images. Needs numba-cuda."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from numba import cuda

from ..compiling.for_cuda import device, kernel, plain_arithmetic
from ..types import u32
from . import chroma_noise_steps as chroma_noise
from . import chroma_steps as chroma
from . import degradation_steps as degraded
from . import illumination_steps as field
from . import jpeg_steps as jpeg
from . import level_steps as levels
from . import map_steps as mapping
from . import noise_steps as noise
from . import pixel_steps as pixels
from . import resize_steps as forming
from .arrays import Batch
from .image_state import next_place, pixel_state, row_and_column, site_state
from .map_planes import Maps
from .resize_steps import OutputLayout, Resizing

THREADS = 128
"""Threads of a block, which works on one image. Few, so that many registers a thread leave no room
empty."""
EACH = 8
"""Places that a thread works on, about: with one alone, half of its time would go into finding its
image."""
REGISTERS = 128
"""Registers of a thread that makes sensor samples. On an H200 a batch of 256 lows of 500 x 375 then
takes 1.62 ms in that step; with 96 registers 1.69, with 80 1.71, with 64 1.80, without a limit
3.3."""


class Step(NamedTuple):
    """A step: its kernel, which takes a batch and how many blocks each image has; what it needs."""

    name: str
    kernel: Any


def _over(name: str, places_of: Any, step_of: Any) -> Step:
    """Make the kernel of a step that is a function of an image's number and a place in it."""
    places, step = device(places_of), device(step_of)

    def run(batch, blocks):
        number = cuda.blockIdx.x // blocks
        count = u32(places(batch.images[number], batch))
        place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
        while place < count:
            step(number, place, batch)
            place = u32(place + u32(blocks * THREADS))

    run.__name__ = run.__qualname__ = name
    return Step(name, kernel(run))


_row_and_column, _next_place = device(row_and_column), device(next_place)


def _holding(name: str, held_of: Any, places_of: Any, step_of: Any) -> Step:
    """Make the kernel of a step that is a function of what is held of an image, and a place.

    Beside the place it gets its row and column, which are counted on: division is slow.
    """
    held, places, step = device(held_of), device(places_of), device(step_of)

    def run(batch, blocks):
        number = cuda.blockIdx.x // blocks
        count = u32(places(batch.images[number], batch))
        place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
        if place < count:
            image, far = held(number, batch), u32(blocks * THREADS)
            row, column = _row_and_column(place, image.columns)
            down, right = _row_and_column(far, image.columns)
            while place < count:
                step(image, place, row, column, batch)
                place, row, column = _next_place(
                    place, row, column, (far, down, right), image.columns
                )

    run.__name__ = run.__qualname__ = name
    return Step(name, kernel(run))


def _fetching(
    name: str, held_of: Any, places_of: Any, fetch_of: Any, step_of: Any, registers: int
) -> Step:
    """Make the kernel of a step as `_holding`, that is also a function of what is fetched for it.

    It is fetched while the place before is worked on, as memory is far. Registers are limited: with
    all that is held there would be too few threads at once.
    """
    held, places = device(held_of), device(places_of)
    fetch, step = device(fetch_of), device(step_of)

    def run(batch, blocks):
        number = cuda.blockIdx.x // blocks
        count = u32(places(batch.images[number], batch))
        place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
        if place < count:
            image, far = held(number, batch), u32(blocks * THREADS)
            row, column = _row_and_column(place, image.columns)
            down, right = _row_and_column(far, image.columns)
            fetched = fetch(image, row, column, batch)
            while place < count:
                now, own_row, own_column, own = place, row, column, fetched
                place, row, column = _next_place(
                    place, row, column, (far, down, right), image.columns
                )
                if place < count:
                    fetched = fetch(image, row, column, batch)
                step(image, now, own_row, own_column, own, batch)

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
PIXELS = (
    _over("spreads", degraded.spread_thread_count, degraded.spread_step),
    _over("patterns", degraded.pattern_thread_count, degraded.pattern_step),
    _over("rows", pixels.row_thread_count, pixels.row_step),
    _fetching(
        "quads",
        pixel_state,
        pixels.quad_thread_count,
        pixels.quad_levels,
        pixels.quad_step,
        REGISTERS,
    ),
    _fetching(
        "sites",
        site_state,
        pixels.site_thread_count,
        pixels.site_levels,
        pixels.site_step,
        REGISTERS,
    ),
    _holding("mosaics", pixel_state, pixels.mosaic_thread_count, pixels.mosaic_step),
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


def _mapping(name: str, places_of: Any, step_of: Any, registers: int | None = None) -> Step:
    """Make the kernel of a step as `_over`, that has maps to fill besides."""
    places, step = device(places_of), device(step_of)

    def run(batch, maps, blocks):
        number = cuda.blockIdx.x // blocks
        count = u32(places(batch.images[number], batch, maps))
        place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
        while place < count:
            step(number, place, batch, maps)
            place = u32(place + u32(blocks * THREADS))

    run.__name__ = run.__qualname__ = name
    return Step(name, kernel(run, registers))


MAPS = (
    _mapping("levels", levels.level_thread_count, levels.level_step),
    _mapping("widths", levels.width_thread_count, levels.width_step),
    _mapping("channels", noise.channel_thread_count, noise.channel_step),
    _mapping("site_means", noise.mean_thread_count, noise.mean_step),
    _mapping("grains", noise.grain_thread_count, noise.grain_step),
    _mapping("moments", noise.moment_thread_count, noise.moment_step, REGISTERS),
    _mapping("column_blurs", chroma_noise.column_thread_count, chroma_noise.column_step),
    _mapping("smooths", chroma_noise.smooth_thread_count, chroma_noise.smooth_step),
    _mapping("maps", mapping.map_thread_count, mapping.map_step),
)

_form_thread_count, _form_step = device(forming.flip_thread_count), device(forming.flip_step)


@kernel
def form(batch, forms, blocks):
    """Transform the pairs."""
    number = cuda.blockIdx.x // blocks
    count = u32(_form_thread_count(batch.images[number], batch))
    place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
    while place < count:
        _form_step(number, place, batch, forms)
        place = u32(place + u32(blocks * THREADS))


_tap_thread_count, _tap_step = device(forming.tap_thread_count), device(forming.tap_step)
_resized_thread_count, _resized_step = (
    device(forming.resized_thread_count),
    device(forming.resized_step),
)


@kernel
def taps(batch, resizing, blocks):
    """Find the filters of a batch's windows."""
    number = cuda.blockIdx.x // blocks
    count = u32(_tap_thread_count(batch.images[number], resizing))
    place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
    while place < count:
        _tap_step(number, place, batch, resizing)
        place = u32(place + u32(blocks * THREADS))


@kernel
def resize_flipped(batch, forms, resizing, blocks):
    """Transform the pairs, resized."""
    number = cuda.blockIdx.x // blocks
    count = u32(_resized_thread_count(batch.images[number], resizing))
    place = u32(u32(cuda.blockIdx.x - number * blocks) * u32(THREADS) + u32(cuda.threadIdx.x))
    while place < count:
        _resized_step(number, place, batch, forms, resizing)
        place = u32(place + u32(blocks * THREADS))


def blocks_of(places: int) -> int:
    """Return how many blocks an image of so many places has, at most: a power of two.

    So batches of about the same sizes have the same launches, which a graph then repeats.
    """
    blocks = -(-places // (THREADS * EACH))
    return 1 << max(blocks - 1, 0).bit_length()


def launch(
    batch: Batch,
    count: int,
    blocks: Iterable[tuple[str, int]],
    stream: Any = 0,
    forms: OutputLayout | None = None,
    resizing: Resizing | None = None,
) -> None:
    """Run all steps of a batch, in device memory, without waiting for them.

    batch: of device arrays.
    count: images.
    blocks: (step, int) pairs, how many blocks each image has in a step; steps that no image needs
      may be left out.
    stream: of numba-cuda; 0 is the default one.
    forms: where windows go that are to be transformed.
    resizing: room for their filters, where they are resized.
    """
    of = dict(blocks)
    with plain_arithmetic():
        for name, step in (*FIELDS, *PIXELS, *JPEG):
            if name in of:
                step[of[name] * count, THREADS, stream](batch, of[name])
        if forms is not None and resizing is not None:
            one = blocks_of(EACH * (resizing.rows + resizing.columns))  # a place for each thread
            taps[one * count, THREADS, stream](batch, resizing, one)
            all_of = blocks_of(EACH * resizing.rows * resizing.columns)
            resize_flipped[all_of * count, THREADS, stream](batch, forms, resizing, all_of)
        elif forms is not None:
            form[of["forms"] * count, THREADS, stream](batch, forms, of["forms"])


def launch_maps(
    batch: Batch,
    count: int,
    blocks: Iterable[tuple[str, int]],
    maps: Maps,
    stream: Any = 0,
    lit: bool = False,
) -> None:
    """Run the steps of a batch that maps need, as `launch` does; no low is made.

    lit: whether `launch` found its light just before.
    """
    of = dict(blocks)
    with plain_arithmetic():
        for name, step in () if lit else (*FIELDS, PIXELS[0]):
            if name in of:
                step[of[name] * count, THREADS, stream](batch, of[name])
        for name, step in MAPS:
            if name in of:
                step[of[name] * count, THREADS, stream](batch, maps, of[name])
