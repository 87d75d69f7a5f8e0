"""Calibrations of cameras that are known: raw files written here, read by LibRaw."""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import tifffile
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import SourceError
from gloam.synth.calibrating.calibrate import calibrate, draw_calibration
from gloam.synth.calibrating.estimates import Transfer, clipped_share, fit_gain, tukey_of
from gloam.synth.calibrating.raw_files import find_raws, read_raw_header

rawpy = pytest.importorskip("rawpy")
SHAPE = (400, 600)
CAMERAS = {  # K, Tukey scale, lambda, row, black, white
    "full frame": (2.5, 3.0, -0.1, 0.6, 512, 16383),
    "telephone": (1.2, 2.0, 0.1, 0.4, 64, 1023),
    "small": (0.6, 1.4, 0.0, 0.9, 256, 4095),
}


def dng(
    path: Path, samples: np.ndarray, iso: int, seconds: float, camera, maker="Gloam One", extra=()
):
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
            *extra,
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


def write_session(
    folder, name, iso=800, darks=6, levels=(0.08, 0.2, 0.4, 0.7), seed=0, write=dng, suffix="dng"
):
    camera, rng = CAMERAS.get(name, name), np.random.default_rng(seed)
    full = (camera[5] - camera[4]) / camera[0]
    y, x = np.mgrid[-1 : 1 : SHAPE[0] * 1j, -1 : 1 : SHAPE[1] * 1j]
    falloff = 1 - 0.08 * (x * x + y * y)  # as lenses have it, mildly
    for number in range(darks):
        path = folder / f"dark-{iso}-{number}.{suffix}"
        write(path, exposed(rng, camera), iso, 1 / 4000, camera)
    for level in levels:
        for number in range(2):
            samples = exposed(rng, camera, full * level * falloff)
            path = folder / f"flat-{iso}-{level}-{number}.{suffix}"
            write(path, samples, iso, level / 10, camera)
    return folder


