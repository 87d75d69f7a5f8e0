"""Fits: tone and noise of lows that a known recipe made are found again."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pillow_heif
import pytest
import yaml
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import SourceError
from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.fitting.adjust import (
    adjust_form,
    adjust_noise,
    adjust_tone,
    filled,
    initial_values,
    light_of_levels,
    own_tails,
    settings,
    tone_in,
    width,
    with_tone,
)
from gloam.synth.fitting.fit import fit
from gloam.synth.fitting.fitted_recipe import (
    CHANNELS,
    COLUMNS,
    Shared,
    broad_recipe,
    by_brightness,
    clip_to_bounds,
    column_indices,
    distribution_values,
    recipe_of_columns,
    recipe_values,
    table_values,
)
from gloam.synth.fitting.pairs import Pair, PairMeasures, maker_of, read_pairs, tone_levels
from gloam.synth.kernels.curves import CURVE_LEVELS, LEVEL_LIGHT
from gloam.synth.measures.columns import ALL_LABELS
from gloam.synth.measures.noise_and_tone import NOISE_LABELS, TONES
from gloam.synth.models import draw, render
from gloam.synth.recipes import load

HIDDEN = {
    "exposure.ev": 4.0,
    **{
        f"tone.curve.{channel}.{k}": float(f"{2**ev * LEVEL_LIGHT[level]:.4g}")
        for channel, ev in (("red", 0.3), ("green", 0), ("blue", 0))
        for k, level in enumerate(CURVE_LEVELS)
    },
    "noise.read.red": 1.2,
    "noise.read.green": 0.6,
    "noise.read.blue": 0.9,
    "noise.shot.red": 0.5,
    "noise.shot.green": 0.2,
    "noise.shot.blue": 0.3,
    "noise.correlation.red_green": 0.3,
}


def values(**changed: float) -> np.ndarray:
    """A row of `COLUMNS` with the hidden ones."""
    row = np.zeros(len(COLUMNS))
    for name, value in {**HIDDEN, **changed}.items():
        row[column_indices(name)] = value
    return row


def pictures(count: int) -> list[np.ndarray]:
    """Smooth scenes with all tones, 160 x 200."""
    made = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        rough = cv2.resize(
            rng.uniform(-0.1, 1.1, (6, 8, 3)), (200, 160), interpolation=cv2.INTER_CUBIC
        )
        made.append((255 * np.clip(rough, 0, 1)).astype(np.uint8))
    return made


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Twelve lows of the hidden parameters, and their normals."""
    root = tmp_path_factory.mktemp("real")
    lows, normals = root / "low", root / "normal"
    lows.mkdir()
    normals.mkdir()
    for i, normal in enumerate(pictures(12)):
        low = render(normal, draw(recipe_of_columns(values()[None], Shared(0.055)), 3, str(i)))
        Image.fromarray(low).save(lows / f"{i}.png")
        Image.fromarray(normal).save(normals / f"{i}.png")
    return lows, normals


def test_lows_of_pairs_are_those_of_each_pair_alone():
    normal, ones = pictures(1)[0], [{}, {"noise.kurtosis": 0.5}, {"highlights.sigma_ev": 1.0}]
    every = np.array([values(**{**one, "exposure.ev": 3.0 + i}) for i, one in enumerate(2 * ones)])
    keys = [str(i) for i in range(len(every))]
    maker = maker_of(every, Shared(0.055), 3, keys)
    for i, key in enumerate(keys):
        alone = draw(recipe_of_columns(every[i : i + 1], Shared(0.055)), 3, key)
        np.testing.assert_array_equal(maker.low(i, normal), render(normal, alone))


def test_tone_of_a_pair_is_found():
    normal = pictures(1)[0]
    row = values()
    low = render(normal, draw(recipe_of_columns(row[None], Shared(0.055)), 0, "a"))
    found = tone_levels(low, Pair("a", low, normal))
    light = np.interp(filled(found[None]), np.arange(256), light_of_levels(0.055))
    made = with_tone(row[None], light, 0.055)
    assert made[0, column_indices("exposure.ev")] == pytest.approx(4, abs=0.2)
    green = made[0, column_indices("tone.curve.green")]
    np.testing.assert_allclose(green[3:7], LEVEL_LIGHT[[64, 128, 192, 236]], rtol=0.2)
    np.testing.assert_allclose(tone_in(made, 0.055)[0], light[0], atol=0.05)
    red = made[0, column_indices("tone.curve.red")]
    assert np.log2(red[4] / green[4]) == pytest.approx(0.3, abs=0.15)


