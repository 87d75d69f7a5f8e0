"""The layouts of known collections, each as a folder and as the archives that its owners give
out."""

from __future__ import annotations

import json
import os
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import ImageRefused, SourceError
from gloam.manifests.sources import KINDS, Listed, list_source, parse_source, read
from gloam.manifests.sources.collections import SAMPLE_NAMES

Files = dict[str, bytes]


def listed(kind: str, path: Path | str, listing: str = "") -> list[Listed]:
    return list(list_source(kind, str(path), listing))


def names_of(images: list[Listed]) -> dict[str, str]:
    """Path of each photograph to its name."""
    return {image.path: image.name for image in images}


def check_bytes(images: list[Listed], files: Files) -> None:
    """Each listed location holds the photograph of its path."""
    assert images
    for image in images:
        assert read(image.location) == files[image.path]
        assert image.location.size == len(files[image.path])


@pytest.fixture
def pack(
    tmp_path: Path, fill_folder: Any, write_tar: Any, write_zip: Any
) -> Callable[[str, Files], Path]:
    """pack(container, files): the same files as a "folder", "tar" or "zip"."""

    def make(container: str, files: Files) -> Path:
        if container == "folder":
            return fill_folder(tmp_path / "folder", files)
        return (write_tar if container == "tar" else write_zip)(
            tmp_path / f"source.{container}", files
        )

    return make


# ImageNet


@pytest.fixture
def train_folders(jpegs: list[bytes]) -> Files:
    return {
        "n01440764/n01440764_10026.JPEG": jpegs[0],
        "n01440764/n01440764_10027.JPEG": jpegs[1],
        "n01443537/n01443537_2.JPEG": jpegs[2],
    }


TRAIN_NAMES = {
    "n01440764/n01440764_10026.JPEG": "n01440764_10026",
    "n01440764/n01440764_10027.JPEG": "n01440764_10027",
    "n01443537/n01443537_2.JPEG": "n01443537_2",
}


@pytest.mark.parametrize("container", ["folder", "tar", "zip"])
def test_imagenet_train_folders(pack: Any, train_folders: Files, container: str) -> None:
    others = {
        "LOC_synset_mapping.txt": b"n01440764 tench",
        "n01440764/notes.txt": b"text",
        "thumbs/1.JPEG": train_folders["n01443537/n01443537_2.JPEG"],
    }
    images = listed("imagenet", pack(container, others | train_folders))
    assert names_of(images) == TRAIN_NAMES
    check_bytes(images, train_folders)


def test_imagenet_train_folders_below_other_folders(pack: Any, train_folders: Files) -> None:
    below = {f"ILSVRC/Data/CLS-LOC/train/{name}": data for name, data in train_folders.items()}
    images = listed("imagenet", pack("folder", below))
    assert sorted(names_of(images).values()) == sorted(TRAIN_NAMES.values())
    check_bytes(images, below)


def test_imagenet_train_tar_of_tars(
    tmp_path: Path, train_folders: Files, write_tar: Any, tar_bytes: Any
) -> None:
    synsets: dict[str, Files] = {}
    for name, data in train_folders.items():
        synset, _, file = name.partition("/")
        synsets.setdefault(synset, {})[file] = data
    inner = {
        f"{synset}.tar": tar_bytes(files, tarfile.GNU_FORMAT) for synset, files in synsets.items()
    }
    images = listed(
        "imagenet", write_tar(tmp_path / "ILSVRC2012_img_train.tar", inner, tarfile.GNU_FORMAT)
    )
    assert names_of(images) == TRAIN_NAMES
    check_bytes(images, train_folders)


@pytest.mark.parametrize("container", ["tar", "folder"])
def test_imagenet_flat_val(pack: Any, jpegs: list[bytes], container: str) -> None:
    files = {f"ILSVRC2012_val_{i + 1:08d}.JPEG": jpegs[i] for i in range(4)}
    images = listed(
        "imagenet",
        pack(container, files | {"ILSVRC2012_val_readme.txt": b"text", "stray.JPEG": jpegs[5]}),
    )
    assert names_of(images) == {name: name.removesuffix(".JPEG") for name in files}
    check_bytes(images, files)


