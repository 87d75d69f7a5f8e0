"""Things to load: sets, lists and folders, whole or refused."""

from __future__ import annotations

import io
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from pillow_heif import register_heif_opener

from gloam.errors import GloamWarning, LoaderError, SetError
from gloam.loaders import ClipLoader, ImageLoader, PairLoader, TorchLoader, mix, pairs_in
from gloam.manifests.images.normals import encode
from gloam.manifests.sets.info import read_set

from .numbered import numbered

pytest.importorskip("nvidia.dali")
pytest.importorskip("torch")

PLAIN = {"device": "cpu", "workers": 2, "size": (40, 56)}


def test_folders_of_other_peoples_pairs_load(tmp_path):
    for i in range(3):
        for folder in ("img", "gt"):
            path = tmp_path / "train" / folder / "sub" / f"{i}.{'png' if folder == 'gt' else 'jpg'}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode(numbered(i), path.suffix[1:]))
    pairs = pairs_in(tmp_path / "train" / "img", tmp_path / "train" / "gt")
    with PairLoader(pairs, "val", batch_size=2, keys=True, device="cpu") as loader:
        assert [keys for _, _, keys in loader] == [["0", "1"], ["2"]]
    (tmp_path / "train" / "gt" / "sub" / "1.png").unlink()
    with pytest.raises(LoaderError, match=r"img: sub/1\.jpg has no partner of that name in .*gt;"):
        pairs_in(tmp_path / "train" / "img", tmp_path / "train" / "gt")


@pytest.mark.parametrize("data", [3, None, 1.5, True, {"low": "a", "normal": "b"}])
@pytest.mark.parametrize("loader", [PairLoader, ClipLoader])
def test_what_is_no_set_is_named(data, loader):
    with pytest.raises(LoaderError, match=re.escape(f"data={data}: must be the folder of a set")):
        loader(data, batch_size=2, **PLAIN)


def test_an_array_of_paths_is_a_list_of_them(tmp_path):
    paths = [str(tmp_path / f"{i}.png") for i in range(2)]
    for i, path in enumerate(paths):
        Path(path).write_bytes(encode(numbered(i), "png"))
    for data in (paths, np.array(paths)):
        with PairLoader(data, "val", batch_size=2, live=True, keys=True, **PLAIN) as loader:
            assert [keys for _, _, keys in loader] == [["0", "1"]]


