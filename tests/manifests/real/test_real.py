"""Real sets by name, on trees of tiny files with their true names."""

from __future__ import annotations

import pickle
import unicodedata
from pathlib import Path

import pytest

from gloam.errors import ConfigError, GloamWarning, SourceError
from gloam.manifests.real.real import real, sets
from gloam.manifests.real.rules import load_rules, set_names


def both(low: str, normal: str, *names: str) -> list[tuple[str, str]]:
    """Pairs of equal names in two folders."""
    return [(f"{low}/{name}", f"{normal}/{name}") for name in names]


EXDARK = (
    "Name | Class | Light | In/Out | Train/Val/Test\n"
    "2015_00001.png 1 2 1 1\n2015_00400.JPG 1 3 2 3\n2015_00652.png 2 2 1 2\n"
)
BOXES = "% bbGt version=3\nBicycle 204 28 271 193 0 0 0 0 0 0 0\nDog 4 8 1 3 0 0 0 0 0 0 0\n"
PAIRS = {
    "lol-v1": {
        "train": both("our485/low", "our485/high", "2.png", "5.png"),
        "test": both("eval15/low", "eval15/high", "1.png", "179.png"),
    },
    "lol-v2-real": {
        split: [
            (
                f"Real_captured/{folder}/Low/low{n}.png",
                f"Real_captured/{folder}/Normal/normal{n}.png",
            )
            for n in numbers
        ]
        for split, folder, numbers in (
            ("train", "Train", ("00001", "00689")),
            ("test", "Test", ("00690", "00789")),
        )
    },
    "lol-v2-synthetic": {
        "train": both("Synthetic/Train/Low", "Synthetic/Train/Normal", "r000da54ft.png"),
        "test": both("Synthetic/Test/Low", "Synthetic/Test/Normal", "r00816405t.png"),
    },
    "lsrw-huawei": {
        "train": both("Training data/Huawei/low", "Training data/Huawei/high", "1.jpg", "2001.jpg"),
        "test": both("Eval/Huawei/low", "Eval/Huawei/high", "2006.jpg"),
    },
    "lsrw-nikon": {
        "train": both("Training data/Nikon/low", "Training data/Nikon/high", "1.jpg"),
        "test": both("Eval/Nikon/low", "Eval/Nikon/high", "3003.jpg"),
    },
    "sice": {
        split: [
            (f"Dataset_Part{part}/{scene}/{shot}.JPG", f"Dataset_Part{part}/Label/{scene}.JPG")
            for scene in (1, 12)
            for shot in (1, 2, 7)
        ]
        for split, part in (("train", 1), ("test", 2))
    },
    "sid": {
        split: [
            (f"short_sid2/{n}/{n}_0{i}_{t}s.npy", f"long_sid2/{n}/{n}_00_10s.npy")
            for i in (0, 1)
            for t in ("0.04", "0.1")
        ]
        for split, n in (("train", "00001"), ("val", "20001"), ("test", "10003"))
    },
    "smid": {
        split: [
            (f"SMID_LQ_np/{scene}/{frame}.npy", f"SMID_Long_np/{scene}/0001.npy")
            for scene in scenes
            for frame in ("0001", "0002")
        ]
        for split, scenes in (("train", ("0001", "0202")), ("val", ("0004",)), ("test", ("0013",)))
    },
    "sdsd-indoor": {
        "train": both("indoor_np/input", "indoor_np/GT", "pair1/0001.npy", "pair2/0001.npy"),
        "test": both("indoor_np/input", "indoor_np/GT", "pair13/0001.npy", "pair13/0002.npy"),
    },
    "sdsd-outdoor": {
        "train": both("outdoor_static_np/input", "outdoor_static_np/GT", "MVI_0918/0001.npy"),
        "test": both(
            "outdoor_static_np/input",
            "outdoor_static_np/GT",
            "MVI_0898/0001.npy",
            "MVI_0898_2/0001.npy",
        ),
    },
    "did": {
        "train": both("input", "GT", "video1/00001.png", "video1/00002.png"),
        "test": both("input", "GT", "video397/00001.png"),
    },
    "dicm": {"test": ["01.JPG", "69.jpg"]},
    "lime": {"test": ["1.bmp", "10.bmp"]},
    "mef": {"test": ["BelgiumHouse.png"]},
    "npe": {"test": ["birds.bmp", "1.jpg"]},
    "vv": {"test": ["P1010676.jpg"]},
    "exdark": {
        "train": ["ExDark/Bicycle/2015_00001.png"],
        "val": ["ExDark/Boat/2015_00652.png"],
        "test": ["ExDark/Bicycle/2015_00400.JPG"],
    },
    "darkface": {"train": ["image/1.png", "image/6000.png"]},
    "fivek-c": {
        "train": both("train/input", "train/target", "a0099-kme_264.jpg"),
        "test": both("test/input", "test/target", "a4574-DSC_0038.jpg"),
    },
    "lol-blur": {
        split: both(
            f"{split}/low_blur_noise",
            f"{split}/high_sharp_scaled",
            f"{n}/0001.png",
            f"{n}/0060.png",
        )
        for split, n in (("train", "0000"), ("test", "0012"))
    },
    "uhd-ll": {
        "train": both("training_set/input", "training_set/gt", "2_UHD_LL.JPG"),
        "test": both("testing_set/input", "testing_set/gt", "1_UHD_LL.JPG"),
    },
    "polyu": {
        "test": [
            (f"CroppedImages/{name}_real.JPG", f"CroppedImages/{name}_mean.JPG")
            for name in ("Canon5D2_5_160_3200_chair_11", "Sony_4-5_125_3200_tree_1")
        ]
    },
}
BESIDE = {
    "exdark": {
        "imageclasslist.txt": EXDARK,
        "ExDark_Annno/Bicycle/2015_00001.png.txt": BOXES,
        "ExDark_Annno/Bicycle/2015_00400.JPG.txt": BOXES,
        "ExDark_Annno/Boat/2015_00652.png.txt": BOXES,
    },
    "darkface": {"label/1.txt": "2\n10 20 30 45\n1 2 3 4\n", "label/6000.txt": "0\n"},
    "smid": {"SMID_Long_np/0001/half0001.npy": "", "SMID_LQ_np/0001/readme.txt": ""},
    "lol-blur": {"train/low_blur/0000/0001.png": ""},
}


