"""Judging: figures equal to scikit-image's, pairs found by name, intervals that cover."""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
import unicodedata
from pathlib import Path
from types import ModuleType, SimpleNamespace

import cv2
import html5lib
import numpy as np
import pytest
import tifffile
from skimage import data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from gloam import judge
from gloam.errors import ConfigError, SourceError
from gloam.loaders.judging import metrics
from gloam.loaders.judging.judge import COLUMNS
from gloam.loaders.judging.judge_page import render_page
from gloam.loaders.judging.metrics import perceptual_measures
from gloam.loaders.judging.results import Judged, interval
from gloam.manifests.images.normals import encode

from ...browser import NEEDED, Watched, accessible, browser


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
    normal = metrics.Image(data.cat()[:64, :64] / 255 * 0.8)
    low = normal.through(lambda one: metrics.linear_to_srgb(metrics.srgb_to_linear(one) / 16))
    assert metrics.measure([metrics.one_gain(low, normal)], normal)[0][0] > 90
    assert metrics.blind_gain(low).part().mean() == pytest.approx(metrics.GREY, abs=1e-3)
    assert metrics.measure([normal], normal)[0][0] == metrics.MOST
    scaled = metrics.gt_mean(normal.through(lambda one: one * 0.5), normal)
    assert scaled.part() == pytest.approx(normal.part())


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
    html5lib.HTMLParser(strict=True).parse(page)
    heads = re.findall(r'<th scope="col">([^<]*)</th>', page)
    assert heads[-4:] == ["low", "better", "dark", "normal"]
    rows = page.partition('class="pictures"')[2].split("<tbody>")[1:]
    assert len(rows) == 4  # pictures
    assert all(row.count("<img ") == 2 * 4 for row in rows)
    assert page.count("<strong>worst on average") == 3
    assert "worst on average, and of better" in page or "worst of better" in page
    assert "http" not in page.replace("http-equiv", "")
    assert found.as_json()["scenes"] == 4


def test_a_folder_with_an_equals_sign_is_a_folder(pairs, monkeypatch):
    given = {"low": pairs / "eval15/low", "normal": pairs / "eval15/high", "perceptual": False}
    run = pairs / "runs" / "lr=0.001"
    run.parent.mkdir()
    (pairs / "better").rename(run)
    monkeypatch.chdir(pairs)
    try:
        for outputs in (run, [run], str(run), "runs/lr=0.001"):
            assert list(judge(outputs, **given).values)[2:] == ["lr=0.001"]
        assert list(judge("m=runs/lr=0.001", **given).values)[2:] == ["m"]
        with pytest.raises(SourceError, match=r"lr=0\.1: not a folder"):
            judge(pairs / "lr=0.1", **given)
    finally:
        run.rename(pairs / "better")


def test_names_of_two_normal_forms_are_one(tmp_path):
    composed, apart = (unicodedata.normalize(form, "Caf\u00e9") for form in ("NFC", "NFD"))
    image = encode(data.cat()[:40, :40], "png")
    for path in (f"low/{composed}", f"normal/{apart}", f"made/{apart}"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / f"{path}.png").write_bytes(image)
    given = {"low": tmp_path / "low", "normal": tmp_path / "normal", "perceptual": False}
    for match in (None, r"(.*)\."):
        assert judge(tmp_path / "made", match=match, **given).pictures == [composed]