# VOC


@pytest.fixture
def voc(jpegs: list[bytes]) -> Files:
    return {
        "Annotations/2007_000027.xml": b"<annotation/>",
        "ImageSets/Main/trainval.txt": b"2007_000027\n2007_000032  1\n",
        "ImageSets/Main/val.txt": b"2007_000032\n\n",
        "JPEGImages/2007_000027.jpg": jpegs[0],
        "JPEGImages/2007_000032.jpg": jpegs[1],
        "JPEGImages/2008_000008.jpg": jpegs[2],
        "SegmentationClass/2007_000032.png": jpegs[3],
    }


@pytest.mark.parametrize("container", ["folder", "tar"])
@pytest.mark.parametrize("prefix", ["", "VOCdevkit/VOC2012/"])
@pytest.mark.parametrize(
    ("listing", "names"),
    [
        ("", ["2007_000027", "2007_000032", "2008_000008"]),
        ("trainval", ["2007_000027", "2007_000032"]),
        ("val", ["2007_000032"]),
    ],
)
def test_voc(
    pack: Any, voc: Files, container: str, prefix: str, listing: str, names: list[str]
) -> None:
    files = {prefix + name: data for name, data in voc.items()}
    images = listed("voc", pack(container, files), listing)
    assert names_of(images) == {f"{prefix}JPEGImages/{name}.jpg": name for name in names}
    check_bytes(images, files)


def test_lists_are_read_however_systems_write_them(pack: Any, jpegs: list[bytes]) -> None:
    text = "\ufeffa \t1\r\n\r\n b   -1\r\ncaf\u00e9.jpg\t1\r\n".encode()
    files = {f"JPEGImages/{name}.JPG": jpegs[0] for name in ("a", "b", "cafe\u0301")}
    images = listed("voc", pack("folder", files | {"ImageSets/Main/cat.TXT": text}), "cat")
    assert [image.name for image in images] == ["a", "cafe\u0301"]


def test_voc_of_several_years_joins_their_lists(pack: Any, jpegs: list[bytes]) -> None:
    files = {
        "VOC2007/ImageSets/Main/trainval.txt": b"000005\n",
        "VOC2007/JPEGImages/000005.jpg": jpegs[0],
        "VOC2007/JPEGImages/000006.jpg": jpegs[1],
        "VOC2012/ImageSets/Main/trainval.txt": b"2008_000008\n",
        "VOC2012/JPEGImages/2008_000008.jpg": jpegs[2],
    }
    images = listed("voc", pack("folder", files), "trainval")
    assert [image.name for image in images] == ["000005", "2008_000008"]


def test_voc_says_which_list_is_missing(pack: Any, voc: Files) -> None:
    with pytest.raises(SourceError, match=r"has no ImageSets/Main/test\.txt"):
        listed("voc", pack("folder", voc), "test")


@pytest.mark.parametrize("container", ["folder", "tar"])
def test_voc_says_how_many_images_of_a_list_are_missing(
    pack: Any, voc: Files, container: str
) -> None:
    voc["ImageSets/Main/trainval.txt"] += b"2009_000001\n2009_000002\n"
    with pytest.raises(
        SourceError, match="2 of 4 images of the list trainval are missing, such as 2009_000001"
    ):
        listed("voc", pack(container, voc), "trainval")


def test_voc_list_that_is_not_text_is_refused(pack: Any, voc: Files) -> None:
    voc["ImageSets/Main/trainval.txt"] = b"\xff\xfe2\x000\x00"
    with pytest.raises(SourceError, match=r"ImageSets/Main/trainval\.txt cannot be read"):
        listed("voc", pack("folder", voc), "trainval")


# COCO


def annotations(*names: str) -> bytes:
    images = [
        {"id": i, "file_name": name, "width": 40, "height": 30} for i, name in enumerate(names)
    ]
    return json.dumps({"info": {}, "images": images, "annotations": []}).encode()


@pytest.fixture
def coco(jpegs: list[bytes]) -> Files:
    return {f"{i:012d}.jpg": jpegs[n] for n, i in enumerate((9, 25, 30, 34))}


