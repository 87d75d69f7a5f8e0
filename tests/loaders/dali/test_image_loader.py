"""ImageLoader: photographs and their classes, every one once, in step, resumable."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image

import gloam
from gloam.cli.main import gloam as command
from gloam.errors import LoaderError
from gloam.manifests.open_data import images_in, images_listed

from ...labelled import NAMES, class_source

pytest.importorskip("nvidia.dali")
COUNT = 22


def flat(folder: Path, count: int) -> Path:
    """Class folders of plain images, each of a grey of its own."""
    for number in range(count):
        path = folder / f"class {number % 3}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40 + number, 30), (10 * number + 5,) * 3).save(path)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat(tmp_path_factory.mktemp("images"), COUNT)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("labelled")
    source = f"classes={class_source(root / 'classes', 20)}"
    options = {"val": 6, "labels": True, "select": False, "shard_size": 5}
    gloam.build(root / "shards", source, **options)
    gloam.build(root / "files", source, layout="files", **options)
    return {"shards": root / "shards", "files": root / "files"}


def which(images: torch.Tensor) -> list[int]:
    """The numbers of plain images, by their grey."""
    return ((images.mean((1, 2, 3)) * 255 - 5) / 10).round().int().tolist()


OPTIONS = {"batch_size": 4, "size": 24, "device": "cpu", "workers": 2}


def test_every_image_comes_with_its_class(folder):
    with gloam.ImageLoader(folder, "val", **OPTIONS) as loader:
        assert loader.classes == ["class 0", "class 1", "class 2"]
        assert len(loader) == 6
        for _ in range(2):
            batches = [
                zip(which(images), labels.tolist(), strict=True) for images, labels in loader
            ]
            found = [one for batch in batches for one in batch]
            assert sorted(found) == [(n, n % 3) for n in range(COUNT)]
            assert found == sorted(found, key=lambda one: (one[1], str(one[0]) + ".png"))


@pytest.mark.parametrize("crop", ["resize", "random", "random-resized"])
def test_training_shuffles_and_drops(folder, crop):
    orders = []
    with gloam.ImageLoader(folder, crop=crop, augment=True, seed=2, **OPTIONS) as loader:
        for _ in range(2):
            order = []
            for images, labels in loader:
                assert images.shape == (4, 3, 24, 24)
                numbers = which(images)
                assert labels.tolist() == [number % 3 for number in numbers]
                order += numbers
            assert len(order) == len(set(order)) == COUNT // 4 * 4
            orders.append(order)
    assert orders[0] != orders[1]


def test_ranks_share_and_a_state_resumes(folder):
    seen = []
    for rank in range(2):
        options = {**OPTIONS, "seed": 4, "rank": rank, "world_size": 2, "last_batch": "partial"}
        with gloam.ImageLoader(folder, **options) as whole:
            batches = [which(images) for _ in range(2) for images, _ in whole]
        with gloam.ImageLoader(folder, **options) as first:
            taken = []
            for images, _ in first:
                taken.append(which(images))
                if len(taken) == 2:
                    state = first.state_dict()
                    break
        with gloam.ImageLoader(folder, **options) as second:
            second.load_state_dict(state)
            taken += [which(images) for _ in range(2) for images, _ in second]
        assert taken == batches
        seen += [number for batch in batches[: len(batches) // 2] for number in batch]
    assert sorted(seen) == list(range(COUNT))


@pytest.mark.parametrize("layout", ["shards", "files"])
@pytest.mark.parametrize("split", ["train", "val"])
def test_a_set_gives_its_normals(labelled, layout, split):
    pairs = {pair.key: pair for pair in gloam.open_set(labelled[layout]).pairs(split)}
    options = {**OPTIONS, "size": 32, "dtype": "uint8", "keys": True, "last_batch": "partial"}
    with gloam.ImageLoader(labelled[layout], split, seed=1, **options) as loader:
        assert loader.classes == sorted(NAMES)
        for _ in range(2):
            seen = []
            for images, labels, keys in loader:
                for image, label, key in zip(images, labels.tolist(), keys, strict=True):
                    assert label == pairs[key].record["labels"]["class_number"]
                    normal = pairs[key].decoded("normal").mean((0, 1))
                    assert np.abs(image.float().mean((1, 2)).numpy() - normal).max() < 2
                seen += keys
            assert sorted(seen) == sorted(pairs)


def test_lists_are_read_however_systems_write_them(tmp_path):
    (tmp_path / "cafe\u0301.png").touch()
    text = "\ufeffa.png 0\r\n\r\n b 1.PNG \t  -1 \r\n/c/d.jpg\t+12\n\te.jpg\r caf\u00e9.png  7"
    (tmp_path / "list.txt").write_bytes(text.encode())
    assert images_listed(tmp_path / "list.txt") == (
        [
            *(f"{tmp_path}/a.png", f"{tmp_path}/b 1.PNG", "/c/d.jpg", f"{tmp_path}/e.jpg"),
            f"{tmp_path}/cafe\u0301.png",
        ],
        [0, -1, 12, -1, 7],
        [],
    )


@pytest.mark.parametrize(
    "label", [" cat", "\t1.5", " 0 5 7", ",3", " 12345678901", " --5", " \uff15"]
)
def test_a_line_whose_label_is_none_is_named(label, tmp_path):
    (tmp_path / "list.txt").write_text(f"a.jpg 1\n\nb.jpg{label}\n", "utf-8")
    with pytest.raises(LoaderError, match=r"list\.txt:3: .* behind the path is no label"):
        images_listed(tmp_path / "list.txt")


def test_lists_are_read(folder, tmp_path):
    lines = [f"{folder}/class {n % 3}/{n}.png {n + 100}" for n in range(COUNT)]
    (tmp_path / "list.txt").write_text("\n".join(lines) + "\n")
    with gloam.ImageLoader(tmp_path / "list.txt", "val", **OPTIONS) as loader:
        labels = [label for _, labels in loader for label in labels.tolist()]
    assert labels == [n + 100 for n in range(COUNT)]
    (tmp_path / "bare.txt").write_text("\n".join(line.rpartition(" ")[0] for line in lines))
    with gloam.ImageLoader(tmp_path / "bare.txt", "val", **OPTIONS) as loader:
        found = [number for images, _ in loader for number in which(images)]
    assert found == list(range(COUNT))


def test_images_of_one_name_but_for_their_suffix_are_all_read(tmp_path):
    for name in ("cat/1.jpg", "cat/1.png", "dog/1.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    assert images_in(tmp_path).labels == [0, 0, 1]


def test_what_is_wrong_is_named(folder, tmp_path):
    with pytest.raises(LoaderError, match="no such folder, list or set"):
        gloam.ImageLoader(tmp_path / "nothing", **OPTIONS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LoaderError):
        gloam.ImageLoader(tmp_path / "empty", **OPTIONS)
    with pytest.raises(LoaderError, match=r"augmnt: no such option; augment is meant\?"):
        gloam.ImageLoader(folder, augmnt=True, **OPTIONS)
    flat(tmp_path / "damaged", 8)
    path = tmp_path / "damaged" / "class 1" / "4.png"
    path.write_bytes(path.read_bytes()[:50])
    with (
        gloam.ImageLoader(tmp_path / "damaged", "val", **OPTIONS) as loader,
        pytest.raises(LoaderError, match=r"4\.png"),
    ):
        list(loader)


def test_bench_compares_it_with_plain_loaders(folder):
    arguments = ["bench", str(folder), "--seconds", "0.1", "--batch-size", "4", "--size", "32"]
    run = CliRunner().invoke(command, [*arguments, "--workers", "0"])
    assert run.exit_code == 0, run.output
    for name in ("DALI", "DataLoader, opencv, 0 workers", "DataLoader, pillow, 0 workers"):
        assert name in run.output
    assert "images a second" in run.output


@pytest.mark.parametrize("kind", ["folder", "shards", "files"])
def test_copies_and_single_images_are_to_be_had_after_use(folder, labelled, kind):
    root = folder if kind == "folder" else labelled[kind]
    with gloam.ImageLoader(root, "val", **OPTIONS) as loader:
        expected = [images for images, _ in loader]
        next(iter(loader))
        with pickle.loads(pickle.dumps(loader)) as copy:
            assert all(map(torch.equal, expected, (images for images, _ in copy)))
        dataset = loader.dataset
        images = [dataset[number] for number in range(len(dataset))]
        assert (dataset[-1][0] == images[-1][0]).all()
        assert [label for _, label in images] == [n for _, one in loader for n in one.tolist()]
        with pytest.raises(IndexError):
            dataset[len(dataset)]


def test_a_loader_of_a_folder_counts_every_image_once_on_padded_ranks(folder):
    found = []
    for rank in range(3):
        options = {**OPTIONS, "last_batch": "padded", "rank": rank, "world_size": 3}
        with gloam.ImageLoader(folder, "val", **options) as loader:
            assert len(loader) == 2
            for images, _ in loader:
                assert len(images) == 4
                found += which(images)[: 4 - loader.padded]
    assert sorted(found) == list(range(COUNT))
