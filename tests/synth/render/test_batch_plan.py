"""The steps of a batch, which a GPU runs, here on the CPU: the same lows as image by image."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from gloam.loaders.augment import CropFlip
from gloam.synth.clips import render_clip
from gloam.synth.draws.record import CameraDraw
from gloam.synth.draws.table import frame_table, table_of_records
from gloam.synth.kernels.arrays import Window
from gloam.synth.kernels.batch import chroma_steps as chroma
from gloam.synth.kernels.batch import degradation_steps as degraded
from gloam.synth.kernels.batch import illumination_steps as field
from gloam.synth.kernels.batch import jpeg_steps as jpeg
from gloam.synth.kernels.batch import pixel_steps as pixels
from gloam.synth.kernels.batch.image_state import (
    KINDS,
    next_place,
    nothing,
    row_and_column,
    site_state,
)
from gloam.synth.kernels.batch.launch_cpu import run_each
from gloam.synth.kernels.batch.resize_steps import (
    OutputLayout,
    Resizing,
    flip_step,
    flip_thread_count,
    resized_step,
    resized_thread_count,
    tap_step,
    tap_thread_count,
)
from gloam.synth.kernels.resize import flip_normalize, resized, tap_count
from gloam.synth.models import draw, draw_table, render
from gloam.synth.recipes.load import load_recipe, shipped_recipes
from gloam.synth.render.batch_plan import lay_out, plan_batch, upload_draws, upload_tables

from ..overrides import APART, FORMS, NOISE_OF_CHANNELS

PATTERN = [
    "degradations.fixed_pattern.columns=3",
    "degradations.fixed_pattern.hot_share=0.01",
    "degradations.fixed_pattern.hot=300",
]
GRID = [
    "illumination.scene_light.grid.sigma_ev=1",
    "illumination.scene_light.grid.cells=choice(1, 3, 8)",
    "illumination.scene_light.grid.levels=choice(1, 2, 5, 8)",
]
MORE = [
    ["isp.demosaic=malvar"],
    ["isp.demosaic=bilinear", "isp.chroma.strength=0"],
    ["isp.demosaic=none", "isp.chroma.sigma=4.5"],
    ["camera.read_noise=gaussian", "camera.levels=255"],
    ["tone.strength=uniform(0, 1)", "exposure.ev=uniform(-2, 9)"],
    ["illumination.lamps.count=5", "illumination.lamps.warmth_ev=uniform(-3, 3)"],
    ["illumination.gradient.ev=uniform(-5, 5)", "tone.transfer=gamma"],
    ["degradations.motion.length=7", "degradations.defocus.radius=1.5", "isp.demosaic=malvar"],
    ["degradations.motion.length=5", "highlights.ev=2", "degradations.banding.depth=0.5"],
    [*PATTERN, "isp.demosaic=bilinear", "degradations.jpeg.quality=60"],
    [*PATTERN, "degradations.jpeg.quality=85", "isp.chroma.strength=0"],
    [*PATTERN, "isp.demosaic=none", "degradations.jpeg.quality=30"],
    ["degradations.jpeg.quality=75", "degradations.jpeg.chroma=4:4:4", "isp.chroma.sigma=4"],
    NOISE_OF_CHANNELS,
    [*NOISE_OF_CHANNELS, *FORMS],
    [*NOISE_OF_CHANNELS, *FORMS, "degradations.motion.length=4", "isp.demosaic=malvar"],
    ["illumination.scene_light.undone=uniform(-3, 3)", "tone.shoulder=2", "exposure.ev=0.5"],
    [*GRID, "illumination.scene_light.pools.count=3", "illumination.scene_light.pools.ev=5"],
    [*GRID, "illumination.scene.strength=0.5", "degradations.motion.length=4", "highlights.ev=2"],
    [
        *GRID,
        "isp.demosaic=malvar",
        "illumination.lights.count=2",
        "illumination.lights.warmth_ev=2",
        "illumination.scene_light.ambient=0.2",
        "illumination.scene_light.pools.count=choice(0, 2)",
    ],
    [
        "emitters.count=choice(0, 1, 3)",
        "emitters.temperature=uniform(1500, 9000)",
        "emitters.glow.share=choice(0, 0.2)",
        "emitters.streaks.lines=choice(0, 3)",
        "degradations.motion.length=choice(0, 5)",
        "illumination.lights.count=choice(0, 2)",
        "illumination.lights.warmth_ev=2",
        "exposure.by_brightness=choice(0, 0.5)",
        "isp.demosaic=choice(binned, malvar)",
    ],
]


def over(places, step):
    @numba.njit(error_model="numpy", _nrt=False)
    def run(batch):
        run_each(places, step, (batch,))

    return run


STRIDE = 37  # threads, one after the other, as a GPU has them side by side


def holding(held, places, step, fetch=nothing):
    @numba.njit(error_model="numpy", _nrt=False)
    def run(batch):
        for number in range(len(batch.images)):
            own = batch.images[number]
            image, count = held(number, batch), places(own, batch.draws[own.draw], batch)
            for first in range(min(STRIDE, count)):
                place, far = numba.uint32(first), numba.uint32(STRIDE)
                row, column = row_and_column(place, image.columns)
                down, right = row_and_column(far, image.columns)
                fetched = fetch(image, row, column, batch)
                while place < count:
                    now, own_row, own_column, taken = place, row, column, fetched
                    place, row, column = next_place(
                        place, row, column, (far, down, right), image.columns
                    )
                    if place < count:
                        fetched = fetch(image, row, column, batch)
                    step(image, now, own_row, own_column, taken, batch)

    return run


STEPS = {
    "luminance": over(field.luminance_thread_count, field.luminance_step),
    "lights": over(field.lights_thread_count, field.lights_step),
    "fields": over(field.cell_thread_count, field.field_step),
    "means": over(field.mean_thread_count, field.mean_step),
    "light": over(field.cell_thread_count, field.light_step),
    "lures": over(field.lure_thread_count, field.lure_step),
    "emitters": over(field.emitter_thread_count, field.emitter_step),
    "tables": over(field.table_thread_count, field.table_step),
    "spreads": holding(degraded.spread_state, degraded.spread_thread_count, degraded.spread_place),
    "emitter_spreads": holding(
        degraded.emitter_spread_state, degraded.spread_thread_count, degraded.spread_place
    ),
    "patterns": over(degraded.pattern_thread_count, degraded.pattern_step),
    "rows": over(pixels.row_thread_count, pixels.row_step),
    "gaussians": over(pixels.gaussian_thread_count, pixels.gaussian_step),
    **{
        f"{kind}quads": holding(
            state, pixels.quad_thread_count, pixels.quad_step, pixels.quad_levels
        )
        for kind, state in KINDS
    },
    "sites": holding(site_state, pixels.site_thread_count, pixels.site_step, pixels.site_levels),
    **{
        f"{kind}mosaics": holding(state, pixels.mosaic_thread_count, pixels.mosaic_step)
        for kind, state in KINDS
    },
    "blurs": holding(chroma.blurred_image, chroma.blur_thread_count, chroma.blur_step),
    "merges": holding(chroma.merged_image, chroma.merge_thread_count, chroma.merge_step),
    "samples": over(jpeg.sample_thread_count, jpeg.sample_step),
    "transforms": over(jpeg.sample_thread_count, jpeg.transform_step),
    "quantisations": over(jpeg.sample_thread_count, jpeg.quantise_step),
    "restorations": over(jpeg.sample_thread_count, jpeg.restore_step),
    "returns": over(jpeg.sample_thread_count, jpeg.return_step),
    "decodes": over(jpeg.decode_thread_count, jpeg.decode_step),
}


@numba.njit(error_model="numpy", _nrt=False)
def form(batch, forms):
    run_each(flip_thread_count, flip_step, (batch, forms))


@numba.njit(error_model="numpy", _nrt=False)
def resize_flipped(batch, forms, resizing):
    run_each(tap_thread_count, tap_step, (batch, forms, resizing))
    run_each(resized_thread_count, resized_step, (batch, forms, resizing))


def run(steps, plan, batch):
    """Run those steps that the plan has, a thread after the other, as `launch_cuda.launch`."""
    for name, step in steps.items():
        if name in plan.places:
            step(batch)


def before(sizes):
    samples = 3 * np.prod(np.array(sizes, np.int64).reshape(-1, 2), axis=1)
    return np.cumsum(samples) - samples


def lows_of_a_batch(
    normals, table, numbers=None, windows=None, forms=None, formed=None, resizing=None, firsts=None
):
    """Run `kernels.batch.launch_cuda`'s steps, a thread after the other; return the lows, flat."""
    sizes = [normal.shape[:2] for normal in normals]
    own = sizes if windows is None else windows[:, 2:4]
    plan = plan_batch(
        table,
        np.array(sizes),
        (before(sizes), before(own)),
        firsts=None if firsts is None else before(sizes)[firsts],
        numbers=numbers,
        windows=windows,
        formed=formed,
    )
    flat = np.concatenate([normal.reshape(-1) for normal in normals])
    low = np.full(3 * int(np.prod(own, axis=1).sum()), 77, np.uint8)

    def move(name, array):
        return np.concatenate([array, array[:1]])  # longer than needed, as on a GPU

    def room(name, shape, dtype):
        return np.full((shape[0] + 3, *shape[1:]), 77, dtype)

    uploaded = upload_tables(move) | upload_draws(table, move)
    batch = lay_out(plan, plan.images, (flat, low), uploaded, room)
    run(STEPS, plan, batch)
    if resizing is not None:
        resize_flipped(batch, forms, resizing)
    elif forms is not None:
        form(batch, forms)
    return [
        part.reshape(*size, 3)
        for part, size in zip(np.split(low, before(own)[1:]), np.asarray(own), strict=True)
    ]


