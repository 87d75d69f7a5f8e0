"""The steps of maps, which a GPU runs, here on the CPU: the same maps as image by image."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.loaders.augment import CropFlip
from gloam.loaders.extras import transformed
from gloam.synth.draws.table import table_of_records
from gloam.synth.kernels.batch import chroma_noise_steps as chroma
from gloam.synth.kernels.batch import chroma_steps, level_steps, map_steps, noise_steps
from gloam.synth.kernels.batch import illumination_steps as field
from gloam.synth.kernels.batch import pixel_steps as pixels
from gloam.synth.kernels.batch.map_planes import PLANES
from gloam.synth.kernels.compiling.compile import kernel
from gloam.synth.kernels.types import u32
from gloam.synth.models import LowMaker, draw
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.emitters import emitter_light, emitter_mask
from gloam.synth.render.plan import (
    MAP_CHANNELS,
    MapSpec,
    lay_out,
    lay_out_maps,
    map_tables,
    plan_batch,
    upload_draws,
    upload_tables,
)

from ..overrides import APART, CURVES, NOISE_OF_CHANNELS
from .test_plan import LIGHT, before, run

PATTERN = [
    "degradations.fixed_pattern.columns=2",
    "degradations.fixed_pattern.hot_share=0.02",
    "degradations.fixed_pattern.hot=80",
]
RECIPES = [
    load_recipe(APART, overrides)
    for overrides in (
        [],
        ["isp.demosaic=none", "isp.chroma.sigma=2.5"],
        ["isp.demosaic=binned", "isp.chroma.strength=0", "degradations.jpeg.quality=60"],
        ["isp.demosaic=none", "isp.chroma.strength=0", "degradations.motion.length=5"],
        [*NOISE_OF_CHANNELS, "isp.demosaic=binned"],
        [*NOISE_OF_CHANNELS, "isp.demosaic=none", "isp.chroma.strength=0"],
        [*NOISE_OF_CHANNELS, *CURVES, "isp.demosaic=none", "isp.chroma.strength=0"],
        [*NOISE_OF_CHANNELS, *CURVES, "isp.demosaic=binned", "isp.chroma.strength=0.7"],
        ["isp.demosaic=malvar", *PATTERN],
        ["isp.demosaic=bilinear", "isp.chroma.strength=0", "degradations.motion.length=5"],
        [*NOISE_OF_CHANNELS, "isp.demosaic=malvar"],
        ["emitters.count=2", "exposure.by_brightness=0.5", "isp.demosaic=binned", *PATTERN],
    )
]


@kernel
def fill_maps(batch, maps):
    """Run the steps of `kernels.batch.launch_cuda.MAPS`, one after the other."""
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(field.table_thread_count(image, batch.draws[image.draw], maps)):
            level_steps.level_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(level_steps.width_thread_count(image, batch.draws[image.draw], maps)):
            level_steps.width_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(noise_steps.channel_thread_count(image, batch.draws[image.draw], maps)):
            noise_steps.channel_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(pixels.site_thread_count(image, batch.draws[image.draw], maps)):
            noise_steps.mean_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(noise_steps.grain_thread_count(image, batch.draws[image.draw], maps)):
            noise_steps.grain_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(noise_steps.moment_thread_count(image, batch.draws[image.draw], maps)):
            noise_steps.moment_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(chroma_steps.blur_thread_count(image, batch.draws[image.draw], maps)):
            chroma.column_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(chroma.smooth_thread_count(image, batch.draws[image.draw], maps)):
            chroma.smooth_step(number, u32(place), batch, maps)
    for number in range(len(batch.images)):
        image = batch.images[number]
        for place in range(map_steps.map_thread_count(image, batch.draws[image.draw], maps)):
            map_steps.map_step(number, u32(place), batch, maps)


def maps_of_a_batch(normals, table, windows, spec):
    """All maps of a batch, float32 array (N, planes, h, w)."""
    sizes = np.array([normal.shape[:2] for normal in normals])
    flat = np.concatenate([normal.reshape(-1) for normal in normals])
    plan = plan_batch(table, sizes, (before(sizes), before(sizes)), windows=windows)

    def move(name, array):
        return np.array(array)

    def room(name, shape, dtype):
        return np.full((shape[0] + 100, *shape[1:]), 77, dtype)

    uploaded = upload_tables(move) | upload_draws(table, move)
    batch = lay_out(plan, plan.images, (flat, np.zeros(1, np.uint8)), uploaded, room)
    into = np.zeros((len(normals), spec.planes, *spec.room), np.float32)
    maps = lay_out_maps(plan, spec, table, into.reshape(-1), map_tables(move), room, move)
    # Graphs that a GPU recorded keep it: it may change with the memory alone.
    assert maps.stride == len(maps.pixels) // PLANES
    run(LIGHT, plan, batch)
    fill_maps(batch, maps)
    return into


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, (24, 40), (64, 64)])
def test_maps_of_a_batch_are_those_of_its_images(photograph, size):
    rng = np.random.default_rng(3)
    draws = [draw(recipe, 7, str(i)) for i, recipe in enumerate(RECIPES)]
    normals, windows = [], np.zeros((len(draws), 7), np.int64)
    for i in range(len(draws)):
        height, width = (int(rng.integers(50, most + 1)) for most in photograph.shape[:2])
        normals.append(np.ascontiguousarray(photograph[:height, -width:]))
        top, left = int(rng.integers(20)), int(rng.integers(20))
        turned = 0 if size == (24, 40) else rng.integers(0, 2)
        windows[i] = top, left, height - top - 3, width - left, *rng.integers(0, 2, 2), turned
    side = int(windows[:, 2:4].max())
    spec = MapSpec(tuple(MAP_CHANNELS), size or (side, side), size, 127.5, 1 / 127.5)
    found = maps_of_a_batch(normals, table_of_records(draws), windows, spec)
    maker = LowMaker(draws)
    for i, (normal, drawn) in enumerate(zip(normals, draws, strict=True)):
        crop = CropFlip(*windows[i].tolist())
        whole = maker.noise_map(i, normal, crop.window)
        wanted = {name.replace("_", "-"): one for name, one in whole._asdict().items()}
        wanted["clean"] = (wanted["clean"] - 127.5) / 127.5
        wanted["noise"] = wanted["noise"] / 127.5
        wanted["mask"] = emitter_mask(normal, drawn, crop.window).astype(np.float32)
        wanted["emitter-light"] = emitter_light(normal, drawn, crop.window)
        for name, first in spec.first_planes.items():
            one = transformed(wanted[name], crop, size or crop.window[2:]).transpose(2, 0, 1)
            own = found[i, first : first + MAP_CHANNELS[name]]
            near = {"rtol": 2e-4, "atol": 2e-5, "err_msg": f"{name} of {i}"}
            np.testing.assert_allclose(own[:, : one.shape[1], : one.shape[2]], one, **near)
            assert not own[:, one.shape[1] :].any()
            assert not own[:, :, one.shape[2] :].any()