def test_levels_that_a_pair_lacks_are_those_that_go_with_its_others():
    rng = np.random.default_rng(0)
    steep = rng.normal(size=(40, 1, 1)) * np.linspace(0, 1, 8)
    levels = 2 ** (np.linspace(-1, 6, 8) + steep + 0.05 * rng.normal(size=(40, 3, 8))) - 0.5
    hidden = np.where(rng.uniform(size=levels.shape) < 0.2, np.nan, levels)
    found = filled(hidden)
    assert (np.diff(found, axis=2) >= 0).all()
    unknown = np.isnan(hidden)
    apart = np.log2(found + 0.5) - np.log2(np.maximum.accumulate(levels, axis=2) + 0.5)
    assert np.median(np.abs(apart[unknown])) < 0.1
    alone = filled(hidden[:1])  # by the gain of those beside them
    assert np.isfinite(alone).all()


def test_light_of_levels_is_the_curve_undone():
    light = light_of_levels(0.055)
    assert light[4] == 4
    assert light[255] == pytest.approx(255 * 12.92, rel=1e-3)


def test_settings_lie_between_gaps_in_some_channel():
    red = np.array([-0.4] * 6 + [0.0] * 20 + [0.05] * 10 + [0.3, np.nan])
    noise = np.stack([red, 0.1 * red, 0 * red], axis=1)
    assert settings(noise).tolist() == [0] * 6 + [1] * 32
    spread = settings(np.linspace(-1, 1, 60)[:, None] * np.ones(3))  # any ISO
    assert spread.max() >= 3
    assert (np.diff(spread) >= 0).all()


@pytest.mark.slow
def test_what_was_hidden_is_found_and_written(folders, tmp_path):
    out = tmp_path / "mine.yaml"
    arguments = [*map(str, folders), "--out", str(out), "--workers", "1"]
    said = CliRunner().invoke(command, ["fit", *arguments])
    assert said.exit_code == 0, said.output
    assert "camera settings" in said.output
    assert f"made of the same normals: {out.with_suffix('.png')}" in said.output
    recipe = gloam.load_recipe(str(out))
    assert isinstance(recipe, CameraRecipe)
    assert recipe.name == "mine"
    assert out.with_suffix(".png").exists()
    pairs = recipe.together["pairs"]
    medians = dict(zip(pairs.columns, np.median(pairs.rows, axis=0), strict=True))
    curve = recipe.noise.curve
    for i, channel in enumerate(CHANNELS):
        at = {}
        for found, own in ((True, medians), (False, HIDDEN)):
            read, shot = (own[f"noise.{part}.{channel}"] for part in ("read", "shot"))
            at[found] = np.sqrt(read**2 + 6.5 * shot)
        factor = np.exp(np.interp(6.5, curve.light.value, getattr(curve, channel).value))
        assert at[True] * factor == pytest.approx(at[False], rel=0.15), i
    balance = np.log2(medians["tone.curve.red.4"] / medians["tone.curve.green.4"])
    assert balance == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("folder.yaml", "folder.yaml: is a folder; name a file in it"),
        ("file/new/mine.yaml", "file is no folder"),
        ("mine.txt", "must end in .yaml"),
    ],
)
def test_where_it_cannot_write_it_does_not_begin(tmp_path, out, said):
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "file").touch()
    found = CliRunner().invoke(command, ["fit", "nowhere", "--out", str(tmp_path / out)])
    assert found.exit_code == 1
    assert f"--out {tmp_path / out}" in found.output
    assert said in found.output


@pytest.mark.parametrize("count", [1, 2])
def test_one_pair_is_enough_and_lows_alone_are(folders, tmp_path, count):
    lows, normals = tmp_path / "low", tmp_path / "normal"
    for source, target in zip(folders, (lows, normals), strict=True):
        target.mkdir()
        for path in sorted(source.iterdir())[:count]:
            (target / path.name).write_bytes(path.read_bytes())
    found = fit(lows, normals if count == 1 else None)
    assert any(f"with {'1 pair' if count == 1 else '2 lows'} other" in note for note in found.notes)
    assert any("lows alone" in note for note in found.notes) == (count != 1)
    drawn = draw(found.recipe(), 0, "a")
    assert bool(drawn.tone.curve.red) == (count == 1)
    assert drawn.exposure.ev > 1


