"""The steps of a batch, which a GPU runs, here on the CPU: the same lows as image by image."""

from __future__ import annotations

import numba
import numpy as np

from gloam.synth.camera.batch import Tables, lay_out, plan_batch
from gloam.synth.camera.draw import CameraDraw
from gloam.synth.camera.pack import pack
from gloam.synth.kernels.batch import illumination_steps as field
from gloam.synth.kernels.batch import pixel_steps as pixels
from gloam.synth.kernels.batch.arrays import EACH, FIELD, THREADS, place_of
from gloam.synth.kernels.develop import ENCODE_CELLS
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe, shipped_recipes

MORE = [
    ["isp.demosaic=malvar"],
    ["isp.demosaic=bilinear", "isp.chroma.strength=0"],
    ["isp.demosaic=none", "isp.chroma.sigma=4.5"],
    ["camera.read_noise=gaussian", "camera.levels=255"],
    ["tone.strength=uniform(0, 1)", "exposure.ev=uniform(-2, 9)"],
    ["illumination.lamps.count=5", "illumination.lamps.warmth_ev=uniform(-3, 3)"],
    ["illumination.gradient.ev=uniform(-5, 5)", "tone.transfer=gamma"],
]


def over_places(step, count):
    @numba.njit(error_model="numpy")
    def run(batch):
        for i in range(batch.length * count):
            step(i // count, i % count, batch)

    return run


def over_images(step):
    @numba.njit(error_model="numpy")
    def run(batch):
        for i in range(batch.length):
            step(i, batch)

    return run


def over_work(step):
    @numba.njit(error_model="numpy")
    def run(batch, work):
        for block in range(work.first[-1]):
            place = place_of(block, work)
            first = (block - work.first[place]) * THREADS * EACH
            for i in range(THREADS * EACH):
                step(work.images[place], numba.uint32(first + i), batch)

    return run


def lows_of_a_batch(normals, draws):
    """As `kernels.batch.cuda.launch`, a thread after the other."""
    packed = pack(draws)
    plan = plan_batch(packed, [normal.shape[:2] for normal in normals])
    flat = np.concatenate([normal.reshape(-1) for normal in normals])
    low = np.full_like(flat, 77)

    def move(name, array):
        return np.concatenate([array, array[:1]])  # longer than needed, as on a GPU

    def room(name, shape, dtype):
        return np.full((shape[0] + 3, *shape[1:]), 77, dtype)

    batch = lay_out(plan, packed, (flat, low), Tables(move), move, room)
    over_places(field.luminance_step, FIELD)(batch)
    over_images(field.lights_step)(batch)
    over_places(field.field_step, FIELD)(batch)
    over_images(field.mean_step)(batch)
    over_places(field.light_step, FIELD)(batch)
    over_places(field.table_step, ENCODE_CELLS)(batch)
    for name, step in (
        ("rows", pixels.row_step),
        ("quads", pixels.quad_step),
        ("sites", pixels.site_step),
        ("mosaics", pixels.mosaic_step),
        ("blurs", pixels.blur_step),
        ("blurs", pixels.merge_step),
    ):
        over_work(step)(batch, plan.work[name])
    ends = np.cumsum([normal.size for normal in normals])[:-1]
    return [
        part.reshape(normal.shape)
        for part, normal in zip(np.split(low, ends), normals, strict=True)
    ]


def test_a_batch_of_any_sizes_and_recipes_has_the_lows_of_its_images(photograph):
    rng = np.random.default_rng(0)
    recipes = [load_recipe(name) for name in sorted(shipped_recipes())]
    recipes += [load_recipe("uneven", overrides) for overrides in MORE]
    normals, draws = [], []
    for i, recipe in enumerate([recipe for recipe in recipes if recipe.model == "camera"] * 3):
        height, width = (int(n) for n in rng.integers(1, photograph.shape[:2]))
        normals.append(np.ascontiguousarray(photograph[:height, -width:]))
        drawn = draw(recipe, 3, str(i))
        assert isinstance(drawn, CameraDraw)
        draws.append(drawn)
    for low, normal, drawn in zip(lows_of_a_batch(normals, draws), normals, draws, strict=True):
        assert (low == render(normal, drawn)).all(), drawn
