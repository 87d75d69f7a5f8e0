"""Maps of a batch, as a GPU makes them, and of one image; at the ends of what cameras ask for."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.loaders.augment import CropFlip
from gloam.loaders.extras import transformed
from gloam.synth.draws.table import table_of_records
from gloam.synth.models import LowMaker, draw, draw_table
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.maps import MAPS, MapSpec, camera_maps, maps_of_batch

from ..overrides import APART, FORMS, NOISE_OF_CHANNELS, ON_SENSOR

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
        [*NOISE_OF_CHANNELS, *FORMS, "isp.demosaic=none", "isp.chroma.strength=0"],
        [*NOISE_OF_CHANNELS, *FORMS, "isp.demosaic=binned", "isp.chroma.strength=0.7"],
        ["isp.demosaic=malvar", *PATTERN],
        ["isp.demosaic=bilinear", "isp.chroma.strength=0", "degradations.motion.length=5"],
        [*NOISE_OF_CHANNELS, "isp.demosaic=malvar"],
        ["emitters.count=2", "exposure.by_brightness=0.5", "isp.demosaic=binned", *PATTERN],
    )
]


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
    spec = MapSpec(tuple(MAPS), size or (side, side), size, 127.5, 1 / 127.5)
    table, maker = table_of_records(draws), LowMaker(draws)
    found = maps_of_batch(normals, table, spec, np.arange(len(draws)), windows)
    ends = np.cumsum([len(kinds) for kinds in MAPS.values()])
    for i, normal in enumerate(normals):
        crop = CropFlip(*windows[i].tolist())
        wanted = maker.maps(i, normal, spec.names, crop.window)
        wanted["clean"] = (wanted["clean"] - 127.5) / 127.5
        wanted["noise"] = wanted["noise"] / 127.5
        for name, own in zip(MAPS, np.split(found[i], ends), strict=False):
            one = transformed(wanted[name], crop, size or crop.window[2:]).transpose(2, 0, 1)
            near = {"rtol": 2e-4, "atol": 2e-5, "err_msg": f"{name} of {i}"}
            np.testing.assert_allclose(own[:, : one.shape[1], : one.shape[2]], one, **near)
            assert not own[:, one.shape[1] :].any()
            assert not own[:, :, one.shape[2] :].any()


@pytest.mark.parametrize("noise", ["offset.green=0.5", "shot.red=0.05"])
def test_black_without_variance_has_noise_of_rounding_alone(noise):
    steep = ["tone.transfer=gamma", "tone.gamma=5", "isp.contrast=1", "isp.chroma.strength=0"]
    table = draw_table(
        load_recipe(ON_SENSOR, [f"noise.{noise}", "noise.read.red=0", *steep]), 3, ["a"]
    )
    found = camera_maps(np.zeros((8, 8, 3), np.uint8), table, 0)
    np.testing.assert_allclose(found["noise"], 12**-0.5, rtol=1e-6)


def test_noise_of_sensors_that_float32_does_not_hold_is_finite(tmp_path):
    file = tmp_path / "cameras.yaml"
    file.write_text(
        "cameras: {mine: {source: none, bits: 14, black: 512, white: 16383,"
        " by_iso: [[800, 0.8, 6.e+4, 6.e+4, -1, 0]]}}"
    )
    camera = [f"camera.file={file}", "camera.name=mine", "camera.iso=800", "isp.demosaic=none"]
    table = draw_table(load_recipe(ON_SENSOR, [*camera, "isp.digital_gain_ev=3"]), 3, ["a"])
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
    assert np.isfinite(camera_maps(levels, table, 0)["noise"]).all()
