"""Calibrations of cameras that are known: raw files written here, read by LibRaw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tifffile
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import gloam
from gloam.cli.main import gloam as command
from gloam.synth.calibrating.calibrate import calibrate
from gloam.synth.calibrating.estimates import Transfer, gain_of, tukey_of
from gloam.synth.calibrating.raw_files import read_header

rawpy = pytest.importorskip("rawpy")
SHAPE = (400, 600)
CAMERAS = {  # K, Tukey scale, lambda, row, black, white
    "full frame": (2.5, 3.0, -0.1, 0.6, 512, 16383),
    "telephone": (1.2, 2.0, 0.1, 0.4, 64, 1023),
    "small": (0.6, 1.4, 0.0, 0.9, 256, 4095),
}


def dng(path: Path, samples: np.ndarray, iso: int, seconds: float, camera, maker="Gloam One"):
    """A raw file of a 2 x 2 mosaic, as converters write them."""
    black, white = camera[4:]
    path.parent.mkdir(parents=True, exist_ok=True)
    tifffile.imwrite(
        path,
        samples,
        photometric=32803,
        compression=None,
        extratags=[
            (271, 2, None, "Gloam", True),
            (272, 2, None, maker, True),
            (33421, 3, 2, (2, 2), True),
            (33422, 1, 4, (0, 1, 1, 2), True),
            (33434, 5, 1, (1, round(1 / seconds)), True),
            (34855, 3, 1, iso, True),
            (50706, 1, 4, (1, 4, 0, 0), True),
            (50708, 2, None, maker, True),
            (50714, 3, 1, black, True),
            (50717, 3, 1, white, True),
        ],
    )


def exposed(rng, camera, light=0.0, shape=SHAPE):
    """Whole DN of a sensor under light, in electrons of the mean, alone or an array."""
    gain, scale, shape_of, row, black, white = camera
    u = rng.uniform(1e-9, 1 - 1e-9, shape)
    tukey = np.log(u / (1 - u)) if shape_of == 0 else (u**shape_of - (1 - u) ** shape_of) / shape_of
    electrons = rng.poisson(np.broadcast_to(light, shape))
    rows = rng.normal(0, row, (shape[0], 1))
    dn = np.rint(black + gain * electrons + scale * tukey + rows)
    return np.clip(dn, 0, white).astype(np.uint16)


def write_session(folder, name, iso=800, darks=6, levels=(0.08, 0.2, 0.4, 0.7), seed=0):
    camera, rng = CAMERAS[name], np.random.default_rng(seed)
    full = (camera[5] - camera[4]) / camera[0]
    y, x = np.mgrid[-1 : 1 : SHAPE[0] * 1j, -1 : 1 : SHAPE[1] * 1j]
    falloff = 1 - 0.08 * (x * x + y * y)  # as lenses have it, mildly
    for number in range(darks):
        dng(folder / f"dark-{iso}-{number}.dng", exposed(rng, camera), iso, 1 / 4000, camera)
    for level in levels:
        for number in range(2):
            samples = exposed(rng, camera, full * level * falloff)
            path = folder / f"flat-{iso}-{level}-{number}.dng"
            dng(path, samples, iso, level / 10, camera)
    return folder


def test_raw_files_say_how_they_were_taken(tmp_path):
    camera = CAMERAS["full frame"]
    samples = exposed(np.random.default_rng(0), camera, 100.0)
    dng(tmp_path / "a.dng", samples, 1600, 1 / 50, camera)
    header = read_header(tmp_path / "a.dng")
    assert header.camera == "Gloam Gloam One"
    assert (header.iso, header.seconds) == (1600, 0.02)
    assert (header.black, header.white) == (512, 16383)
    np.testing.assert_array_equal(header.mosaic(), samples)


@pytest.mark.parametrize("name", CAMERAS)
def test_known_cameras_are_found(name, tmp_path):
    gain, scale, shape, row, black, white = CAMERAS[name]
    write_session(tmp_path, name)
    found = calibrate(tmp_path)
    (one,) = found.isos
    assert (one.darks, one.flats) == (6, 8)
    assert found.findings == []
    assert (found.black, found.white) == (black, white)
    u = np.linspace(0.5e-6, 1 - 0.5e-6, 1_000_000)
    tukey = np.log(u / (1 - u)) if shape == 0 else (u**shape - (1 - u) ** shape) / shape
    read = scale * tukey.std()
    assert one.gain.value == pytest.approx(gain, rel=0.01)
    assert one.dark.read.value == pytest.approx(read, rel=0.03)
    assert one.dark.tukey.value == pytest.approx(scale, rel=0.03)
    assert one.dark.shape.value == pytest.approx(shape, abs=0.02)
    assert one.dark.row.value == pytest.approx(row, rel=0.03)
    for estimate, true in ((one.gain, gain), (one.dark.read, read), (one.dark.row, row)):
        assert 0 < estimate.error < 0.03 * true
        assert abs(estimate.value - true) < 5 * estimate.error + 0.005 * true


def test_the_command_writes_what_recipes_take(tmp_path, photographs):
    for iso in (400, 1600):
        write_session(tmp_path / "raws", "full frame", iso, darks=3, levels=(0.1, 0.5))
    out = tmp_path / "camera.yaml"
    run = CliRunner()
    arguments = ["calibrate", str(tmp_path / "raws"), "--out", str(out)]
    said = run.invoke(command, [*arguments, "--figure", str(tmp_path / "figure.png")])
    assert said.exit_code == 0, said.output
    assert "±" in said.output
    entry = yaml.safe_load(out.read_text())["cameras"]["gloam-gloam-one"]
    assert [row[0] for row in entry["by_iso"]] == [400, 1600]
    assert len(entry["standard_errors"][0]) == 6
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
    recipe = gloam.load_recipe(
        "even", [f"camera.file={out}", "camera.name=gloam-gloam-one", "camera.iso=400"]
    )
    assert recipe.camera.own["gloam-gloam-one"].white == 16383
    built = run.invoke(
        command,
        [
            *("build", str(tmp_path / "set"), "--source", f"folder={photographs}"),
            *("--no-select", "--recipe", "even", "--camera-file", str(out), "--pairs", "3"),
            *("--set", "camera.iso=1600"),
        ],
    )
    assert built.exit_code == 0, built.output
    drawn = next(gloam.open_set(tmp_path / "set").records())["draw"]
    assert drawn["camera"]["name"] == "gloam-gloam-one"


def flawed(tmp_path, change):
    """A session whose flats of one exposure are changed: what is found."""
    folder = write_session(tmp_path, "full frame", darks=3, levels=(0.1, 0.5))
    camera, rng = CAMERAS["full frame"], np.random.default_rng(5)
    full = (camera[5] - camera[4]) / camera[0]
    for number in range(2):
        light = change(number, np.full(SHAPE, 0.3 * full))
        dng(folder / f"flaw-{number}.dng", exposed(rng, camera, light), 800, 0.03, camera)
    found = calibrate(folder)
    assert found.isos[0].gain.value == pytest.approx(2.5, rel=0.02)
    return [finding for finding in found.findings if "flaw" in finding]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("flicker: two of one exposure", lambda n, light: light * (1 + 0.05 * n)),
        (
            "flicker in bands",
            lambda n, light: light * (1 + 0.05 * np.sin(np.arange(400) / 9 + 2 * n))[:, None],
        ),
        ("clips", lambda n, light: light * 4),
        (
            "vignettes",
            lambda n, light: light * (1 - 0.6 * np.hypot(*np.mgrid[-1:1:400j, -1:1:600j]) ** 2 / 2),
        ),
        (
            "is not flat",
            lambda n, light: light * (1 + 0.1 * (np.indices(SHAPE).sum(axis=0) // 40 % 2)),
        ),
    ],
)
def test_bad_flats_are_found_and_named(tmp_path, what, change):
    found = flawed(tmp_path, change)
    assert any(what in finding for finding in found), found
    assert all(finding.startswith("flaw-") for finding in found)


def test_good_flats_are_not(tmp_path):
    assert flawed(tmp_path, lambda n, light: light) == []


def test_wrong_folders_get_a_line(tmp_path):
    run = CliRunner()

    def said(folder, *more):
        found = run.invoke(
            command, ["calibrate", str(folder), "--out", str(tmp_path / "o.yaml"), *more]
        )
        assert found.exit_code == 1, found.output
        assert "Traceback" not in found.output
        return found.output

    (tmp_path / "empty").mkdir()
    assert "no raw files" in said(tmp_path / "empty")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.dng").write_bytes(b"hello")
    assert "a.dng" in said(tmp_path / "text")
    write_session(tmp_path / "few", "small", darks=1, levels=(0.3,))
    assert "1 darks" in said(tmp_path / "few")
    write_session(tmp_path / "one", "small", darks=2, levels=(0.3,))
    assert "a factor of two apart" in said(tmp_path / "one")
    camera = CAMERAS["small"]
    dng(
        tmp_path / "one" / "z.dng",
        exposed(np.random.default_rng(0), camera),
        800,
        0.1,
        camera,
        "Two",
    )
    assert "one camera, please" in said(tmp_path / "one")
    assert not (tmp_path / "o.yaml").exists()


@settings(max_examples=20)
@given(st.floats(-0.3, 0.3), st.floats(0.5, 20))
def test_l_moments_give_tukeys_parameters_back(shape, scale):
    u = (np.arange(200_000) + 0.5) / 200_000
    values = np.log(u / (1 - u)) if abs(shape) < 1e-9 else (u**shape - (1 - u) ** shape) / shape
    found = tukey_of(scale * values)
    assert found[0] == pytest.approx(shape, abs=0.003)
    assert found[1] == pytest.approx(scale, rel=0.005)


@settings(max_examples=20)
@given(st.floats(0.05, 20), st.floats(0.1, 400))
def test_a_line_is_found_exactly(gain, intercept):
    signal = np.geomspace(20, 10_000, 40)
    points = Transfer(signal, gain * signal + intercept, np.full(40, 1024))
    slope, left = gain_of(points)
    assert slope.value == pytest.approx(gain, rel=1e-9)
    assert left.value == pytest.approx(intercept, rel=1e-6, abs=1e-6)
