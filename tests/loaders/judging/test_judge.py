"""Judging: figures equal to scikit-image's, pairs found by name, intervals that cover."""

from __future__ import annotations

import csv
import io

import cv2
import numpy as np
import pytest
import tifffile
from skimage import data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from gloam import judge
from gloam.errors import ConfigError, SourceError
from gloam.loaders.judging import metrics
from gloam.loaders.judging.intervals import interval
from gloam.loaders.judging.page import render_page
from gloam.manifests.images.encode import encode


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """LOL's folders with windows of photographs, and outputs of two methods."""
    root = tmp_path_factory.mktemp("judged")
    rng = np.random.default_rng(0)
    for i, whole in enumerate((data.astronaut(), data.cat(), data.coffee(), data.rocket())):
        normal = np.ascontiguousarray(whole[100:196, 100:228])
        low = (normal / 8 + rng.normal(0, 1, normal.shape)).clip(0, 255).astype(np.uint8)
        images = {
            "eval15/high": normal,
            "eval15/low": low,
            "better": (normal + rng.normal(0, 6, normal.shape)).clip(0, 255).astype(np.uint8),
            "darker": (normal * 0.6).astype(np.uint8),
        }
        for folder, image in images.items():
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder / f"{i}.png").write_bytes(encode(image, "png"))
    return root


def read(path):
    return cv2.imread(str(path), cv2.IMREAD_COLOR_RGB) / 255


def test_figures_are_those_of_scikit_image(pairs):
    found = judge(
        {"a": pairs / "better", "b": pairs / "darker"}, on=f"lol-v1={pairs}", perceptual=False
    )
    assert found.name == "lol-v1, test"
    assert list(found.values) == ["the low as it is", "blind gain", "a", "b"]
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    folders = {"the low as it is": "eval15/low", "a": "better", "b": "darker"}
    for i, key in enumerate(found.pictures):
        normal = read(pairs / "eval15/high" / f"{key}.png")
        for method, folder in folders.items():
            made = read(pairs / folder / f"{key}.png")
            wanted = (
                peak_signal_noise_ratio(normal, made, data_range=1),
                structural_similarity(normal, made, data_range=1, channel_axis=2, **options),
            )
            assert found.values[method][i, :2] == pytest.approx(wanted, abs=1e-6)
    means = {name: values.mean(axis=0) for name, values in found.values.items()}
    assert means["b"][2] > means["b"][0] + 5  # one gain mends what is dark alone
    assert means["b"][4] > means["b"][0] + 5
    assert means["blind gain"][0] > means["the low as it is"][0]


def test_what_is_brightened_by_a_gain_is_found_again():
    normal = data.cat()[:64, :64] / 255 * 0.8
    light = metrics.srgb_to_linear(normal) / 16
    low = np.asarray(metrics.linear_to_srgb(light))
    assert metrics.psnr(metrics.one_gain(low, normal), normal) > 90
    assert metrics.blind_gain(low).mean() == pytest.approx(metrics.GREY, abs=1e-3)
    assert metrics.psnr(normal, normal) == metrics.MOST
    scaled = metrics.gt_mean(normal * 0.5, normal)
    assert scaled == pytest.approx(normal)


def test_tables_pages_and_numbers(pairs):
    found = judge(
        [pairs / "better", f"dark={pairs / 'darker'}"],
        low=pairs / "eval15/low",
        normal=pairs / "eval15/high",
        perceptual=False,
    )
    text = found.markdown()
    assert "| blind gain |" in text
    assert "| dark less better | -" in text
    assert "GT-mean scales" in text
    first, *rest = found.text().splitlines()
    narrow = [line for line in rest if not line.startswith("- ")]
    assert "4 pictures of 4 scenes" in first
    assert max(map(len, narrow)) < 80
    assert sum(line.startswith("dark less better  ") for line in narrow) == 3
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert len(rows) == 16
    assert float(rows[2]["PSNR"]) == pytest.approx(found.values["better"][0, 0], abs=1e-5)
    page = render_page(found)
    assert page.count("<strong>worst</strong>") == 6
    assert "http" not in page.replace("http-equiv", "")
    assert found.as_json()["scenes"] == 4


