"""Real sets in loaders: pairs, arrays, clips, images with classes."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from gloam import ClipLoader, ImageLoader, PairLoader, TorchLoader, pairs_in, real
from gloam.errors import LoaderError
from gloam.manifests.images.normals import encode

from .numbered import numbered

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

PLAIN = {"batch_size": 2, "device": "cpu", "dtype": "uint8", "layout": "HWC", "workers": 0}


def written(root, *names):
    """Write a numbered picture under each name, as PNG or as the field's arrays."""
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".npy":
            np.save(path, numbered(number)[..., ::-1])  # blue first, as cv2.imread gives it
        else:
            path.write_bytes(encode(numbered(number), "png"))
    return root


@pytest.mark.parametrize("backend", ["dali", "torch"])
def test_arrays_of_short_and_long_exposures(backend, tmp_path):
    names = [f"short_sid2/00001/00001_0{i}_0.1s.npy" for i in (0, 1)]
    written(tmp_path, *names, "long_sid2/00001/00001_00_10s.npy")
    pairs = real("sid", tmp_path, "train")
    with PairLoader(pairs, "val", backend=backend, keys=True, **PLAIN) as loader:
        ((low, normal, keys),) = list(loader)
    assert keys == ["00001_00_0.1s", "00001_01_0.1s"]
    for i in (0, 1):
        assert np.array_equal(low[i].numpy(), numbered(i))
        assert np.array_equal(normal[i].numpy(), numbered(2))


def test_arrays_of_16_bits_and_floats_are_rounded_to_levels(tmp_path):
    levels = numbered(1)
    for name, array in (("a", levels.astype(np.uint16) * 257), ("b", levels / 255)):
        np.save(tmp_path / f"{name}.npy", array[..., ::-1])
    pairs = [(str(tmp_path / "a.npy"), str(tmp_path / "b.npy"))]
    with TorchLoader(pairs, "val", **PLAIN) as loader:
        ((low, normal),) = list(loader)
    assert np.array_equal(low[0].numpy(), levels)
    assert np.array_equal(normal[0].numpy(), levels)
    np.save(tmp_path / "a.npy", levels.astype(np.float32))
    with (
        TorchLoader(pairs, "val", **PLAIN) as loader,
        pytest.raises(LoaderError, match=r"a\.npy: cannot be read: float32: uint8, uint16, or"),
    ):
        list(loader)


def test_frames_of_real_clips_are_clips(tmp_path):
    frames = [f"{i:04}.npy" for i in range(1, 6)]
    sides = [f"indoor_np/{side}/{pair}" for pair in ("pair1", "pair2") for side in ("input", "GT")]
    written(tmp_path, *(f"{side}/{frame}" for side in sides for frame in frames))
    pairs = real("sdsd-indoor", tmp_path)
    with ClipLoader(pairs, "val", frames=2, stride=2, keys=True, **PLAIN) as loader:
        batches = list(loader)
    keys = [key for *_, own in batches for key in own]
    assert keys == ["pair1@0", "pair1@2", "pair2@0", "pair2@2"]
    low, normal, _ = batches[0]
    assert tuple(low.shape) == (2, 2, 40, 56, 3)
    for clip, first in enumerate((0, 2)):
        for frame, number in enumerate((first, first + 2)):
            assert np.array_equal(low[clip, frame].numpy(), numbered(number))
            assert np.array_equal(normal[clip, frame].numpy(), numbered(5 + number))
    with pytest.raises(LoaderError, match="none of its 2 folders holds 9 frames"):
        ClipLoader(pairs, frames=9, **PLAIN)
    with pytest.raises(LoaderError, match="has its lows"):
        ClipLoader(pairs, recipe="even", **PLAIN)


@pytest.mark.parametrize("backend", ["dali", "torch"])
def test_images_with_their_classes(backend, tmp_path):
    written(tmp_path, "ExDark/Boat/2.png", "ExDark/Cat/1.png", "ExDark/Cat/3.png")
    lines = ["Name | Class", "2.png 2 1 1 1", "1.png 6 1 1 1", "3.png 6 1 1 2"]
    (tmp_path / "imageclasslist.txt").write_text("\n".join(lines))
    for name in ("Boat/2", "Cat/1"):
        path = tmp_path / "ExDark_Annno" / f"{name}.png.txt"
        path.parent.mkdir(parents=True)
        path.write_text(f"{name.partition('/')[0]} 1 2 3 4\n")
    with ImageLoader(
        real("exdark", tmp_path), "val", backend=backend, keys=True, size=24, **PLAIN
    ) as loader:
        ((_, labels, keys),) = list(loader)
        assert loader.classes == ["Boat", "Cat"]
    assert dict(zip(keys, labels.tolist(), strict=True)) == {"2": 0, "1": 1}
    with pytest.raises(LoaderError, match="entry 0 of the list is not the path"):
        ImageLoader([("a", "b")], **PLAIN)


def test_pairs_by_a_pattern(tmp_path):
    written(tmp_path, "low/low01.png", "low/low02.png", "n/normal01.png", "n/normal02.npy")
    found = pairs_in(tmp_path / "low", tmp_path / "n", match=r"(?:low|normal)(\d+)\.")
    assert [tuple(Path(path).name for path in pair) for pair in found] == [
        ("low01.png", "normal01.png"),
        ("low02.png", "normal02.npy"),
    ]
    written(tmp_path, "sice/1/1.png", "sice/1/2.png", "sice/2/1.png", "label/1.png", "label/2.png")
    many = pairs_in(tmp_path / "sice", tmp_path / "label", match=(r"^(\d+)/", r"^(\d+)\."))
    assert [normal[-5:] for _, normal in many] == ["1.png", "1.png", "2.png"]
    for match, told in (
        (r"(\d\d\d)", r"normal01\.png: \(\\d\\d\\d\) is not found"),
        (r"\d+", "both need the same capture groups"),
        (r"(", "no regular expression"),
        ((r"(\d)\.", r"0(\d)"), ""),
        (r"(low|normal)", "captures the same"),
        ((r"low(\d+)", r"normal0(\d)"), "no normal in which"),
    ):
        if told:
            with pytest.raises(LoaderError, match=told):
                pairs_in(tmp_path / "low", tmp_path / "n", match=match)
        else:
            assert len(pairs_in(tmp_path / "low", tmp_path / "n", match=match)) == 2
    (tmp_path / "n" / "normal03.png").write_bytes(b"")
    with pytest.raises(LoaderError, match=r"normal03\.png: no low belongs to it"):
        pairs_in(tmp_path / "low", tmp_path / "n", match=r"(\d+)\.")
    with pytest.raises(LoaderError, match="two folders"):
        pairs_in(tmp_path / "low", match=r"(\d+)")


def test_deep_pictures_are_read_too(tmp_path):
    levels = numbered(3)
    for name in ("low", "normal"):
        (tmp_path / name).mkdir()
        bgr = (levels.astype(np.uint16) * 257)[..., ::-1]
        assert cv2.imwrite(str(tmp_path / name / "1.png"), bgr)
    for backend in ("dali", "torch"):
        pairs = pairs_in(tmp_path / "low", tmp_path / "normal")
        with PairLoader(pairs, "val", backend=backend, **PLAIN) as loader:
            ((low, _),) = list(loader)
        assert np.abs(low[0].numpy().astype(int) - levels).max() <= 1