def test_two_images_of_one_name_are_refused(tmp_path):
    for name in ("low/a.png", "low/a.jpg", "normal/a.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(encode(numbered(1), path.suffix[1:]))
    with pytest.raises(LoaderError, match=r"a\.png: a\.jpg has the same name"):
        pairs_in(tmp_path / "low", tmp_path / "normal")


def test_broken_sets_are_refused(shards, files, tmp_path):
    root = shutil.copytree(shards, tmp_path / "copy")
    unit = next(u for u in read_set(root).units if u.startswith("train"))
    index = root / "shards" / f"{unit}.idx"
    whole = index.read_bytes()
    index.write_bytes(whole.replace(b"low", b"wol", 1))
    with pytest.raises(SetError, match=r"idx: is not the one that was built"):
        PairLoader(root, batch_size=1)
    index.unlink()
    with pytest.raises(SetError, match=r"\.idx: No such file"):
        PairLoader(root, batch_size=1)
    index.write_bytes(whole)
    names = root / "lists" / "train-shards.txt"
    names.write_text(names.read_text() + "shards/train-000099.tar\n")
    with pytest.raises(SetError, match=r"train-000099\.tar does not belong"):
        PairLoader(root, batch_size=1)
    (root / "set.json").unlink()
    with pytest.raises(SetError, match="not a gloam set"):
        PairLoader(root, batch_size=1)
    (root / ".gloam").mkdir()
    with pytest.raises(SetError, match="not finished"):
        PairLoader(root, batch_size=1)
    other = shutil.copytree(files, tmp_path / "files")
    names = other / "lists" / "train-low.txt"
    names.write_text("".join(names.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(SetError, match="36 lines"):
        PairLoader(other, batch_size=1)


def test_wrong_lists_are_named():
    with pytest.raises(LoaderError, match="empty"):
        PairLoader([], batch_size=1)
    with pytest.raises(LoaderError, match="entry 0"):
        PairLoader(["a.png"], batch_size=1)
    with (
        PairLoader([("/nowhere/a.png", "/nowhere/b.png")], batch_size=1, device="cpu") as loader,
        pytest.raises(LoaderError, match=r"nowhere/a\.png"),
    ):
        next(iter(loader))


def turned(pixels: np.ndarray, orientation: int) -> bytes:
    """A JPEG that EXIF turns."""
    exif, data = Image.Exif(), io.BytesIO()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(data, "JPEG", exif=exif)
    return data.getvalue()


def with_long_text(pixels: np.ndarray) -> bytes:
    """A PNG with more text than Pillow opens one with."""
    text, data = PngInfo(), io.BytesIO()
    text.add_text("parameters", "a" * (3 << 20), zip=True)
    Image.fromarray(pixels).save(data, "PNG", pnginfo=text)
    return data.getvalue()


@pytest.mark.parametrize("kind", ["dali", "torch", "resident"])
def test_pairs_that_differ_in_size_are_refused(kind):
    """Windows of them would show other things; so would those of one that EXIF turns."""
    upright, taller = numbered(1, 40, 56), numbered(1, 42, 56)
    make = TorchLoader if kind == "torch" else PairLoader
    options = {"batch_size": 1, "size": 24, "device": "cpu", "workers": 1}
    more = {"resident": True} if kind == "resident" else {}
    for low, normal in (
        (encode(upright, "png"), encode(taller, "png")),
        (encode(upright, "jpg"), encode(taller, "jpg")),
        (turned(upright, 6), encode(upright, "png")),
        (encode(upright, "png"), turned(upright, 8)),
    ):
        with (
            make([(low, normal)], **options, **more) as loader,
            pytest.raises(LoaderError, match=r"pair 0, low: low and normal differ in size: \d+ x"),
        ):
            list(loader)
    for pair in (
        (turned(upright, 6), encode(np.rot90(upright), "png")),
        (turned(upright, 3), encode(upright, "png")),
        (turned(upright, 6), turned(upright, 8)),
        (with_long_text(upright), encode(upright, "png")),
    ):
        with make([pair], **options, **more) as loader:
            assert len(list(loader)) == 1


@pytest.mark.parametrize("suffix", ["avif", "heic"])
def test_every_loader_turns_what_no_other_decoder_reads(suffix, tmp_path):
    register_heif_opener()
    path, exif = tmp_path / f"one.{suffix}", Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(numbered(1, 40, 56)).save(path, exif=exif)
    shown = (40, 56) if suffix == "heic" else (56, 40)  # its EXIF turns nothing, by its standard
    options = {"batch_size": 1, "device": "cpu", "workers": 0}
    for make in (TorchLoader, partial(PairLoader, backend="dali")):
        for data, live in (([(path, path)], False), ([path], True)):
            with make(data, live=live, **options) as loader:
                assert [tuple(low.shape) for low, _ in loader] == [(1, 3, *shown)]


ENLARGED = {
    "set": lambda shards, photos, options: TorchLoader(shards, **options),
    "list": lambda shards, photos, options: TorchLoader(pairs_in(photos), live=True, **options),
    "mixture": lambda shards, photos, options: TorchLoader(mix({"a": (shards, 1)}), **options),
    "clips": lambda shards, photos, options: ClipLoader(
        pairs_in(photos, photos)[:4],
        backend="torch",
        frames=2,
        **options,
    ),
    "images": lambda shards, photos, options: ImageLoader(photos, backend="torch", **options),
}


@pytest.mark.parametrize("kind", ENLARGED)
def test_a_size_that_enlarges_many_times_is_said(shards, photos, kind):
    options = {"batch_size": 2, "size": (400, 400), "device": "cpu", "workers": 0}
    with pytest.warns(GloamWarning, match=r"size 400 x 400 enlarges pictures 10\.0 times"):
        ENLARGED[kind](shards, photos, options)
