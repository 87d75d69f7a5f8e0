"""Protocols of papers: figures of their own code on the same arrays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import ConfigError
from gloam.synth.measures.noise_protocols import PROTOCOLS

THEIRS = {
    "noiseflow": 0.09592003134090607,
    "naflow": 0.09221185359723931,
    "nmflow": 0.08505433048396469,
    "gans": 0.09589900083195686,
    "akld": 0.2189279943704605,
}
"""What the code of each paper's repository gave for `arrays`."""


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A real noisy picture, four draws of a made one, and the clean one."""
    rng = np.random.default_rng(5)
    levels = np.repeat(np.linspace(0, 255, 64), 48).reshape(64, 48)[..., None] * [1, 0.8, 0.6]
    clean = np.rint(levels).astype(np.uint8)
    noisy = [
        np.clip(np.rint(clean + rng.normal(0, sigma, clean.shape)), 0, 255).astype(np.uint8)
        for sigma in (5, 7, 7, 7, 7)
    ]
    return noisy[0], np.stack(noisy[1:]), clean


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_figures_are_those_of_the_papers_code(name, kind):
    given = (one if kind is np.uint8 else one.astype(kind) / kind(255) for one in arrays())
    real, made, clean = given
    found = PROTOCOLS[name](real, made if name == "akld" else made[0], clean)
    assert found == pytest.approx(THEIRS[name], abs=1e-6)
    assert PROTOCOLS[name](real, real, clean) == 0


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Path:
    """Noisy pictures of two cameras, and the clean ones."""
    root = tmp_path_factory.mktemp("noisy")
    rng = np.random.default_rng(0)
    for i in range(12):
        rows, columns = np.mgrid[:72, :80] / 80
        clean = np.stack([60 + 120 * rows * rng.random(), 60 + 90 * columns, 90 + 40 * rows], -1)
        pictures = {"clean": clean} | {
            name: clean + rng.normal(0, sigma, clean.shape)
            for name, sigma in (("real", 4), ("same", 4), ("strong", 9))
        }
        for name, picture in pictures.items():
            (root / name).mkdir(exist_ok=True)
            levels = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
            Image.fromarray(levels).save(root / name / f"{i}.png")
    return root


def test_realism_has_them_beside_what_is_told(folders):
    said = CliRunner().invoke(
        command,
        [
            "realism", str(folders / "real"), str(folders / "clean"), "--json", "--workers", "1",
            "--against", str(folders / "strong"), "--protocol", "gans", "--protocol", "akld",
        ],
        catch_exceptions=False,
    )  # fmt: skip
    found = json.loads(said.stdout)["protocols"]
    pictures = [
        [
            np.asarray(Image.open(folders / name / f"{i}.png"))
            for name in ("real", "strong", "clean")
        ]
        for i in range(12)
    ]
    for name in ("gans", "akld"):
        wanted = np.mean([PROTOCOLS[name](*one) for one in pictures])
        assert found[name] == {"lows": pytest.approx(wanted), "control": None}
    with pytest.raises(ConfigError, match="protocol fid: there are noiseflow, naflow"):
        gloam.realism(folders / "real", folders / "clean", recipe="even", protocol="fid")
    with pytest.raises(ConfigError, match="name the folder of the normals"):
        gloam.realism(folders / "real", against=folders / "strong", protocol="gans")


def test_lows_that_are_darker_are_brought_to_their_normals_tones(folders, tmp_path):
    (tmp_path / "dark").mkdir()
    for path in (folders / "same").iterdir():
        dark = np.asarray(Image.open(path)) // 4
        Image.fromarray(dark).save(tmp_path / "dark" / path.name)
    found = gloam.realism(
        tmp_path / "dark", folders / "clean", against=tmp_path / "dark", protocol="gans", workers=1
    )
    assert not found.equal
    assert found.protocols["gans"][0] == 0
    lines = found.lines()
    assert any(line.startswith("gans: 0.0000") for line in lines)
    assert any("papers' figures are of pairs of equal exposure" in line for line in lines)
    assert any(line.startswith("calibrated: of the same normals") for line in lines)
