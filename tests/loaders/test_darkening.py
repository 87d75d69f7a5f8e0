"""Darken and darken_batch: `darken`'s very samples, wherever they are called."""

from __future__ import annotations

import copy
import io
import pickle
from collections import deque

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import gloam
from gloam.errors import ConfigError

IMAGES = [np.random.default_rng(i).integers(0, 256, (20 + i, 31, 3), np.uint8) for i in range(3)]


def test_a_key_gives_the_low_of_darken_in_every_form():
    darker = gloam.Darken("even", seed=4, overrides=["camera.iso=3200"])
    wanted = gloam.darken(IMAGES[0], "even", seed=4, key="k", overrides=["camera.iso=3200"])
    assert (darker(IMAGES[0], key="k") == wanted).all()
    assert (np.asarray(darker(Image.fromarray(IMAGES[0]), key="k")) == wanted).all()
    tensor = torch.from_numpy(IMAGES[0]).permute(2, 0, 1)
    assert (darker(tensor, key="k").permute(1, 2, 0).numpy() == wanted).all()
    for other in (copy.deepcopy(darker), pickle.loads(pickle.dumps(darker))):
        assert (other(IMAGES[0], key="k") == wanted).all()


def test_darken_darken_and_darken_batch_take_the_same_images():
    array = IMAGES[0]
    wanted = gloam.darken(array, "even", key="0")
    first = np.ascontiguousarray(array.transpose(2, 0, 1))
    forms = {
        "array, channels first": (first, lambda low: low.transpose(1, 2, 0)),
        "Pillow": (Image.fromarray(array), np.asarray),
        "tensor": (torch.from_numpy(array), lambda low: low.numpy()),
        "tensor, channels first": (
            torch.from_numpy(first),
            lambda low: low.permute(1, 2, 0).numpy(),
        ),
    }
    for name, (image, back) in forms.items():
        lows = [
            gloam.darken(image, "even", key="0"),
            gloam.Darken("even")(image, key="0"),
            gloam.darken_batch([image], "even")[0],
            gloam.darken_batch(deque([image]), "even")[0],
        ]
        for low in lows:
            assert type(low) is type(image), name
            assert (back(low) == wanted).all(), name
    with pytest.raises(TypeError, match="key"):
        gloam.darken(array, "even")


@pytest.mark.parametrize("image", [1, "a", torch.zeros(2, 3, 4, 4), IMAGES[0].astype(float)])
def test_other_things_are_refused(image):
    with pytest.raises(ValueError, match=r"image must be|normal must be"):
        gloam.Darken("even")(image)