COCO_LIST = annotations("000000000009.jpg", "000000000030.jpg")


@pytest.mark.parametrize("container", ["folder", "zip"])
@pytest.mark.parametrize("prefix", ["", "train2017/"])
def test_coco_without_a_list_takes_every_image(
    pack: Any, coco: Files, container: str, prefix: str
) -> None:
    files = {prefix + name: data for name, data in coco.items()}
    images = listed("coco", pack(container, files))
    assert names_of(images) == {
        name: name.removeprefix(prefix).removesuffix(".jpg") for name in files
    }
    check_bytes(images, files)


@pytest.mark.parametrize("container", ["folder", "zip"])
@pytest.mark.parametrize("suffix", ["json", "JSON"])
def test_coco_takes_what_annotations_beside_it_name(
    tmp_path: Path, pack: Any, coco: Files, container: str, suffix: str
) -> None:
    path = pack(container, {f"train2017/{name}": data for name, data in coco.items()})
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / f"instances_train2017.{suffix}").write_bytes(COCO_LIST)
    images = listed("coco", path, "instances_train2017")
    assert [image.name for image in images] == ["000000000009", "000000000030"]
    check_bytes(images, {f"train2017/{name}": data for name, data in coco.items()})


@pytest.mark.parametrize("container", ["folder", "zip", "tar"])
@pytest.mark.parametrize("prefix", ["", "coco/"])
def test_coco_takes_what_annotations_inside_it_name(
    pack: Any, coco: Files, container: str, prefix: str
) -> None:
    files = {f"{prefix}train2017/{name}": data for name, data in coco.items()}
    files[f"{prefix}annotations/instances_train2017.json"] = COCO_LIST
    images = listed("coco", pack(container, files), "instances_train2017")
    assert [image.name for image in images] == ["000000000009", "000000000030"]
    check_bytes(images, files)


def test_coco_takes_a_list_in_a_folder_of_annotations(
    tmp_path: Path, pack: Any, coco: Files
) -> None:
    """What lies inside counts, whatever lies beside."""
    files = {f"train2017/{name}": data for name, data in coco.items()}
    files["annotations/own/few.json"] = COCO_LIST
    files["annotations/few.json"] = annotations("000000000025.jpg")
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "few.json").write_bytes(annotations("000000000034.jpg"))
    path = pack("zip", files)
    assert [one.name for one in listed("coco", path, "own/few")] == ["000000000009", "000000000030"]
    assert [one.name for one in listed("coco", path, "few")] == ["000000000025"]


def test_coco_says_where_it_looked_for_annotations(pack: Any, coco: Files) -> None:
    with pytest.raises(
        SourceError, match=r"has no annotations/captions\.json, neither in nor beside it"
    ):
        listed("coco", pack("zip", coco), "captions")


def test_coco_says_which_images_are_missing(pack: Any, coco: Files) -> None:
    coco["annotations/i.json"] = annotations("000000000009.jpg", "000000000404.jpg")
    with pytest.raises(
        SourceError, match="1 of 2 images of the list i are missing, such as 000000000404"
    ):
        listed("coco", pack("zip", coco), "i")


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"images": 7}',
        b'{"images": [{"id": 1}]}',
        b"\xff\xfe",
        b'{"images": "caf\xe9"}',
    ],
    ids=["open", "list", "no images", "a number", "no file name", "utf-16", "latin-1"],
)
@pytest.mark.parametrize("where", ["inside", "beside"])
def test_coco_annotations_of_another_kind_are_refused(
    tmp_path: Path, pack: Any, coco: Files, text: bytes, where: str
) -> None:
    if where == "inside":
        coco["annotations/i.json"] = text
    else:
        (tmp_path / "annotations").mkdir()
        (tmp_path / "annotations" / "i.json").write_bytes(text)
    with pytest.raises(SourceError, match="annotations"):
        listed("coco", pack("folder", coco), "i")


# IAPR TC-12 and StreetScenes


