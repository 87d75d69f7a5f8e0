"""Windows in form: flips as NumPy does them, resizing as DALI does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gloam.synth.kernels.arrays import Window
from gloam.synth.kernels.resize import flip_normalize, resize_taps, resized


@given(st.integers(1, 200), st.integers(1, 200))
def test_weights_sum_to_one_and_reach_no_further_than_a_pixel_and_the_filter(before, after):
    taps = resize_taps(before, after)
    assert np.abs(taps.weights.sum(axis=1) - 1).max() < 1e-5
    reach = max(before / after, 1.0)
    centre = (np.arange(after) + 0.5) * before / after - 0.5
    last = taps.first + taps.weights.shape[1] - 1
    assert (taps.first >= centre - reach - 2).all()
    assert (last <= centre + reach + 2).all()


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 90), st.integers(1, 90))
def test_a_plain_image_stays_as_it_is_at_every_size(height, width, rows, columns):
    image = np.full((height, width, 3), (7, 130, 255), np.uint8)
    made = resized(image, Window(0, 0, height, width), (rows, columns))
    assert made.shape == (rows, columns, 3)
    assert (made == image[0, 0]).all()


@given(st.integers(0, 2**32), st.integers(1, 50), st.integers(1, 50))
def test_a_window_is_resized_as_if_it_were_the_picture(seed, rows, columns):
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 40, 2))
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    top, left = int(rng.integers(height)), int(rng.integers(width))
    window = Window(top, left, height - top, width - left)
    part = np.ascontiguousarray(image[top:, left:])
    alone = resized(part, Window(0, 0, height - top, width - left), (rows, columns))
    assert (resized(image, window, (rows, columns)) == alone).all()


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 60))
def test_resizing_is_the_sum_of_what_the_taps_say(seed, rows, columns):
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 50, 2))
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    made = image.astype(np.float64)
    for axis, after in enumerate((rows, columns)):
        taps = resize_taps(made.shape[axis], after)
        places = taps.first[:, None] + np.arange(taps.weights.shape[1])
        parts = made.take(places.clip(0, made.shape[axis] - 1), axis)
        weights = taps.weights.astype(np.float64)
        shape = (1,) * axis + weights.shape + (1,) * (2 - axis)
        made = (parts * weights.reshape(shape)).sum(axis + 1)
    apart = np.abs(made - resized(image, Window(0, 0, height, width), (rows, columns)))
    assert apart.max() <= 0.5 + 1e-4


@pytest.mark.parametrize("size", [(48, 48), (20, 90), (150, 30), (100, 150), (1, 1)])
def test_resizing_is_that_of_dali(size):
    fn = pytest.importorskip("nvidia.dali.fn")
    from nvidia.dali import pipeline_def

    image = np.random.default_rng(0).integers(0, 256, (75, 100, 3)).astype(np.uint8)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline() -> Any:
        return fn.resize(fn.external_source(name="image", layout="HWC"), size=size, antialias=True)

    built = pipeline()
    built.build()
    built.feed_input("image", [image])
    theirs = np.asarray(built.run()[0].at(0)).astype(int)
    apart = np.abs(theirs - resized(image, Window(0, 0, 75, 100), size))
    # Sums in another order, rounded to whole levels: halves fall either way.
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.03


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@given(st.integers(0, 7), st.integers(0, 2**32))
def test_flips_are_those_of_numpy(last, kind, bits, seed):
    across, down, turned = bits & 1, bits >> 1 & 1, bits >> 2
    rng = np.random.default_rng(seed)
    side = int(rng.integers(1, 30))
    height = side if turned else int(rng.integers(1, 30))
    image = rng.integers(0, 256, (height, side, 3)).astype(np.uint8)
    steps = (1, 3 * side, 3) if last else (height * side, side, 1)
    shift, scale = (0.0, 1.0) if kind is np.uint8 else (127.5, 1 / 127.5)
    out = np.zeros(image.size, kind)
    flips = across, down, turned
    flip_normalize(image, flips, np.float32(shift), np.float32(scale), steps, out)
    wanted = image[:: -1 if down else 1, :: -1 if across else 1]
    wanted = wanted.transpose(1, 0, 2) if turned else wanted
    wanted = wanted if last else wanted.transpose(2, 0, 1)
    wanted = ((wanted.astype(np.float32) - np.float32(shift)) * np.float32(scale)).astype(kind)
    assert (out.reshape(wanted.shape) == wanted).all()