class Dark(Dataset):
    def __init__(self) -> None:
        self._darken = gloam.Darken("extreme", seed=1)

    def __len__(self) -> int:
        return 6

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.from_numpy(self._darken(np.full((16, 16, 3), 128, np.uint8)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("context", "persistent"), [("fork", False), ("fork", True), ("spawn", True)]
)
@pytest.mark.filterwarnings("ignore:This process")
def test_no_two_calls_share_their_noise_whatever_the_workers_and_epochs(context, persistent):
    loader = DataLoader(
        Dark(), num_workers=2, multiprocessing_context=context, persistent_workers=persistent
    )
    lows = [bytes(low.numpy()) for _ in range(2) for low in loader]
    assert len(set(lows)) == len(lows) == 12


def test_ranks_share_no_noise(monkeypatch):
    keys = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        keys.append(gloam.Darken("even").next_key())
    assert len(set(keys)) == 2


def test_batches_are_the_lows_of_their_images():
    wanted = [gloam.darken(image, "uneven", seed=2, key=str(i)) for i, image in enumerate(IMAGES)]
    for images in (IMAGES, tuple(IMAGES), [torch.from_numpy(image) for image in IMAGES]):
        lows = gloam.darken_batch(images, "uneven", seed=2)
        assert all((np.asarray(low) == w).all() for low, w in zip(lows, wanted, strict=True))
    whole = np.stack([IMAGES[0]] * 2)
    lows = gloam.darken_batch(whole, "uneven", seed=2, keys=["0", "0"], device="auto")
    assert isinstance(lows, np.ndarray)
    assert (lows[0] == wanted[0]).all()
    assert (lows[1] == wanted[0]).all()
    assert torch.equal(
        gloam.darken_batch(torch.from_numpy(whole), "uneven", seed=2, keys=["0", "0"]),
        torch.from_numpy(lows),
    )
    assert gloam.darken_batch([], "uneven") == []


def test_wrong_batches_are_refused():
    with pytest.raises(ValueError, match="3 images, 1 keys: each image needs one"):
        gloam.darken_batch(IMAGES, "even", keys=["a"])
    with pytest.raises(ConfigError, match="device 'tpu'"):
        gloam.darken_batch(IMAGES, "even", device="tpu")


def sixteen(mode):
    """A Pillow image of 16-bit grey, and its nearest 8-bit levels."""
    values = np.linspace(0, 65535, 40 * 30).reshape(30, 40).astype(np.uint16)
    stored = values.astype(">u2" if mode == "I;16B" else "<u2")
    return Image.frombytes(mode, (40, 30), stored.tobytes()), np.rint(values / 257)


def grey(levels):
    return np.repeat(np.asarray(levels, np.uint8)[:, :, None], 3, axis=2)


@pytest.mark.parametrize("mode", ["I;16", "I;16L", "I;16B", "I;16N"])
def test_pillow_images_of_16_bits_are_their_nearest_levels(mode):
    image, levels = sixteen(mode)
    wanted = gloam.darken(grey(levels), "even", key="0")
    assert (np.asarray(gloam.darken(image, "even", key="0")) == wanted).all()
    assert (np.asarray(gloam.Darken("even")(image, key="0")) == wanted).all()
    assert (np.asarray(gloam.darken_batch([image], "even")[0]) == wanted).all()


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr", "HSV", "LAB", "RGBX"])
def test_pillow_images_of_opaque_modes_are_taken_as_rgb(mode):
    image = Image.fromarray(IMAGES[0]).convert(mode)
    wanted = gloam.darken(np.asarray(image.convert("RGB")), "even", key="0")
    assert (np.asarray(gloam.darken(image, "even", key="0")) == wanted).all()


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA", "La", "RGBa"])
def test_what_is_transparent_is_white_as_build_shows_it(mode):
    clear = Image.new("L", (31, 20), 0)
    clear.paste(255, (0, 0, 15, 20))
    own = Image.fromarray(IMAGES[0])
    image = own.convert("L" if mode.upper() == "LA" else "P" if mode == "PA" else "RGB")
    shown = np.array(image.convert("RGB"))
    shown[:, 15:] = 255
    image = image.convert("PA") if mode == "PA" else image
    image.putalpha(clear)
    image = image if image.mode == mode else image.convert(mode)
    wanted = gloam.darken(shown, "even", key="0")
    assert (np.asarray(gloam.darken(image, "even", key="0")) == wanted).all()


def test_a_transparent_colour_is_white():
    out = io.BytesIO()
    Image.fromarray(IMAGES[0]).save(out, "PNG", transparency=tuple(IMAGES[0][0, 0].tolist()))
    shown = IMAGES[0].copy()
    shown[(shown == shown[0, 0]).all(axis=2)] = 255
    wanted = gloam.darken(shown, "even", key="0")
    assert (np.asarray(gloam.darken(Image.open(out), "even", key="0")) == wanted).all()


@pytest.mark.parametrize("mode", ["I", "F"])
def test_modes_that_do_not_say_what_is_white_are_refused(mode):
    image = Image.fromarray(IMAGES[0]).convert(mode)
    for call in (gloam.darken, gloam.Darken("even")):
        with pytest.raises(ValueError, match=f"mode {mode}: nothing says which value is white"):
            call(image, key="0")
