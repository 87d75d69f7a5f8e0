"""Facts of draws: noise as strong as the map says, maps that move with the pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gloam
from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader
from gloam.loaders.backend import choose_backend
from gloam.loaders.options import EXTRAS
from gloam.manifests.images.normals import encode
from gloam.synth.draws.table import table_of_records
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.maps import camera_maps

from .numbered import make_set

PLAIN = {"device": "cpu", "workers": 0, "batch_size": 2, "live": True, "recipe": "even"}


def picture(seed):
    y, x = np.mgrid[0:120, 0:160]
    image = 150 + 60 * np.sin((x + 40 * seed) / 50) + 40 * np.cos(y / 30)
    return np.stack([image, 0.9 * image + 10, 250 - 0.8 * image], axis=2).astype(np.uint8)


PHOTOS = [encode(picture(i), "png") for i in range(4)]


@pytest.fixture(scope="module")
def camera_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    (folder / "photos").mkdir()
    for i, photo in enumerate(PHOTOS):
        (folder / "photos" / f"{i}.png").write_bytes(photo)
    options = {"val": 0, "select": False, "recipe": "uneven", "workers": 1}
    return gloam.build(folder / "set", [f"folder={folder / 'photos'}"], **options).root


WITHOUT_JPEG = load_recipe("uneven", ["degradations.jpeg.probability=0"])  # maps leave JPEG out
BEHIND_A_DEMOSAIC = load_recipe("even", ["isp.demosaic=malvar", "isp.chroma.strength=0.6"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe", [WITHOUT_JPEG, "night-lights", "train", "extreme", "agllnet", BEHIND_A_DEMOSAIC]
)
def test_noise_is_as_strong_as_the_map_says_at_every_level(recipe):
    options = PLAIN | {"recipe": recipe, "size": None, "dtype": "uint8", "batch_size": 4}
    loader = TorchLoader(PHOTOS, extras=("noise", "clean"), **options)
    bands: dict[tuple[int, int], list[torch.Tensor]] = {}
    for low, _, given in (batch for _ in range(4) for batch in loader):
        clean, noise = given["clean"], given["noise"]
        known = (clean > 3 * noise) & (clean < 255 - 3 * noise)
        off = (low.float() - clean) / noise
        for channel in range(3):
            here, levels = known[:, channel], clean[:, channel].log2().clamp(2, 7).int()
            for band in range(2, 8):
                chosen = off[:, channel][here & (levels == band)]
                bands.setdefault((channel, band), []).append(chosen)
    ratios = [torch.cat(one) for one in bands.values()]
    assert max(abs(one.var() - 1) for one in ratios if len(one) > 50_000) < 0.02


@pytest.mark.parametrize("recipe", ["even", "night-lights"])
def test_what_draws_know_is_their_records(recipe):
    asked = ("noise-linear", "linear", "light", "ev", "draw", "mask")
    options = PLAIN | {"recipe": recipe, "size": None, "keys": True, "dtype": "uint8"}
    loader = TorchLoader(PHOTOS, extras=asked, **options)
    for _, _, keys, given in loader:
        assert (given["noise-linear"] > 0).all()
        assert ((given["linear"] >= 0) & (given["linear"] <= 1)).all()
        for i, (key, record) in enumerate(zip(keys, given["draw"]["records"], strict=True)):
            drawn = loader.live.draw(key, 0)
            assert record == drawn.model_dump(mode="json")
            assert given["ev"][i] == pytest.approx(drawn.exposure.ev)
            assert given["draw"]["table"]["exposure.ev"][i] == drawn.exposure.ev
        if recipe == "even":
            assert given["light"].mean().abs() < 0.1
            assert not given["mask"].any()


def test_masks_and_light_of_lamps_are_exact():
    asked = ("mask", "emitter-light")
    options = {**PLAIN, "recipe": load_recipe("night-lights", ["emitters.count=2"])}
    loader = TorchLoader(PHOTOS, size=None, extras=asked, keys=True, dtype="uint8", **options)
    for _, normals, keys, given in loader:
        for i, key in enumerate(keys):
            normal, drawn = normals[i].permute(1, 2, 0).numpy(), loader.live.draw(key, 0)
            for name, made in camera_maps(normal, table_of_records([drawn]), 0, asked).items():
                shown = given[name][i].permute(1, 2, 0).numpy()
                np.testing.assert_array_equal(shown, made)
        assert given["mask"].any()


@pytest.mark.parametrize("more", [{}, {"layout": "HWC", "value_range": (-1, 1), "workers": 1}])
def test_maps_move_with_the_pixels(more):
    options = {**PLAIN, "augment": True, "extras": ["clean", "noise"], **more}
    loader = TorchLoader(PHOTOS, size=(64, 48), **options)
    square = TorchLoader(PHOTOS, size=64, **(options | {"workers": 0}))
    for low, _, given in (batch for one in (loader, square) for _ in range(3) for batch in one):
        assert given["clean"].shape == given["noise"].shape == low.shape
        off = (low - given["clean"]).abs() / given["noise"]
        assert (off < 4).float().mean() > 0.99


def test_stored_draws_are_the_records_and_lists_know_nothing(photos, tmp_path):
    root = make_set(tmp_path / "set", photos, "files")
    loader = TorchLoader(
        root, "val", device="cpu", workers=0, batch_size=4, keys=True, extras=["draw"]
    )
    for _, _, keys, given in loader:
        for key, record in zip(keys, given["draw"]["records"], strict=True):
            drawn = loader.components[0].drawn
            own = draw(drawn.recipe, drawn.seed, key)
            assert record == own.model_dump(mode="json")
    pairs = [(photo, photo) for photo in PHOTOS]
    asked = ["ev", "noise", "draw"]
    loader = TorchLoader(pairs, device="cpu", workers=0, batch_size=2, extras=asked)
    for low, _, given in loader:
        assert given["ev"].isnan().all()
        assert given["noise"].shape == low.shape
        assert given["noise"].isnan().all()
        assert given["draw"] == {"records": [None] * 2, "table": {}}


def test_what_nobody_knows_is_refused():
    with pytest.raises(LoaderError, match=r"extras 'depth': must be some of"):
        TorchLoader(PHOTOS, extras=["depth"], **PLAIN)


@pytest.mark.parametrize("more", [{}, {"live": True, "draws": "set"}, {"resident": True}])
def test_dali_gives_what_torch_gives(camera_set, more):
    pytest.importorskip("nvidia.dali")
    options = {"device": "cpu", "batch_size": 3, "size": 64, "augment": True, "keys": True}
    options |= {"extras": EXTRAS, "value_range": (-1, 1), "workers": 1, "last_batch": "partial"}
    found = by_key(PairLoader(camera_set, backend="dali", **options, **more))
    more = {name: value for name, value in more.items() if name != "resident"}
    wanted = by_key(TorchLoader(camera_set, **options | more | {"workers": 0}))
    assert found.keys() == wanted.keys()
    for key, given in wanted.items():
        for name, value in given.items():
            if isinstance(value, torch.Tensor):
                torch.testing.assert_close(found[key][name], value, equal_nan=True)
            else:
                assert found[key][name] == value, name


def by_key(loader):
    """Return what is given of each sample."""
    return {
        key: {n: v["records"][i] if n == "draw" else v[i] for n, v in given.items()}
        for _, _, keys, given in loader
        for i, key in enumerate(keys)
    }


def test_dali_knows_nothing_of_lists():
    pytest.importorskip("nvidia.dali")
    options = {"device": "cpu", "workers": 1, "batch_size": 2, "extras": ["noise", "draw"]}
    pairs = [(photo, photo) for photo in PHOTOS]
    for low, _, given in PairLoader(pairs, backend="dali", **options):
        assert given["noise"].shape == low.shape
        assert given["noise"].isnan().all()
        assert given["draw"] == {"records": [None] * 2, "table": {}}


def test_auto_takes_processes_for_maps_of_a_cpu_and_dali_for_a_gpus():
    pytest.importorskip("nvidia.dali")
    assert choose_backend({"extras": ["noise"], "device": "cpu"}).backend == "torch"
    resident = choose_backend({"extras": ["noise"], "device": "cpu", "resident": True})
    assert resident.backend == "dali"
    assert choose_backend({"extras": ["noise"], "device": "cuda"}).backend == "dali"


def test_units_are_those_of_the_images_in_worker_processes_too():
    loader = TorchLoader(PHOTOS, extras=["clean"], size=48, **PLAIN)
    (step,) = next(iter(loader.batch_sampler))
    levels = loader.options.model_copy(update={"dtype": "uint8"})
    made = loader.dataset.rendered(step, levels)
    assert made.images[0].dtype == torch.uint8
    assert made.extras["clean"].max() <= 1