def planted(root: Path, name: str) -> Path:
    """Make a set's tree of empty files."""
    for samples in PAIRS[name].values():
        for sample in samples:
            for path in (sample,) if isinstance(sample, str) else sample:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).touch()
    for path, text in BESIDE.get(name, {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def relative(root: Path, samples: list) -> list:
    """Paths below a folder, in order."""
    return sorted(
        str(Path(one).relative_to(root))
        if isinstance(one, str)
        else tuple(str(Path(path).relative_to(root)) for path in one)
        for one in samples
    )


def test_every_set_is_tested():
    assert sorted(PAIRS) == set_names() == [one["name"] for one in sets()]


@pytest.mark.filterwarnings("ignore:.*names are not there:gloam.errors.GloamWarning")
@pytest.mark.parametrize("name", PAIRS)
def test_a_set_with_its_true_names(name, tmp_path):
    root = planted(tmp_path / name, name)
    assert load_rules(name).splits == list(PAIRS[name])
    for folder in (root, tmp_path):  # the set's own folder, or the one that it was unpacked in
        for split, samples in PAIRS[name].items():
            found = real(name, folder, split)
            assert relative(root, found) == sorted(samples)
            assert (found.name, found.split, len(found.scenes)) == (name, split, len(found))
            assert pickle.loads(pickle.dumps(found)).scenes == found.scenes
    assert list(real(name, root)) == list(real(name, root, next(iter(PAIRS[name]))))


def test_what_names_say_of_samples(tmp_path):
    sid = real("sid", planted(tmp_path / "sid", "sid"), "test")
    assert sorted(sid.ratios) == [100.0, 100.0, 250.0, 250.0]
    assert set(sid.scenes) == {"10003"}
    assert set(real("sice", planted(tmp_path / "sice", "sice")).scenes) == {"1", "12"}
    exdark = real("exdark", planted(tmp_path / "exdark", "exdark"))
    assert exdark.classes == ["Bicycle"]
    assert [(one.name, one.box) for one in exdark.boxes[0]] == [
        ("Bicycle", (204, 28, 475, 221)),
        ("Dog", (4, 8, 5, 11)),
    ]
    faces = real("darkface", planted(tmp_path / "darkface", "darkface"))
    assert [[one.box for one in own] for own in faces.boxes] == [
        [(10, 20, 30, 45), (1, 2, 3, 4)],
        [],
    ]


def test_other_layouts_of_the_field(tmp_path):
    trees = {
        "lol-v1": both("Train/input", "Train/target", "100.png"),
        "lol-v2-real": both("Real_captured/Train/Low", "Real_captured/Train/Normal", "00001.png"),
        "sdsd-indoor": both("indoor_png/LQ", "indoor_png/GT", "pair1/0001.png"),
        "lol-blur": both("train/low_blur", "train/high_sharp_scaled", "0000/0001.png"),
        "sid": [("train/short/00001/00001_00_0.1s.png", "train/long/00001/00001_00_10s.png")],
        "fivek-c": ["tiff16_c/a0001-jmac_DSC1459.tif"],
    }
    for name, samples in trees.items():
        for sample in samples:
            for path in (sample,) if isinstance(sample, str) else sample:
                (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name / path).touch()
        assert relative(tmp_path / name, real(name, tmp_path / name, "train")) == samples
    for side in ("input", "expertC"):
        (tmp_path / "short" / side).mkdir(parents=True)
        (tmp_path / "short" / side / "a0001.png").touch()
    assert len(real("fivek-c", tmp_path / "short", "train")) == 1


@pytest.mark.filterwarnings("ignore:.*names are not there:gloam.errors.GloamWarning")
def test_a_folder_of_the_sets_own_name_may_be_given_itself(tmp_path):
    planted(tmp_path, "sdsd-indoor")
    assert len(real("sdsd-indoor", tmp_path / "indoor_np", "test")) == 2


def test_of_two_forms_of_the_same_frames_one_is_taken(tmp_path):
    planted(tmp_path, "sdsd-indoor")
    before = real("sdsd-indoor", tmp_path, "train")
    for side in ("input", "GT"):
        path = tmp_path / "indoor_png" / side / "pair2" / "0001.png"
        path.parent.mkdir(parents=True)
        path.touch()
    assert real("sdsd-indoor", tmp_path, "train") == before


def test_trees_that_do_not_fit_say_what_is_missing(tmp_path):
    (tmp_path / "a" / "our485" / "low").mkdir(parents=True)
    (tmp_path / "a" / "our485" / "low" / "2.png").touch()
    with pytest.raises(SourceError) as error:
        real("lol-v1", tmp_path / "a", "train")
    assert str(error.value).endswith(
        "a: not lol-v1: no our485/high/{name}.png, beside 1 of our485/low/{name}.png"
    )
    with pytest.raises(SourceError) as error:
        real("sice", tmp_path / "a")
    assert str(error.value).endswith(
        "not sice: expected Dataset_Part1/{scene}/{shot}.* and Dataset_Part1/Label/{scene}.*, or"
        " Dataset/train/{scene}/{shot}.* and Dataset/label/{scene}.*; found our485/ (1 files)"
    )
    root = planted(tmp_path / "b", "lol-v1")
    (root / "eval15" / "high" / "179.png").unlink()
    with pytest.raises(SourceError, match=r"eval15/low/179\.png: no eval15/high/\{name\}\.png"):
        real("lol-v1", root, "test")
    (planted(tmp_path / "c", "exdark") / "imageclasslist.txt").unlink()
    with pytest.raises(SourceError, match=r"no imageclasslist\.txt, which says the splits"):
        real("exdark", tmp_path / "c")
    with pytest.raises(SourceError, match="nowhere: not a folder"):
        real("lol-v1", tmp_path / "nowhere")


def test_what_there_is_not_is_named(tmp_path):
    with pytest.raises(ConfigError, match="lol-v9: no real set of that name; there are darkface"):
        real("lol-v9", tmp_path)
    with pytest.raises(ConfigError, match="lol-v1 has no split val; it has train, test"):
        real("lol-v1", tmp_path, "val")


JUNK = ["Thumbs.db", "desktop.ini", ".DS_Store", "._1.JPG", "3.JPG.part", "3.jpg.crdownload", "x"]


@pytest.mark.parametrize("name", ["sice", "lsrw-nikon", "uhd-ll", "fivek-c", "did", "sid"])
def test_files_of_other_kinds_are_no_samples(name, tmp_path):
    samples = PAIRS[name]["train"]
    if name == "sid":
        samples = [("train/short/1/1_0.1s.PNG", "train/long/1/1_10s.tiff")]
    for sample in samples:
        for path in sample:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()
            for junk in JUNK:
                (tmp_path / path).with_name(junk).touch()
    assert relative(tmp_path, real(name, tmp_path, "train")) == sorted(samples)


def laid(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    return root


@pytest.mark.parametrize(
    "path",
    ["label/1.txt", "labels/1.txt", "Label/1.TXT", "annotations/1.txt", "DarkFace/label/1.txt"],
)
def test_labels_are_found_under_names_of_several_cases(path, tmp_path):
    image = "DarkFace/image/1.PNG" if "Dark" in path else "image/1.PNG"
    found = real("darkface", laid(tmp_path, {image: "", path: "1\n1 2 30 31\n"}))
    assert [[(one.name, one.box) for one in own] for own in found.boxes] == [
        [("face", (1, 2, 30, 31))]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1.5 2 30 31", "\ufeff1\r\n1.5 2 30. 31.0\r\n", "1.5\t2\t30\t31\n\n", "1.5,2,30,31 0.98\n",
        "  1.5   2 30  31  \n# nothing\n", "+1.50; 2; 30; 31\r", "1,5 2,0 30 31,0\n",
        "1,5;2;30;31\n", "1.5,2,30,31 a small brown dog\n", "1.5,2 30,31 a 7\n",
        "1.5e+00 2.0E0 3.0e+01 3.1e01\n",
    ],
)  # fmt: skip
def test_boxes_are_read_however_numbers_are_written(text, tmp_path):
    root = laid(tmp_path, {"image/1.png": "", "label/1.txt": text})
    assert [one.box for one in real("darkface", root).boxes[0]] == [(1.5, 2, 30, 31)]


@pytest.mark.parametrize("line", ["10,20 30,40 0 1", "10,20 30,40 50 60", "1,5\t2,9 30 31"])
@pytest.mark.parametrize("name", ["darkface", "exdark"])
def test_a_box_that_commas_make_in_two_ways_is_refused_by_its_line(line, name, tmp_path):
    files = {"image/1.png": "", "label/1.txt": f"1 2 30 31\n{line}\n"}
    if name == "exdark":
        labels = f"Dog 1 2 3 4\nDog {line}\n"
        files = {"ExDark/Dog/2015_00001.png": "", "imageclasslist.txt": "2015_00001.png 1 2 1 1\n"}
        files["ExDark_Annno/Dog/2015_00001.png.txt"] = labels
    with pytest.warns(GloamWarning, match=r"1 lines of labels are not read, such as .*txt:2: "):
        assert [len(own) for own in real(name, laid(tmp_path, files), None).boxes] == [1]


def test_other_lines_of_a_file_say_what_commas_between_digits_are(tmp_path):
    decimal = "12,5 40,2 100,7 200,9\n10,2 11,5 30,9 40,1\n"
    root = laid(tmp_path, {"image/1.png": "", "label/1.txt": decimal})
    assert [one.box for one in real("darkface", root).boxes[0]] == [
        (12.5, 40.2, 100.7, 200.9),
        (10.2, 11.5, 30.9, 40.1),
    ]


def test_what_a_set_lacks_is_counted_and_said(tmp_path):
    files = {f"ExDark/Dog/2015_0000{i}.{suffix}": "" for i, suffix in enumerate(("jpeg", "png"), 1)}
    rows = "\ufeffName Class Light\r\n" + "".join(
        f"2015_0000{i}.jpg \t1  2 1 {split}\r\n" for i, split in enumerate("11112", 1)
    )
    files |= {"imageclasslist.TXT": rows, "ExDark_annotations/dog/2015_00001.jpg.txt": BOXES}
    with pytest.warns(GloamWarning) as told:
        found = real("exdark", laid(tmp_path, files), "train")
    assert sorted(relative(tmp_path, found)) == sorted(files)[:2]
    assert [len(own) for own in found.boxes] == [2, 0]
    assert [str(one.message).removeprefix(f"{tmp_path}: ") for one in told] == [
        "2 of 4 that the list of train names are not there, such as 2015_00003.jpg",
        f"1 of 2 images lack labels, such as {tmp_path}/ExDark/Dog/2015_00002.png",
    ]
    (tmp_path / "ExDark_annotations/dog/2015_00002.png.txt").write_text("Dog 1 2\nDog 1 2 3 4\n")
    with pytest.warns(GloamWarning) as told:
        real("exdark", tmp_path, "train")
    assert str(told[1].message).endswith(
        "1 lines of labels are not read, such as"
        f" {tmp_path}/ExDark_annotations/dog/2015_00002.png.txt:1: 'Dog 1 2'"
    )


def test_labels_that_are_not_there_or_not_read_are_an_error(tmp_path):
    root = laid(tmp_path, {"image/1.png": "", "image/2.png": ""})
    with pytest.raises(SourceError, match=r"none of 2 images has labels, expected label/\{name\}"):
        real("darkface", root)
    laid(root, {"label/1.txt": "1\nleft 2 3 4\n", "label/2.txt": "1\n9 9 2 2\n"})
    with pytest.raises(SourceError, match=r"label/1\.txt:2: 'left 2 3 4': expected left top right"):
        real("darkface", root)
    laid(root, {"ExDark/Dog/1.png": "", "imageclasslist.txt": "Name\n1.png 1 2 one 1\n"})
    with pytest.raises(
        SourceError, match=r"imageclasslist\.txt:2: '1\.png 1 2 one 1' does not say"
    ):
        real("exdark", root)


def test_texts_of_other_encodings_say_how_to_save_them(tmp_path):
    root = laid(tmp_path, {"image/1.png": ""})
    (root / "label").mkdir()
    (root / "label/1.txt").write_text("1\n1 2 30 31\n", "utf-16")
    with pytest.raises(SourceError, match=r"label/1\.txt: .* no UTF-8 at byte 0; save it as UTF-8"):
        real("darkface", root)


def test_names_of_two_normal_forms_are_one(tmp_path):
    composed, apart = (unicodedata.normalize(form, "Caf\u00e9") for form in ("NFC", "NFD"))
    files = {f"our485/low/{composed}.png": "", f"our485/high/{apart}.png": ""}
    assert len(real("lol-v1", laid(tmp_path / "a", files), "train")) == 1
    files = {
        f"ExDark/Dog/{composed}.png": "",
        "imageclasslist.txt": f"{apart}.png 1 2 1 1\n",
        f"ExDark_Annno/Dog/{apart}.png.txt": BOXES,
    }
    found = real("exdark", laid(tmp_path / "b", files), "train")
    assert (len(found), len(found.boxes[0])) == (1, 2)
    assert Path(found[0]).is_file()
    laid(tmp_path / "a", {f"our485/low/{apart}.png": ""})
    with pytest.raises(SourceError, match="have one name, in two spellings"):
        real("lol-v1", tmp_path / "a", "train")