def raf(path: Path, samples: np.ndarray, iso: int, seconds: float, camera) -> None:
    """A raw file of Fujifilm's, of 16 bits without compression: exifread does not know the format,
    and no black level is told."""
    texts = [b"FUJIFILM\0", b"X100\0"]
    at = [8 + 2 + 3 * 12 + 4, 8 + 2 + 3 * 12 + 4 + 10]
    inner = at[1] + 6
    directory = struct.pack("<IH", 8, 3)
    for tag, text, place in zip((0x10F, 0x110), texts, at, strict=True):
        directory += struct.pack("<HHII", tag, 2, len(text), place)
    directory += struct.pack("<HHIII", 0x8769, 4, 1, inner, 0)
    tiff = (b"II*\0" + directory).ljust(at[0], b"\0") + texts[0]
    tiff = (tiff.ljust(at[1], b"\0") + texts[1]).ljust(inner, b"\0")
    tiff += struct.pack("<HHHII", 2, 0x829A, 5, 1, inner + 30)
    tiff += struct.pack("<HHIHHIII", 0x8827, 3, 1, iso, 0, 0, 1, round(1 / seconds))
    shown = io.BytesIO()
    Image.new("RGB", (64, 48), (90, 90, 90)).save(shown, "JPEG")
    exif = b"Exif\0\0" + tiff
    jpeg = b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + shown.getvalue()[2:]
    height, width = samples.shape
    facts = struct.pack(">I", 2)
    for tag in (0x100, 0x121):
        facts += struct.pack(">HHHH", tag, 4, height, width)
    places = [160, -(-(160 + len(jpeg)) // 16) * 16]
    places.append(places[1] + 32)
    head = b"FUJIFILMCCD-RAW 0201FF129501" + b"X100".ljust(32, b"\0") + b"0100"
    sizes = len(jpeg), len(facts), samples.nbytes
    head = head.ljust(84, b"\0")
    for place, size in zip(places, sizes, strict=True):
        head += struct.pack(">II", place, size)
    data = (head.ljust(places[0], b"\0") + jpeg).ljust(places[1], b"\0") + facts
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.ljust(places[2], b"\0") + samples.astype("<u2").tobytes())


def test_raw_files_say_how_they_were_taken(tmp_path):
    camera = CAMERAS["full frame"]
    samples = exposed(np.random.default_rng(0), camera, 100.0)
    dng(tmp_path / "a.dng", samples, 1600, 1 / 50, camera)
    header = read_raw_header(tmp_path / "a.dng")
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
    draw_calibration(calibrate(tmp_path / "raws", "$a_^$\udcff"), tmp_path / "other.png")
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


def test_formats_that_exifread_lacks_tell_their_iso_by_libraw(tmp_path, capsys):
    """CR3 and RAF; this one tells no black level either."""
    write_session(tmp_path, "full frame", darks=3, levels=(0.1, 0.5), write=raf, suffix="RAF")
    found = calibrate(tmp_path)
    (one,) = found.isos
    assert (one.iso, one.darks, one.flats) == (800, 3, 4)
    assert one.gain.value == pytest.approx(2.5, rel=0.02)
    assert found.black == 512
    assert "not recognized" not in capsys.readouterr().err


KIND, STANDARD, INDEX, SPEED = 34864, 34865, 34866, 34867  # Exif 2.3, 4.6.5


@pytest.mark.parametrize(
    ("rating", "tags", "iso"),
    [
        (65535, {INDEX: 102400}, 102400),
        (65535, {SPEED: 204800}, 204800),
        (65535, {STANDARD: 409600}, 409600),
        (65535, {KIND: 1, STANDARD: 80000, INDEX: 102400}, 80000),
        (65535, {KIND: 2, STANDARD: 80000, INDEX: 102400}, 102400),
        (65535, {KIND: 3, SPEED: 80000, INDEX: 102400}, 80000),
        (65535, {KIND: 1, INDEX: 102400}, 102400),
        (65535, {INDEX: 65535, SPEED: 102400}, 102400),
        (0, {INDEX: 102400}, 102400),
        (6400, {INDEX: 102400}, 6400),
        (65535, {}, None),
        (65535, {INDEX: 65535}, None),
    ],
)
def test_an_iso_of_65535_means_another_tag(tmp_path, rating, tags, iso):
    camera = CAMERAS["full frame"]
    extra = [(tag, 3 if tag == KIND else 4, 1, value, True) for tag, value in tags.items()]
    samples = exposed(np.random.default_rng(0), camera, shape=(32, 48))
    dng(tmp_path / "a.dng", samples, rating, 0.1, camera, extra=extra)
    if iso is None:
        with pytest.raises(
            SourceError, match=r"a\.dng: does not say its ISO: 65535 is that or more"
        ):
            read_raw_header(tmp_path / "a.dng")
    else:
        assert read_raw_header(tmp_path / "a.dng").iso == iso


@pytest.mark.parametrize(("black", "told"), [(0, 0), (0, 64), (512, 512)])
def test_darks_that_are_cut_off_at_black_are_said_and_give_no_noise(tmp_path, black, told):
    """Cameras that take black off themselves give such, and developed raw files."""
    camera = (2.5, 4.0, 0.1, 0.5, black, 4095)

    def write(path, samples, iso, seconds, _):
        dng(path, np.maximum(samples, black), iso, seconds, (*camera[:4], told, 4095))

    write_session(tmp_path / "cut", camera, darks=3, levels=(0.1, 0.5), write=write)
    with pytest.raises(SourceError, match=r"ISO 800: black is cut off .* its gain K is 2\.[45]"):
        calibrate(tmp_path / "cut")
    write_session(tmp_path / "cut", "small", 1600, darks=3, levels=(0.1, 0.5))
    found = calibrate(tmp_path / "cut")
    assert [one.iso for one in found.isos] == [1600]
    assert any("ISO 800: black is cut off" in finding for finding in found.findings)


@pytest.mark.parametrize("deviation", [0.1, 0.3, 0.6, 2.0, 10.0])
def test_darks_that_are_whole_are_not_taken_for_cut_off(deviation):
    rng = np.random.default_rng(3)
    for black in (63.5, 64.0, 64.3, 70.0):
        darks = [np.rint(rng.normal(black, deviation, SHAPE)).astype(np.uint16) for _ in range(2)]
        assert clipped_share(darks, 64) == 0, black


def test_damaged_raw_files_get_a_line(tmp_path):
    """Parts of them are read late, when they are asked for."""
    camera = CAMERAS["small"]
    path = tmp_path / "raws" / "a.dng"
    dng(path, exposed(np.random.default_rng(0), camera, shape=(64, 96)), 800, 0.1, camera)
    whole = path.read_bytes()
    noise = np.random.default_rng(1)
    said = set()
    for turn in range(150):
        data = bytearray(whole if turn % 2 else whole[: noise.integers(1, len(whole))])
        for place in noise.integers(0, min(len(data), 600), 3):
            data[place] = noise.integers(0, 256)
        path.write_bytes(data)
        try:
            read_raw_header(path).mosaic()
        except SourceError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            said.add(type(error.__cause__).__name__)
    assert any(name.startswith("LibRaw") for name in said)


def test_what_is_no_raw_file_but_is_called_so(tmp_path):
    camera = CAMERAS["small"]
    samples = exposed(np.random.default_rng(0), camera, shape=(64, 96))
    for name in ("a.dng", "@eaDir/a.dng"):
        dng(tmp_path / name, samples, 800, 0.1, camera)
    (tmp_path / "._a.dng").write_bytes(b"\0\5\x16\7")
    os.mkfifo(tmp_path / "b.dng")
    assert find_raws(tmp_path) == [tmp_path / "a.dng"]
    (tmp_path / "empty.dng").write_bytes(b"")
    with pytest.raises(SourceError, match=r"empty\.dng: is no raw file"):
        read_raw_header(tmp_path / "empty.dng")


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
    slope = fit_gain(Transfer(signal, gain * signal + intercept))
    assert slope.value == pytest.approx(gain, rel=1e-9)