@pytest.mark.slow
def test_a_batch_of_any_sizes_and_recipes_has_the_lows_of_its_images(photograph):
    rng = np.random.default_rng(0)
    recipes = [load_recipe(name) for name in sorted(shipped_recipes())]
    recipes += [load_recipe(APART, overrides) for overrides in MORE]
    normals, draws = [], []
    for i, recipe in enumerate([recipe for recipe in recipes if recipe.model == "camera"] * 3):
        height, width = (int(n) for n in rng.integers(1, photograph.shape[:2]))
        normals.append(np.ascontiguousarray(photograph[:height, -width:]))
        drawn = draw(recipe, 3, str(i))
        assert isinstance(drawn, CameraDraw)
        draws.append(drawn)
    for low, normal, drawn in zip(
        lows_of_a_batch(normals, table_of_records(draws)), normals, draws, strict=True
    ):
        assert (low == render(normal, drawn)).all(), drawn


@pytest.mark.slow
def test_frames_of_clips_are_lit_as_the_first_ones_are(photograph):
    recipe = load_recipe("even:0.5,uneven:0.5", ["mixture.uneven.video.flicker_ev=uniform(0, 1)"])
    keys, frames = [f"clip{i}" for i in range(6)], 3
    clips = [
        [np.ascontiguousarray(photograph[i + n : i + n + 60, 2 * n :][:, :80]) for n in range(3)]
        for i in range(len(keys))
    ]
    table = frame_table(draw_table(recipe, 9, keys), frames)
    firsts = np.repeat(np.arange(len(keys)) * frames, frames)
    lows = lows_of_a_batch([frame for clip in clips for frame in clip], table, firsts=firsts)
    for number, (key, clip) in enumerate(zip(keys, clips, strict=True)):
        wanted = render_clip(clip, draw(recipe, 9, key))
        np.testing.assert_array_equal(lows[number * frames :][:frames], wanted)