def test_names_of_others_do_nothing_where_tables_are_opened():
    names = ["=1+1", " @a", "+1", "-1", "\t=1", "\r1", "\uff1d1", "a;=1", "a=1", "1.5"]
    values = {name: np.ones((len(names), 6)) for name in ("low", "blind", "=cmd|<script>\n`x`\x1b")}
    found = Judged("set|\x1b[2J", COLUMNS, values, names, np.arange(len(names)), [], ("a|<b>\x1b",))
    rows = list(csv.reader(io.StringIO(found.csv(), newline="")))[1:]
    assert [row[0] for row in rows[::3]] == [
        *("'=1+1", "' @a", "'+1", "'-1", "'\\t=1", "'\\r1", "'\uff1d1", "a;'=1", "a=1", "1.5")
    ]
    assert rows[2][2] == "'=cmd|<script>\\n`x`\\x1b"
    assert "\x1b" not in found.text()
    assert "=cmd|<script>\\n`x`\\x1b" in found.text()
    shown = found.markdown()
    assert "| =cmd\\|&lt;script&gt; \\`x\\` | 1.00" in shown
    assert "set\\| \\[2J: 10 pictures" in shown
    assert "- a\\|&lt;b&gt;" in shown
    assert "\x1b" not in shown


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("many", [1, 8])
def test_a_browser_shows_methods_side_by_side(pairs, tmp_path, many):
    names = ["an_output_of_a_network_with_a_very_long_name_" * 2, *(f"m{i}" for i in range(7))]
    for i, folder in enumerate(("low", "normal", "better")):
        (tmp_path / folder).mkdir()
        for number in range(3):
            source = pairs / ("eval15/low", "eval15/high", "better")[i] / f"{number}.png"
            image = read(source) * 255
            image = image.transpose(1, 0, 2) if number == 0 else image  # a portrait
            written = encode(np.ascontiguousarray(image.astype(np.uint8)), "png")
            (tmp_path / folder / f"{number}.png").write_bytes(written)
    found = judge(
        dict.fromkeys(names[:many], tmp_path / "better"),
        low=tmp_path / "low",
        normal=tmp_path / "normal",
        perceptual=False,
    )
    out = tmp_path / "judged.html"
    out.write_text(render_page(found))
    with browser() as opened:
        watched = Watched(opened, out.as_uri())
        for width in (1400, 500):
            watched.page.set_viewport_size({"width": width, "height": 900})
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
            cells = watched.page.evaluate(
                "[...document.querySelectorAll('.pictures td')].map((one) =>"
                " [one.scrollWidth - one.clientWidth, one.clientWidth,"
                " one.querySelector('img').getBoundingClientRect().height])"
            )
            assert len(cells) == 3 * 2 * (many + 2)
            assert max(over for over, _, _ in cells) <= 1  # no name runs into its neighbour
            assert min(wide for _, wide, _ in cells) > 240
            assert max(tall for _, _, tall in cells) <= 26 * 16
        for scheme in ("light", "dark"):
            watched.page.emulate_media(color_scheme=scheme)
            accessible(watched.page)
        assert (watched.said, [one for one in watched.requests if one[:4] == "http"]) == ([], [])


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
    about, other = found.notes
    assert about.startswith("blind gain: the low, its linear light times one factor")
    assert other == f"{tmp_path / 'out'}: 1 other images are not of {tmp_path / 'low'}"
    low = tmp_path / "low"
    again = judge([low, tmp_path / "out"], low=low, normal=tmp_path / "normal",
                  match=r"(\d+)\.", perceptual=False)  # fmt: skip
    assert list(again.values)[2:] == [f"{tmp_path.name}/low", "out"]