@pytest.mark.parametrize("container", ["folder", "tar"])
@pytest.mark.parametrize("prefix", ["", "iaprtc12/"])
def test_iapr(pack: Any, jpegs: list[bytes], container: str, prefix: str) -> None:
    files = {f"{prefix}images/00/25.jpg": jpegs[0], f"{prefix}images/40/40001.JPG": jpegs[1]}
    others = {f"{prefix}thumbs/00/25.jpg": jpegs[2], f"{prefix}annotations/00/25.eng": b"<DOC>"}
    images = listed("iapr", pack(container, others | files))
    assert names_of(images) == {
        f"{prefix}images/00/25.jpg": "25",
        f"{prefix}images/40/40001.JPG": "40001",
    }
    check_bytes(images, files)


@pytest.mark.parametrize("container", ["folder", "tar", "zip"])
def test_streetscenes(pack: Any, jpegs: list[bytes], container: str) -> None:
    files = {
        "StreetScenes/Original/SSDB00001.JPG": jpegs[0],
        "StreetScenes/Original/SSDB00002.JPG": jpegs[1],
    }
    others = {
        "StreetScenes/Anno_XML/SSDB00001.xml": b"<xml/>",
        "StreetScenes/Resized/SSDB00001.JPG": jpegs[2],
    }
    images = listed("streetscenes", pack(container, others | files))
    assert [image.name for image in images] == ["SSDB00001", "SSDB00002"]
    check_bytes(images, files)


# Any folder, any archive


@pytest.fixture
def holiday(jpegs: list[bytes], photograph: Any, encoded: Any) -> Files:
    pixels = photograph(20, 32, 24)
    return {
        "2019/beach/one.jpg": jpegs[0],
        "2019/two.JPEG": jpegs[1],
        "2020/three.png": encoded(pixels, "PNG"),
        "four.tif": encoded(pixels, "TIFF"),
        "five.TIFF": encoded(pixels, "TIFF"),
        "six.bmp": encoded(pixels, "BMP"),
        "seven.webp": encoded(pixels, "WEBP"),
        "eight.jpe": jpegs[2],
        "nine.jfif": jpegs[3],
        "no.1/ten.v2.jpg": jpegs[4],
    }


@pytest.mark.parametrize(
    ("kind", "container"), [("folder", "folder"), ("archive", "tar"), ("archive", "zip")]
)
def test_folder_and_archive_take_every_photograph_by_its_path(
    pack: Any, holiday: Files, kind: str, container: str
) -> None:
    others = {
        "readme.txt": b"text",
        "film.mp4": b"film",
        "2019/._one.jpg": b"\0\5\x16\7",
        ".jpg": b"",
        "raw.cr2": b"raw",
    }
    images = listed(kind, pack(container, holiday | others))
    expected = {name: name.rpartition(".")[0] for name in holiday}
    assert names_of(images) == expected
    check_bytes(images, holiday)


@pytest.mark.parametrize("tar_format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archive_reads_every_form_of_tar(
    tmp_path: Path, write_tar: Any, holiday: Files, tar_format: int
) -> None:
    holiday["long" * 40 + "/x.jpg"] = holiday["2019/beach/one.jpg"]
    images = listed("archive", write_tar(tmp_path / "x.tar", holiday, tar_format))
    assert len(images) == len(holiday)
    check_bytes(images, holiday)


def test_folder_follows_links_to_photographs(tmp_path: Path, pack: Any, holiday: Files) -> None:
    path = pack("folder", holiday)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.jpg").symlink_to(path / "2019" / "two.JPEG")
    (tmp_path / "links" / "gone.jpg").symlink_to(path / "gone.jpg")
    (image,) = listed("folder", tmp_path / "links")
    assert (image.path, read(image.location)) == ("a.jpg", holiday["2019/two.JPEG"])


def test_photographs_with_names_that_are_not_text_are_listed_to_be_refused(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes], odd_name: str
) -> None:
    images = listed(
        "folder", fill_folder(tmp_path / "root", {"ok.jpg": jpegs[0], odd_name: jpegs[1]})
    )
    readable = {}
    for image in images:
        image.path.encode("utf-8")
        image.name.encode("utf-8")
        try:
            readable[image.path] = read(image.location)
        except ImageRefused as refusal:
            assert refusal.reason == "file name"  # noqa: PT017
    assert readable == {"ok.jpg": jpegs[0]}
    assert len(images) == 2