@pytest.mark.slow
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("channels_last", [False, True])
def test_windows_of_any_draws_are_those_of_the_whole_lows_flipped_and_turned(
    photograph, channels_last, floats
):
    rng = np.random.default_rng(1)
    side, count = 40, 24
    recipes = [load_recipe(APART, overrides) for overrides in MORE]
    draws = [draw(recipe, 5, str(i)) for i, recipe in enumerate(recipes)]
    numbers = rng.integers(0, len(draws), count)
    normals, windows = [], np.zeros((count, 7), np.int64)
    for i in range(count):
        height, width = (int(rng.integers(side, most + 1)) for most in photograph.shape[:2])
        normals.append(np.ascontiguousarray(photograph[:height, :width]))
        top, left = rng.integers(0, height - side + 1), rng.integers(0, width - side + 1)
        windows[i] = top, left, side, side, *rng.integers(0, 2, 3)
    samples = 3 * side * side
    formed = np.arange(count) * samples
    kind, change = (np.float32, (127.5, 1 / 127.5)) if floats else (np.uint8, (0, 1))
    shift, scale = map(np.float32, change)
    forms = OutputLayout(
        np.zeros(count * samples, kind),
        np.zeros(count * samples, kind),
        shift,
        scale,
        *((1, 3) if channels_last else (side * side, 1)),
    )
    lows = lows_of_a_batch(
        normals, table_of_records(draws), numbers, windows, forms, (formed, formed)
    )
    for i, (low, normal, window) in enumerate(zip(lows, normals, windows, strict=True)):
        whole = render(normal, draws[numbers[i]])
        change = CropFlip(*window.tolist())
        part = slice(change.top, change.top + side), slice(change.left, change.left + side)
        assert (low == whole[part]).all(), change
        for image, made in ((whole, forms.low), (normal, forms.normal)):
            wanted = _changed(image, change)
            wanted = wanted if channels_last else wanted.transpose(2, 0, 1)
            wanted = ((wanted.astype(np.float32) - shift) * scale).astype(kind)
            assert (made[formed[i] :][:samples].reshape(wanted.shape) == wanted).all(), change