def test_a_pair_whose_noise_has_a_longer_tail_gets_one_of_its_own():
    made = PairMeasures([dict.fromkeys(NOISE_LABELS, 1.0) for _ in range(6)], np.zeros((6, 3, 8)))
    rows = [dict(row) for row in made.rows]
    rows[2] |= {name: 3.0 for name in rows[2] if name.startswith("kurtosis_b")}
    real, shared = PairMeasures(rows, made.tone), Shared(0.035)
    before = np.tile(values(**{"noise.tail": 1.0}), (6, 1))
    after = own_tails(before, real, made, shared, np.ones((3, 13, 2)))
    moved = after != before
    blue = [column_indices(f"noise.{part}.blue")[0] for part in ("read", "tail")]
    assert np.argwhere(moved).tolist() == [[2, place] for place in sorted(blue)]
    assert after[2, blue[1]] > 1
    black = [
        row[blue[0]] ** 2 * width(row[blue[1]], shared.share[2]) for row in (before[2], after[2])
    ]
    assert black[0] == pytest.approx(black[1])


@pytest.mark.parametrize(
    ("far", "wide"),
    [(4.0, 0.037), (1.0, 0.1), (0.5, 0.183), (0.0, 0.272), (np.nan, 0.1)],  # black lows: NaN
)
def test_far_outliers_say_how_rare_wide_samples_are(far, wide):
    rows = [dict.fromkeys([*NOISE_LABELS, "exposure_ev"], 1.0)] * 6
    made = PairMeasures(rows, np.zeros((6, 3, 8)))
    outliers = {f"outliers_{channel}": far for channel in "rgb"}
    real = PairMeasures([row | outliers for row in made.rows], made.tone)
    before = Shared(0.035, wide=0.1)
    after = adjust_form(np.tile(values(), (6, 1)), real, made, before)
    assert after.wide == pytest.approx(wide, rel=0.1)
    assert recipe_values(after)["noise"]["wide_share"] == pytest.approx(after.wide, abs=1e-4)


@pytest.mark.parametrize("louder", [1, 8])
def test_all_forms_are_recipes(louder):
    rng = np.random.default_rng(5)
    rows = clip_to_bounds(values() * rng.uniform(0.9, 1.1, (12, len(COLUMNS))))
    rows[:, column_indices("noise.read", "noise.shot")] *= louder
    bright = rng.normal(0, 1, 12)
    rows[:, 0] += 0.5 * bright
    free, slope = by_brightness(rows, bright)
    assert slope == pytest.approx(0.5, abs=0.3)
    groups = np.repeat([0, 1], 6)
    for made in (
        table_values(free, Shared(0.04), slope),
        distribution_values(free, Shared(0.04), slope, groups),
        broad_recipe(free, Shared(0.04), slope, bright),
    ):
        recipe = load.recipe_of({"model": "camera", **made}, (), "fit")
        low = render(pictures(1)[0], draw(recipe, 0, "a"))
        assert 0 < low.mean() < 60


@pytest.mark.parametrize("count", [2, 3, 5, 8, 12])
def test_distributions_of_few_pairs_are_recipes(count):
    rng = np.random.default_rng(count)
    rows = clip_to_bounds(values() * rng.uniform(0.5, 1.5, (count, len(COLUMNS))))
    made = distribution_values(rows, Shared(0.04), 0.0, np.zeros(count, np.int64))
    draw(load.recipe_of({"model": "camera", **made}, (), "fit"), 0, "a")


def test_lows_that_are_not_darker_have_an_exposure(tmp_path):
    made = table_values(values(**{"exposure.ev": 0.0})[None], Shared(0.04), 0.0)
    file = tmp_path / "fitted.yaml"
    file.write_text(yaml.safe_dump({"model": "camera", **made}))
    assert draw(load.load_recipe(str(file)), 0, "a").exposure.ev == 0