# webdataset


def samples(jpegs: list[bytes], first: int) -> Files:
    return {
        f"{first:04d}.jpg": jpegs[first],
        f"{first:04d}.cls": b"7",
        f"{first + 1:04d}.jpg": jpegs[first + 1],
        f"{first + 1:04d}.left.png": jpegs[first + 2],
    }


def test_webdataset_takes_the_shards_of_a_brace_pattern(
    tmp_path: Path, write_tar: Any, jpegs: list[bytes]
) -> None:
    files: Files = {}
    for shard in range(3):
        own = samples(jpegs, 3 * shard)
        write_tar(tmp_path / "shards" / f"train-{shard:06d}.tar", own)
        files |= {f"train-{shard:06d}.tar/{name}": data for name, data in own.items()}
    images = listed("webdataset", tmp_path / "shards" / "train-{000000..000002}.tar")
    assert [image.path for image in images] == [name for name in files if not name.endswith(".cls")]
    assert [image.name for image in images][:3] == ["0000", "0001", "0001-left"]
    check_bytes(images, files)
    assert len(listed("webdataset", tmp_path / "shards" / "train-{000000..000001}.tar")) == 6
    assert len(listed("webdataset", tmp_path / "shards" / "train-000001.tar")) == 3
    assert [i.path for i in listed("webdataset", tmp_path / "shards" / "*.tar")] == [
        i.path for i in images
    ]


def test_webdataset_names_keep_folders_and_end_at_the_first_dot(
    tmp_path: Path, write_tar: Any, jpegs: list[bytes]
) -> None:
    write_tar(
        tmp_path / "0.tar", {"a/x.y.jpg": jpegs[0], "b/x.jpg": jpegs[1], "x.seg.v2.png": jpegs[2]}
    )
    assert [image.name for image in listed("webdataset", tmp_path / "0.tar")] == [
        "a/x-y",
        "b/x",
        "x-seg.v2",
    ]


def test_webdataset_shards_of_one_name_in_two_folders_have_paths_of_their_own(
    tmp_path: Path, write_tar: Any, jpegs: list[bytes]
) -> None:
    """(source, path) must be unique: it is what keys and `pairs.parquet` know an image by."""
    for i, folder in enumerate(("train", "val")):
        write_tar(tmp_path / folder / "000.tar", {"0001.jpg": jpegs[i]})
    images = listed("webdataset", tmp_path / "{train,val}" / "000.tar")
    assert [read(image.location) for image in images] == jpegs[:2]
    assert len({image.path for image in images}) == 2


# The sample


def test_sample_is_the_photographs_inside_scikit_image(skimage_data: Path) -> None:
    images = listed("sample", "")
    scenes = {"astronaut", "camera", "chelsea", "coffee", "motorcycle_left", "rocket"}
    assert {image.name for image in images} == scenes  # no textures, charts, retinas
    for image in images:
        assert image.path in SAMPLE_NAMES
        assert read(image.location) == (skimage_data / image.path).read_bytes()


# What is refused, whatever the kind


ON_DISK = sorted(set(KINDS) - {"sample", "clips"})  # clips are listed with their frames


@pytest.mark.parametrize("kind", ON_DISK)
def test_a_missing_path_is_named(tmp_path: Path, kind: str) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        listed(kind, tmp_path / "nowhere")


@pytest.mark.parametrize("kind", sorted(set(ON_DISK) - {"archive"}))
def test_a_folder_without_images_says_what_was_expected(
    tmp_path: Path, fill_folder: Any, kind: str
) -> None:
    root = fill_folder(tmp_path / "root", {"a/readme.txt": b"text", "b/data.bin": b"data"})
    with pytest.raises(SourceError, match=rf"{kind}=.*root: holds no photograph \(expected "):
        listed(kind, root)