def test_outputs_are_found_by_names_of_normals_and_kept_deep(tmp_path):
    rng = np.random.default_rng(1)
    for i in (1, 2):
        normal = rng.integers(0, 65536, (32, 40, 3)).astype(np.uint16)
        for name in (f"low/low0{i}", f"normal/normal0{i}", f"out/normal0{i}"):
            path = tmp_path / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            cv2.imwrite(str(path), normal + (name[:3] == "out") * (normal < 65000))
    (tmp_path / "out" / "more.png").write_bytes(encode(np.zeros((4, 4, 3), np.uint8), "png"))
    found = judge(
        tmp_path / "out", low=tmp_path / "low", normal=tmp_path / "normal",
        match=r"(\d+)\.", perceptual=False,
    )  # fmt: skip
    assert (found.values["out"][:, 0] > 90).all()  # a level of 16 bits
    assert found.notes == (f"{tmp_path / 'out'}: 1 other images are not of {tmp_path / 'low'}",)


def test_what_cannot_be_judged_is_named(pairs, tmp_path):
    on = f"lol-v1={pairs}"
    (tmp_path / "small").mkdir()
    with pytest.raises(SourceError, match="holds no images"):
        judge(tmp_path / "small", on=on)
    small = encode(np.zeros((20, 20, 3), np.uint8), "png")
    (tmp_path / "small" / "0.png").write_bytes(small)
    with pytest.raises(SourceError, match="3 of 4 outputs are missing, such as 1;"):
        judge(tmp_path / "small", on=on)
    for i in (1, 2, 3):
        (tmp_path / "small" / f"{i}.png").write_bytes(small)
    with pytest.raises(SourceError, match="differ in size: 20 x 20 and 128 x 96"):
        judge(tmp_path / "small", on=on, perceptual=False)
    for given in ({}, {"on": on, "low": pairs}, {"low": pairs}):
        with pytest.raises(ConfigError, match="what to judge on"):
            judge(pairs / "better", **given)
    with pytest.raises(ConfigError, match="better: each method needs a name of its own"):
        judge([pairs / "better", pairs / "better"], on=on)
    with pytest.raises(ConfigError, match="give NAME=FOLDER"):
        judge(pairs / "better", on="lol-v1")


@pytest.mark.parametrize(("scenes", "each"), [(15, 1), (8, 3)])
def test_intervals_cover_the_mean(scenes, each):
    """Take paired differences of few scenes, each of which shifts its pictures."""
    rng = np.random.default_rng(7)
    names = np.repeat(np.arange(scenes), each)
    covered = 0
    for seed in range(300):
        values = rng.normal(0, 1, scenes)[names] + rng.normal(0.3, 0.5, len(names))
        low, high = interval(values, names, seed=seed)
        covered += low <= 0.3 <= high
    assert 0.91 <= covered / 300 <= 0.98
    assert np.isnan(interval(np.ones(3), np.zeros(3, np.int64))).all()


@pytest.mark.parametrize("layout", ["contig", "separate"])
def test_tiffs_of_16_bits_have_the_figures_of_their_samples(tmp_path, layout):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 65000, (6, 6, 3)).astype(np.uint16)
    normal = cv2.resize(first, (72, 64), interpolation=cv2.INTER_LINEAR)
    made = np.clip(normal + rng.integers(-600, 601, normal.shape), 0, 65535).astype(np.uint16)
    for name, image in (("low", normal // 6), ("normal", normal), ("made", made)):
        stored = image if layout == "contig" else np.ascontiguousarray(np.moveaxis(image, 2, 0))
        (tmp_path / name).mkdir()
        tifffile.imwrite(
            tmp_path / name / "1.tif",
            stored,
            photometric="rgb",
            planarconfig=layout,
            compression="zlib",
        )
    found = judge(
        tmp_path / "made", low=tmp_path / "low", normal=tmp_path / "normal", perceptual=False
    )
    right = peak_signal_noise_ratio(normal / 65535, made / 65535, data_range=1)
    assert found.values["made"][0, 0] == pytest.approx(right, abs=1e-9)