def test_light_that_differs_within_tones_gets_a_smooth_field():
    rows = [dict.fromkeys(ALL_LABELS, 1.0) for _ in range(4)]
    tone = np.tile(np.linspace(2, 80, 8), (4, 3, 1))
    made = PairMeasures([row | {f"spread_{at}": 0.1 for at in TONES[:-1]} for row in rows], tone)
    spreads = 0.1, 0.3, 0.02, float("nan")
    real = PairMeasures(
        [
            row | {f"spread_{at}": own for at in TONES[:-1]}
            for row, own in zip(rows, spreads, strict=True)
        ],
        tone,
    )
    plain = initial_values(made, 0.04, paired=True)
    moved = adjust_tone(plain, real, made, 0.04, paired=True)
    sigmas = moved[:, column_indices("illumination.smooth.sigma_ev")[0]]
    assert sigmas.tolist() == pytest.approx([0, (1.5 * 0.08) ** 0.5, 0, 0])
    again = adjust_tone(moved, made, real, 0.04, paired=True)
    sigmas = again[:3, column_indices("illumination.smooth.sigma_ev")[0]]
    assert sigmas.tolist() == pytest.approx([0, 0, (1.5 * 0.0096) ** 0.5], abs=1e-6)


@pytest.mark.slow
def test_noise_that_falls_with_light_is_found_up_to_white(folders, tmp_path):
    """As cameras' JPEGs have it: their tone curve presses bright light together."""
    rng, noisy = np.random.default_rng(4), tmp_path / "noisy"
    noisy.mkdir()
    for path in folders[1].iterdir():
        normal = np.asarray(Image.open(path)).astype(float)
        spread = np.interp(normal, [0, 100, 220], [2, 4, 1])
        low = normal + spread * rng.normal(size=normal.shape)
        Image.fromarray(np.rint(low.clip(0, 255)).astype(np.uint8)).save(noisy / path.name)
    recipe = fit(noisy, folders[1], workers=1).recipe()
    for level, spread in ((100, 4.0), (160, 2.5), (215, 1.125)):
        flat = np.full((200, 200, 3), level, np.uint8)
        lows = [render(flat, draw(recipe, 0, str(key)))[..., 1] for key in range(12)]
        assert np.median([low.std() for low in lows]) == pytest.approx(spread, rel=0.15), level
        assert np.median([low.mean() for low in lows]) == pytest.approx(level, abs=4)


def test_parameters_that_no_pair_has_can_be_set():
    made = {"model": "camera", **table_values(values()[None], Shared(0.04), 0.0)}
    changed = load.recipe_of(made, ["illumination.smooth.sigma_ev=1"], "fit")
    assert draw(changed, 0, "a").illumination.smooth.sigma_ev == 1


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("what", ["no blue", "nearly black"])
def test_lows_that_show_little_are_fitted(folders, tmp_path, what, paired):
    lows = tmp_path / "low"
    lows.mkdir()
    for path in sorted(folders[0].iterdir())[:3]:
        low = cv2.imread(str(path))
        if what == "no blue":
            low[:, :, 0] = 0
        else:
            low //= 24
        cv2.imwrite(str(lows / path.name), low)
    normals = tmp_path / "normal"
    shutil.copytree(folders[1], normals)
    for path in normals.iterdir():
        if not (lows / path.name).exists():
            path.unlink()
    low = render(pictures(1)[0], draw(fit(lows, normals if paired else None).recipe(), 0, "a"))
    assert low.mean() < 60


def test_normals_that_are_white_are_refused(folders, tmp_path):
    lows, normals = tmp_path / "low", tmp_path / "normal"
    lows.mkdir()
    normals.mkdir()
    for path in sorted(folders[0].iterdir())[:2]:
        (lows / path.name).write_bytes(path.read_bytes())
        cv2.imwrite(str(normals / path.name), 255 * np.ones_like(cv2.imread(str(path))))
    with pytest.raises(SourceError, match="no pair shows how its low is darkened"):
        fit(lows, normals)


def test_distributions_of_one_pair_are_its_values():
    made = distribution_values(values()[None], Shared(0.04), 0, np.zeros(1, np.int64))
    drawn = draw(load.recipe_of({"model": "camera", **made}, (), "fit"), 0, "a")
    assert drawn.exposure.ev == HIDDEN["exposure.ev"]
    assert drawn.tone.curve.red[4] == HIDDEN["tone.curve.red.4"]


