"""The steps of a batch as CUDA kernels: one launch a step for all images. Needs numba-cuda."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from ..compiling.for_cuda import device, kernel, plain_arithmetic
from ..develop import ENCODE_CELLS
from . import arrays
from . import illumination_steps as field
from . import pixel_steps as pixels
from .arrays import EACH, FIELD, THREADS, Batch, Work

u32 = np.uint32

place_of = device(arrays.place_of)
luminance_step, lights_step = device(field.luminance_step), device(field.lights_step)
field_step, mean_step = device(field.field_step), device(field.mean_step)
light_step, table_step = device(field.light_step), device(field.table_step)
row_step, quad_step = device(pixels.row_step), device(pixels.quad_step)
site_step = device(pixels.site_step)
mosaic_step = device(pixels.mosaic_step)
blur_step, merge_step = device(pixels.blur_step), device(pixels.merge_step)


@kernel
def luminance(batch):
    """Fill the mean luminance of all cells of images that need it."""
    i = cuda.grid(1)
    luminance_step(i // FIELD, i % FIELD, batch)


@kernel
def lights(batch):
    """Find the cells of all lights."""
    i = cuda.grid(1)
    if i < batch.length:
        lights_step(i, batch)


@kernel
def fields(batch):
    """Fill the fields in EV."""
    i = cuda.grid(1)
    field_step(i // FIELD, i % FIELD, batch)


@kernel
def means(batch):
    """Fill the fields' means."""
    i = cuda.grid(1)
    if i < batch.length:
        mean_step(i, batch)


@kernel
def light(batch):
    """Fill the factors on scene light."""
    i = cuda.grid(1)
    light_step(i // FIELD, i % FIELD, batch)


@kernel
def tables(batch):
    """Fill the encoding tables."""
    i = cuda.grid(1)
    table_step(i // ENCODE_CELLS, i % ENCODE_CELLS, batch)


def _over_work(name: str, step: Any) -> Any:
    """Make the kernel of a step that is a function of an image and a place in it."""

    def run(batch, work):
        place = place_of(cuda.blockIdx.x, work)
        first = (cuda.blockIdx.x - work.first[place]) * (EACH * THREADS) + cuda.threadIdx.x
        for each in range(EACH):
            step(work.images[place], u32(first + each * THREADS), batch)

    run.__name__ = name
    return kernel(run)


rows, quads, sites = (
    _over_work("rows", row_step),
    _over_work("quads", quad_step),
    _over_work("sites", site_step),
)
mosaics, blurs, merges = (
    _over_work("mosaics", mosaic_step),
    _over_work("blurs", blur_step),
    _over_work("merges", merge_step),
)

OVER_IMAGES = (lights, means)
OVER_CELLS = (luminance, fields, light)
OVER_WORK = (rows, quads, sites, mosaics, blurs, merges)


def launch(batch: Batch, work: dict[str, Work], blocks: dict[str, int], stream: Any = 0) -> None:
    """Run all steps of a batch, in device memory, without waiting for them.

    Parameters
    ----------
    batch : Batch
        Of device arrays.
    work : dict of step to Work
        "rows", "quads", "sites", "mosaics", "blurs" (for merging too); steps without images may be
        left out.
    blocks : dict of step to int
        How many blocks each `Work` has.
    stream : CUDA stream
        Of numba-cuda; 0 is the default one.
    """
    count = batch.length
    over_images = -(-count // THREADS), THREADS, stream
    over_cells = count * (FIELD // THREADS), THREADS, stream
    with plain_arithmetic():
        luminance[over_cells](batch)
        lights[over_images](batch)
        fields[over_cells](batch)
        means[over_images](batch)
        light[over_cells](batch)
        tables[count * (ENCODE_CELLS // THREADS), THREADS, stream](batch)
        for name, step in (
            ("rows", rows),
            ("quads", quads),
            ("sites", sites),
            ("mosaics", mosaics),
            ("blurs", blurs),
            ("blurs", merges),
        ):
            if blocks.get(name):
                step[blocks[name], THREADS, stream](batch, work[name])