@pytest.mark.parametrize("kind", ["imagenet", "voc", "iapr", "streetscenes"])
@pytest.mark.parametrize("container", ["folder", "tar"])
def test_photographs_in_the_wrong_layout_are_not_taken(
    pack: Any, jpegs: list[bytes], kind: str, container: str
) -> None:
    wrong = {
        "photos/1.jpg": jpegs[0],
        "n0144/1.JPEG": jpegs[1],
        "images/25.jpg": jpegs[2],
        "Originals/1.jpg": jpegs[3],
    }
    with pytest.raises(SourceError, match=f"{kind}=.*holds no photograph"):
        listed(kind, pack(container, wrong))


def test_folder_and_archive_point_at_each_other(pack: Any, jpegs: list[bytes]) -> None:
    files = {"1.jpg": jpegs[0]}
    with pytest.raises(SourceError, match="archive= source"):
        listed("folder", pack("tar", files))
    with pytest.raises(SourceError, match="use folder="):
        listed("archive", pack("folder", files))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"voc", "coco"}))
def test_kinds_without_lists_refuse_one(tmp_path: Path, kind: str) -> None:
    with pytest.raises(SourceError, match=f"{kind}: has no lists, so @trainval means nothing"):
        listed(kind, tmp_path, "trainval")


@pytest.mark.parametrize(
    "kind", ["imagenet", "voc", "coco", "iapr", "streetscenes", "archive", "webdataset"]
)
def test_a_tar_that_was_cut_short_is_refused_by_every_kind(
    tmp_path: Path, write_tar: Any, jpegs: list[bytes], kind: str
) -> None:
    names = ("n01440764/1.JPEG", "JPEGImages/1.jpg", "images/00/1.jpg", "Original/1.JPG", "z/2.jpg")
    path = write_tar(tmp_path / "x.tar", dict(zip(names, jpegs, strict=False)))
    os.truncate(path, sum(512 + -(-len(data) // 512) * 512 for data in jpegs[:4]) + 700)
    with pytest.raises(SourceError, match=r"x\.tar"):
        listed(kind, path)


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
def test_a_compressed_tar_is_refused_by_the_kinds(
    tmp_path: Path, pack: Any, train_folders: Files, compression: str
) -> None:
    plain = pack("tar", train_folders)
    path = tmp_path / f"train.tar.{compression}"
    with tarfile.open(path, f"w:{compression}") as archive, tarfile.open(plain) as source:  # type: ignore[call-overload]
        for member in source:
            archive.addfile(member, source.extractfile(member))
    with pytest.raises(SourceError, match="compressed tar"):
        listed("imagenet", path)


@pytest.mark.parametrize("kind", ON_DISK)
def test_listing_twice_gives_the_same(pack: Any, jpegs: list[bytes], kind: str) -> None:
    names = ("n01440764/1.JPEG", "JPEGImages/1.jpg", "images/00/1.jpg", "Original/1.JPG", "z/2.jpg")
    path = pack("tar" if kind == "archive" else "folder", dict(zip(names, jpegs, strict=False)))
    assert listed(kind, path) == listed(kind, path)


def test_what_the_command_line_says_finds_the_list(pack: Any, voc: Files) -> None:
    source = parse_source(f"voc={pack('folder', voc)}@val:5")
    assert [image.name for image in list_source(source.kind, source.path, source.listing)] == [
        "2007_000032"
    ]


# What is passed over


def test_linked_class_folders_are_classes_and_hidden_ones_are_not(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes]
) -> None:
    real = fill_folder(tmp_path / "real", {"1.jpg": jpegs[0]})
    hidden = {"@eaDir/2.jpg": jpegs[0], ".ipynb_checkpoints/2.jpg": jpegs[0]}
    root = fill_folder(tmp_path / "classes", {"bird/2.jpg": jpegs[1], **hidden})
    for name in ("cat", "dog"):
        (root / name).symlink_to(real)
    passed: Counter[str] = Counter()
    found = [image.path for image in list_source("classes", str(root), "", passed)]
    assert found == ["bird/2.jpg", "cat/1.jpg", "dog/1.jpg"]
    assert passed == {"hidden folders": 2}
