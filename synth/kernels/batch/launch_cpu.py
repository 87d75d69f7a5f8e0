"""The steps that maps take, on a CPU: for all places of a batch, one after the other.

They are those of `launch_cuda`, which a GPU runs side by side; lows have loops of their own on a
CPU (`kernels.camera`), as vectors are much of their speed. Nobody counts who holds arrays, as in
all row kernels.
"""

from __future__ import annotations

from ..arrays import u32
from ..compiling.compile import inlined_in_row, row_kernel
from . import chroma_steps as chroma
from . import degradation_steps as degraded
from . import illumination_steps as field
from . import map_steps as mapping
from . import noise_steps as noise
from . import pixel_steps as pixels


@inlined_in_row
def run_each(places_of, step, arguments):
    """Run a step for all places; the rest as of `launch_cuda`."""
    batch = arguments[0]
    for number in range(batch.images.shape[0]):
        image = batch.images[number]
        for place in range(places_of(image, batch.draws[image.draw], arguments[-1])):
            step(number, u32(place), *arguments)


@row_kernel
def find_light(batch):
    """Run the steps of `launch_cuda.LIGHT`."""
    run_each(field.luminance_thread_count, field.luminance_step, (batch,))
    run_each(field.lights_thread_count, field.lights_step, (batch,))
    run_each(field.cell_thread_count, field.field_step, (batch,))
    run_each(field.mean_thread_count, field.mean_step, (batch,))
    run_each(field.cell_thread_count, field.light_step, (batch,))
    run_each(field.lure_thread_count, field.lure_step, (batch,))
    run_each(field.emitter_thread_count, field.emitter_step, (batch,))
    run_each(field.table_thread_count, field.table_step, (batch,))
    run_each(degraded.spread_thread_count, degraded.spread_step, (batch,))


@row_kernel
def find_noise(batch, maps):
    """Run those steps of `launch_cuda.MAPS` that find levels and noise of pixels."""
    run_each(field.table_thread_count, noise.level_step, (batch, maps))
    run_each(noise.root_thread_count, noise.root_step, (batch, maps))
    run_each(noise.channel_thread_count, noise.channel_step, (batch, maps))
    run_each(pixels.site_thread_count, noise.mean_step, (batch, maps))
    run_each(noise.moment_thread_count, noise.moment_step, (batch, maps))
    run_each(chroma.blur_thread_count, noise.column_step, (batch, maps))
    run_each(noise.smooth_thread_count, noise.smooth_step, (batch, maps))


@row_kernel
def fill_maps(batch, maps):
    """Run the last of them."""
    run_each(mapping.map_thread_count, mapping.map_step, (batch, maps))