def test_a_broad_recipe_darkens_bright_normals_less():
    rows = np.tile(values(), (2, 1))
    rows[1, 0] += 1
    bright = np.array([0.5, 1.5])
    made = broad_recipe(rows, Shared(0.04), 0.4, bright)
    less = made["exposure"]["by_brightness"]
    assert less == pytest.approx(-0.32 * rows[:, 0].mean())
    drawn = np.array(made["together"]["pairs"]["rows"])[:, 0]
    assert np.ptp(drawn) == pytest.approx(0.7)
    assert (drawn + less * 1).mean() == pytest.approx((rows[:, 0] + 0.4 * 1).mean())


def test_the_quality_of_jpegs_is_read(folders, tmp_path):
    for path in sorted(folders[0].iterdir())[:2]:
        with Image.open(path) as low:
            low.save(tmp_path / f"{path.stem}.jpg", quality=80)
    with Image.open(path) as low:  # `Image.open` does not know HEIC
        pillow_heif.from_pillow(low).save(tmp_path / "x.heic")
    assert [pair.quality for pair in read_pairs(tmp_path, None, [])] == [80, 80, 0]
    assert {pair.quality for pair in read_pairs(*folders, [])} == {0}


def test_single_pairs_that_do_not_fit_are_left_out(folders, tmp_path):
    names = [path.name for path in sorted(folders[0].iterdir())]
    sides = [tmp_path / "low", tmp_path / "normal"]
    for side, source in zip(sides, folders, strict=True):
        shutil.copytree(source, side)
    for side, source in zip(sides, reversed(folders), strict=True):
        shutil.copy(source / names[0], side)
    shutil.copy(folders[1] / names[1], sides[0])
    left_out: list[str] = []
    assert len(read_pairs(*sides, left_out)) == len(names) - 2
    assert [line.split(", ")[0] for line in left_out] == [
        "1 of 12 images are brighter than their normals",
        "1 of 12 images are equal to their normals",
    ]
    left_out.clear()
    assert len(read_pairs(sides[0], None, left_out)) == len(names) - 2
    assert "daylight" in left_out[0]
    left_out.clear()
    (sides[1] / names[2]).write_bytes(b"")
    assert len(read_pairs(*sides, left_out)) == len(names) - 3
    assert left_out[0] == f"images left out, 1: {sides[1] / names[2]}: the file has no bytes"


def test_wrong_folders_get_one_line(folders, tmp_path):
    lows, normals = folders
    with pytest.raises(SourceError, match="daylight"):
        fit(normals)
    with pytest.raises(SourceError, match="name the lows first"):
        fit(normals, lows)
    with pytest.raises(SourceError, match="is named for the lows and for their normals"):
        fit(lows, lows)
    with pytest.raises(SourceError, match="not a folder"):
        fit(tmp_path / "nothing", normals)
    black = tmp_path / "black"
    black.mkdir()
    Image.fromarray(np.zeros((80, 80, 3), np.uint8)).save(black / "a.png")
    with pytest.raises(SourceError, match="one value each"):
        fit(black)
    Image.fromarray(np.zeros((20, 80, 3), np.uint8)).save(black / "a.png")
    with pytest.raises(SourceError, match="64 are the least"):
        read_pairs(black, None, [])


def test_noise_of_jpegs_moves_by_less_and_the_curve_ends_with_the_brightest_level():
    names = ["exposure_ev", *(f"correlation_{pair}" for pair in ("rg", "gb", "rb"))]
    plain = dict.fromkeys([*names, *NOISE_LABELS], 0.0)
    plain |= {name: 1.0 for name in plain if name.startswith("deviation")}
    louder = plain | {f"deviation_{c}_192": 1.2 for c in "rgb"}
    made, real = (PairMeasures([one] * 6, np.zeros((6, 3, 8))) for one in (plain, louder))
    places, steps = column_indices("noise.shot"), []
    for quality in (0, 75):
        values = np.zeros((6, len(COLUMNS)))
        values[:, column_indices("noise.read", "noise.shot")] = 0.5
        values[:, column_indices("degradations.jpeg.quality")] = quality
        moved, shared = adjust_noise(values, real, made, Shared(0.04), np.zeros(6, np.int64))
        steps.append(np.log(moved[:, places] / values[:, places]))
        assert (shared.curve[:, -1] > 0.05).all()
        assert (shared.curve[:, -1] > shared.curve[:, 5]).all()
    np.testing.assert_allclose(steps[1], 0.6 * steps[0])
    assert (steps[0] != 0).all()