@pytest.mark.slow
@pytest.mark.parametrize("size", [(24, 24), (64, 40), (1, 90)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_windows_are_resized_as_image_by_image(photograph, channels_last, size):
    rng = np.random.default_rng(2)
    count, (rows, columns) = 16, size
    drawn = draw(load_recipe("uneven"), 5, "a")
    normals, windows = [], np.zeros((count, 7), np.int64)
    for i in range(count):
        height, width = (int(rng.integers(1, most + 1)) for most in photograph.shape[:2])
        normals.append(np.ascontiguousarray(photograph[:height, :width]))
        top, left = int(rng.integers(height)), int(rng.integers(width))
        kept = height - top, width - left
        flips = [*rng.integers(0, 2, 2), rng.integers(0, 1 + (rows == columns))]
        windows[i] = top, left, *kept, *flips
    samples = 3 * rows * columns
    formed = np.arange(count) * samples
    shift, scale = np.float32(127.5), np.float32(1 / 127.5)
    low, normal = np.zeros((2, count * samples), np.float32)
    forms = OutputLayout(
        low, normal, shift, scale, *((1, 3) if channels_last else (rows * columns, 1))
    )
    most = max(tap_count(int(windows[:, 2 + i].max()), size[i]) for i in range(2)) + 3
    sides = count * (rows + columns)
    room = (
        np.full(sides, 77, np.int32),
        np.full(2 * count, 77, np.int32),
        np.full(sides * most, 77, np.float32),
    )
    resizing = Resizing(rows, columns, most, *room)
    numbers = np.zeros(count, np.int64)
    lows = lows_of_a_batch(
        normals, table_of_records([drawn]), numbers, windows, forms, (formed, formed), resizing
    )
    steps = (1, 3 * columns, 3) if channels_last else (rows * columns, columns, 1)
    for i, change in enumerate(CropFlip(*window) for window in windows.tolist()):
        inside = Window(0, 0, change.height, change.width)
        for image, window, made in (
            (lows[i], inside, low),
            (normals[i], change.window, normal),
        ):
            wanted = np.zeros(samples, np.float32)
            flips = int(change.across), int(change.down), int(change.turned)
            flip_normalize(resized(image, window, size), flips, shift, scale, steps, wanted)
            assert (made[formed[i] :][:samples] == wanted).all(), change


def _changed(image: Any, change: CropFlip) -> Any:
    """A window of an image, flipped, then turned."""
    window = change.window
    image = image[window.top :, window.left :][: window.height, : window.width]
    image = image[:: -1 if change.down else 1, :: -1 if change.across else 1]
    return image.transpose(1, 0, 2) if change.turned else image