def test_several_sets_make_one_table_with_ranks_and_their_agreement(pairs, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    for name, folder in (("low", "eval15/low"), ("normal", "eval15/high")):
        (plain / name).symlink_to(pairs / folder)
    made = {"a": ("better", "darker"), "b": ("darker", "better"), "c": ("eval15/low", "eval15/low")}
    for method, folders in {**made, "d": ("better",)}.items():
        (tmp_path / method).mkdir()
        for name, folder in zip(("lol-v1", "plain"), folders, strict=False):
            (tmp_path / method / name).symlink_to(pairs / folder)
    methods = [tmp_path / name for name in "abcd"]
    on = [f"lol-v1={pairs}", f"plain={plain}"]
    found = judge(methods, on=on, perceptual=False)
    alone = judge({"a": pairs / "better", "b": pairs / "darker"}, on=on[:1], perceptual=False)
    assert np.array_equal(found.sets["lol-v1"].values["b"], alone.values["b"])
    assert found.ranks()["lol-v1"] == {"a": 1.5, "b": 3, "c": 4, "d": 1.5}
    assert found.ranks()["plain"] == {"a": 2, "b": 1, "c": 3}
    ((said, figures),) = found.agreement()
    assert said == "lol-v1 and plain"
    assert figures[:2] == pytest.approx([1 / 3, 1 / 2])  # one of three pairs is the other way round
    assert figures[-1] == 3
    assert found.about.startswith("4 methods, 1 of their sets lacking; lol-v1: 4 pictures of 4 sce")
    (_, columns, rows), (_, _, apart), _ = found.tables()
    cells = {name: dict(zip(columns, one, strict=True)) for name, one in rows}
    assert list(cells) == ["the low as it is", "blind gain", "blind gain, encoded", *"abcd"]
    assert (cells["d"]["PSNR, plain"], cells["d"]["sets, all sets"]) == ("", "1 of 2")
    one, other = (next(iter(alone.differences())), dict(apart)["b less a"])
    assert other[0] == alone.cells(*one[1:])[0]
    assert "| d less a | 0.00 (0.00 to 0.00)" in found.markdown()
    encoded = metrics.blind_gain(metrics.image_of(data.cat()[:64, :64] // 9), encoded=True)
    assert encoded.part().mean() == pytest.approx(metrics.GREY, abs=1e-3)
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert len(rows) == 4 * (3 + 4) + 4 * (3 + 3)
    assert rows[-1]["set"] == "plain"
    page = render_page(found)
    html5lib.HTMLParser(strict=True).parse(page)
    assert page.count('class="pictures"') == 2
    assert found.as_json()["lacking"] == {"a": [], "b": [], "c": [], "d": ["plain"]}
    with pytest.raises(SourceError, match="darker: has no folder of a set: lol-v1, plain"):
        judge(pairs / "darker", on=on, perceptual=False)
    with pytest.raises(ConfigError, match="a second set of that name"):
        judge(methods, on=[on[0], on[0]], perceptual=False)


def test_outputs_lie_in_folders_as_their_lows_do(pairs, tmp_path):
    for side in ("low", "high"):
        for file in (pairs / "eval15" / side).iterdir():
            path = tmp_path / side / f"scene {file.stem}" / file.name
            path.parent.mkdir(parents=True)
            path.write_bytes(file.read_bytes())
    normal = tmp_path / "high"
    found = judge(normal, low=tmp_path / "low", normal=normal, perceptual=False, workers=1)
    assert found.values["high"][:, 0].min() == metrics.MOST


def test_outputs_lie_as_lows_do_that_lie_at_several_depths(pairs, tmp_path):
    for side in ("low", "high"):
        for number, file in enumerate(sorted((pairs / "eval15" / side).iterdir())):
            path = tmp_path / side / ("deeper" if number % 2 else "") / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read_bytes())
    normal = tmp_path / "high"
    shutil.copytree(normal, tmp_path / "out")
    found = judge(tmp_path / "out", low=tmp_path / "low", normal=normal, perceptual=False)
    assert found.values["out"][:, 0].min() == metrics.MOST


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
    with pytest.raises(ConfigError, match="better: two rows of the table are called so") as twice:
        judge([pairs / "better", pairs / "better"], on=on)
    assert not str(twice.value).startswith("//")
    with pytest.raises(SourceError, match="nowhere: not a folder"):
        judge(pairs / "better", on=f"mine={tmp_path}/nowhere")
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


class _Network(ModuleType):
    """A package in place of lpips, which would fetch weights as it is made."""

    def __init__(self, weights: Path) -> None:
        super().__init__("lpips")
        self.weights = weights

    def LPIPS(self, **options):  # noqa: N802
        assert self.weights.is_file(), "they would be fetched"
        if self.weights.read_bytes() != b"sound":
            raise ValueError("weights are damaged\nmore of it")
        return lambda made, normal, normalize: (made - normal).abs().mean() * 2


def test_what_perceptual_measures_lack_is_asked_for_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "lpips", None)
    monkeypatch.setitem(sys.modules, "pyiqa", None)
    found, lacking = perceptual_measures()
    assert found == {}
    assert [line.partition(" (")[0] for line in lacking] == [
        "LPIPS is not measured: pip install 'gloam[judge]'",
        "NIQE is not measured: pip install pyiqa",
    ]
    weights = tmp_path / "hub" / "checkpoints" / "alex.pth"
    url = "https://somewhere.org/models/alex.pth"
    models = ModuleType("torchvision.models")
    models.AlexNet_Weights = SimpleNamespace(IMAGENET1K_V1=SimpleNamespace(url=url))
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    monkeypatch.setitem(sys.modules, "lpips", _Network(weights))
    _, lacking = perceptual_measures()
    assert (
        lacking[0] == f"LPIPS is not measured: its weights are not at hand: save {url} as {weights}"
    )
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"damaged")
    assert perceptual_measures()[1][0] == (
        f"LPIPS is not measured: {weights}: weights are damaged; save {url} anew"
    )
    weights.write_bytes(b"sound")
    found, lacking = perceptual_measures()
    image, brighter = (metrics.Image(np.full((32, 32, 3), value)) for value in (0.25, 0.75))
    assert found["LPIPS"](image, brighter) == pytest.approx(1)
    with pytest.raises(SourceError, match=r"LPIPS cannot be measured of 32 x 32 pixels: .*no-perc"):
        found["LPIPS"](image, metrics.Image(np.zeros((16, 8, 3))))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_images_that_are_measured_in_parts_have_the_figures_of_the_whole(kind, monkeypatch):
    rng = np.random.default_rng(0)
    shift = 8 * (np.dtype(kind).itemsize - 1)
    pair = [
        one.astype(kind) << shift for one in (data.cat()[:100, :90] // 9, data.cat()[:100, :90])
    ]
    pair[0] = pair[0] + rng.integers(0, 3 << shift, pair[0].shape).astype(kind)
    values = [one / np.iinfo(kind).max for one in pair]
    monkeypatch.setattr(metrics, "_TILE", (16, 32))
    low, normal = (metrics.image_of(one) for one in pair)
    for made in (low, metrics.blind_gain(low), metrics.one_gain(low, normal)):
        options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
        wanted = structural_similarity(
            values[1], made.part(), data_range=1, channel_axis=2, **options
        )
        ((psnr, ssim),) = metrics.measure([made], normal)
        assert ssim == pytest.approx(wanted, abs=1e-9)
        of_psnr = peak_signal_noise_ratio(values[1], made.part(), data_range=1)
        assert psnr == pytest.approx(of_psnr, abs=1e-9)
    for curve in (metrics.blind_gain, lambda one: metrics.one_gain(one, normal)):
        by_values = curve(metrics.Image(values[0])).part()
        assert curve(low).part() == pytest.approx(by_values, abs=1e-9)


def test_threads_change_no_figure():
    rng = np.random.default_rng(5)
    made, normal = (metrics.image_of(rng.integers(0, 256, (300, 411, 3), np.uint8)) for _ in "ab")
    each = [made, normal]
    assert metrics.measure(each, normal, 3) == metrics.measure(each, normal)
