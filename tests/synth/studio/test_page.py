"""The studio in a real browser."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gloam
from gloam.synth.recipes.load import load_recipe
from gloam.synth.studio.server import StudioServer
from gloam.synth.studio.workbench import Photographs, Workbench

from ...browser import NEEDED, Watched, accessible, browser
from .test_workbench import encoded

pytestmark = [NEEDED, pytest.mark.slow]
_PIXELS = """(id) => {
  const image = document.getElementById(id), canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext("2d", { colorSpace: "srgb" });
  context.drawImage(image, 0, 0);
  return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
}"""


@pytest.fixture(scope="module")
def opened():
    with browser() as made:
        yield made


@pytest.fixture
def studio(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    photographs = Photographs([("a.png", encoded(120, 90)), ("b.jpg", encoded(80, 100, "jpeg"))])
    bench = Workbench(photographs, load_recipe("even"), "even", tmp_path)
    with StudioServer(bench) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        made = Watched(opened, server.address, viewport={"width": 1280, "height": 900})
        made.bench = bench
        settled(made)
        yield made
        made.page.close()
        server.shutdown()
        thread.join()
    assert made.said == []
    assert all(
        url.startswith((server.address, "blob:http://127.0.0.1", "data:,")) for url in made.requests
    )


def settled(studio):
    """Wait until the newest wish is shown, and told of."""
    studio.until(
        lambda: studio.page.evaluate(
            "document.body.dataset.shown !== undefined"
            " && document.body.dataset.shown === document.body.dataset.revision"
            " && document.querySelectorAll('#statistics tr').length > 5"
        )
    )


def picture_of(studio, name="low"):
    height, width = studio.page.evaluate(f"[{name}.naturalHeight, {name}.naturalWidth]")
    found = np.array(studio.page.evaluate(_PIXELS, name), np.uint8)
    return found.reshape(height, width, 4)[:, :, :3]


def control(studio, name):
    return studio.page.get_by_label(name, exact=True)


@pytest.mark.slow
def test_pictures_follow_a_dragged_slider_and_the_saved_recipe_makes_the_last(studio, tmp_path):
    page = studio.page
    page.evaluate(
        "() => { window.seen = []; new MutationObserver(() =>"
        " window.seen.push(document.body.dataset.shown))"
        ".observe(document.body, { attributeFilter: ['data-shown'] }); }"
    )
    box = control(studio, "exposure.ev: mean").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 60, y)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(box["x"] + 60 + step, y)
        page.wait_for_timeout(20)
    page.mouse.up()
    settled(studio)
    seen = page.evaluate("window.seen")
    assert len(seen) >= 5
    assert list(map(int, seen)) == sorted(map(int, seen))
    shown = picture_of(studio)
    page.fill("#name", "mine")
    page.click("#save")
    studio.until(lambda: "saved as mine.yaml" in page.inner_text("#message"))
    normal = studio.bench.photographs.normal(0)
    np.testing.assert_array_equal(
        shown, gloam.darken(normal, str(tmp_path / "mine.yaml"), key="image")
    )
    assert not np.array_equal(shown, gloam.darken(normal, "even", key="image"))
    studio.until(lambda: "--recipe mine.yaml" in page.inner_text("#command"))
    with page.expect_download() as loading:
        page.click("#download")
    text = loading.value.path().read_text()
    assert text == (tmp_path / "mine.yaml").read_text()


def test_undo_redo_numbers_kinds_and_keys(studio):
    page, before = studio.page, picture_of(studio)
    exact = control(studio, "exposure.ev: mean, exactly")
    exact.fill("7")
    exact.press("Enter")
    settled(studio)
    darker = picture_of(studio)
    assert darker.mean() < before.mean()
    studio.until(lambda: "exposure.ev=normal(7, 1.38, 1, 10)" in page.inner_text("#command"))
    control(studio, "exposure.ev: how it is drawn").select_option("fixed")
    settled(studio)
    assert control(studio, "exposure.ev, exactly").input_value() == "7"
    slider = control(studio, "exposure.ev")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    settled(studio)
    assert float(control(studio, "exposure.ev, exactly").input_value()) < 7
    assert page.evaluate("document.activeElement.id") == "exposure.ev-value"
    for _ in range(3):
        page.click("#undo")
        settled(studio)
    np.testing.assert_array_equal(picture_of(studio), before)
    assert page.is_disabled("#undo")
    page.keyboard.press("Control+Shift+z")
    settled(studio)
    np.testing.assert_array_equal(picture_of(studio), darker)
    page.keyboard.press("Control+z")
    settled(studio)
    np.testing.assert_array_equal(picture_of(studio), before)


def test_wrong_values_get_a_line_and_right_ones_take_it_away(studio):
    page = studio.page
    exact = control(studio, "exposure.ev: mean, exactly")
    for value, wrong in (("-400", True), ("5", False)):
        exact.fill(value)
        exact.press("Enter")
        settled(studio)
        found = page.get_attribute("#message", "class") or ""
        assert ("wrong" in found) == wrong
        assert ("exposure.ev" in page.inner_text("#message")) == wrong


def test_photographs_seeds_views_and_other_recipes(studio, tmp_path):
    page = studio.page
    page.get_by_role("button", name="b.jpg").click()
    settled(studio)
    normal = studio.bench.photographs.normal(1)
    np.testing.assert_array_equal(picture_of(studio), gloam.darken(normal, "even", key="image"))
    page.fill("#seed", "9")
    page.press("#seed", "Enter")
    settled(studio)
    np.testing.assert_array_equal(
        picture_of(studio), gloam.darken(normal, "even", seed=9, key="image")
    )
    page.select_option("#with", "uneven")
    studio.until(lambda: page.inner_text("#other-name") == "low by uneven")
    np.testing.assert_array_equal(
        picture_of(studio, "other"), gloam.darken(normal, "uneven", seed=9, key="image")
    )
    page.get_by_role("radio", name="wipe").check()
    assert page.is_visible("#wipe")
    page.check("#close")
    page.hover("#frame-low")
    page.focus("#frame-low")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#loupe-low")
    page.get_by_role("radio", name="12 draws").check()
    settled(studio)
    assert page.locator("#sheet img").count() == 12
    page.get_by_role("button", name="seed 12", exact=False).first.click()
    settled(studio)
    assert page.input_value("#seed") == "12"
    np.testing.assert_array_equal(
        picture_of(studio), gloam.darken(normal, "even", seed=12, key="image")
    )
    page.check("#bright")
    settled(studio)
    assert picture_of(studio).mean() > 80
    (tmp_path / "c.png").write_bytes(encoded(50, 40))
    (tmp_path / "hostile.png").write_bytes(b"GIF89a" + bytes(50))
    page.set_input_files("#add", [tmp_path / "c.png"])
    studio.until(lambda: "c.png added" in page.inner_text("#message"))
    page.set_input_files("#add", [tmp_path / "hostile.png"])
    studio.until(lambda: "hostile.png: " in page.inner_text("#message"))
    assert page.locator("#photos button").count() == 3


@pytest.mark.parametrize("name", ["uneven", "train", "mbllen"])
def test_recipes_open_and_files_are_loaded(studio, name, tmp_path):
    page = studio.page
    page.select_option("#recipe", name)
    studio.until(lambda: page.input_value("#name") == name)
    settled(studio)
    normal = studio.bench.photographs.normal(0)
    np.testing.assert_array_equal(picture_of(studio), gloam.darken(normal, name, key="image"))
    held = [one.get_attribute("data-parameter") for one in page.locator("[data-parameter]").all()]
    assert len(held) == len(set(held)) > 5
    file = tmp_path / "own.yaml"
    file.write_text("name: own\nexposure: {ev: 3}\ncamera: {iso: 1600}\n")
    page.set_input_files("#file", file)
    studio.until(lambda: page.input_value("#name") == "own")
    settled(studio)
    np.testing.assert_array_equal(picture_of(studio), gloam.darken(normal, str(file), key="image"))


@pytest.mark.slow
def test_nothing_is_unreadable_cut_or_unlabelled(studio):
    page = studio.page
    page.check("#close")
    for width in (1440, 768, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        accessible(page)
