"""How the loaders of published trainers want pairs to lie: a row for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...manifests.selection.plan import SPLITS, TEST, TRAIN, VAL

PLAIN = {split: split for split in SPLITS}


@dataclass(frozen=True)
class TrainerForm:
    """The folder that a trainer reads.

    name: as `--for` takes it.
    low, normal: paths of the images; `{split}`, `{key}` and `{class}` are filled in. "" leaves them
      out.
    low_codec, normal_codec: "png", "jpg", or "" for the bytes that the set has.
    splits: what the trainer calls the set's splits.
    extra: what lies there besides: "meta_info", "lmdb", "metadata", "coco", "yolo", "energon" or
      "".
    about: whose loader it is.
    lines: what to write into its configuration; `{root}` is the folder.
    """

    name: str
    low: str
    normal: str
    low_codec: Literal["png", "jpg", ""] = "png"
    normal_codec: Literal["png", "jpg", ""] = "png"
    splits: dict[str, str] = field(default_factory=lambda: PLAIN)
    extra: Literal["meta_info", "lmdb", "metadata", "coco", "yolo", "energon", ""] = ""
    about: str = ""
    lines: tuple[str, ...] = ()


_LOL = {TRAIN: "our485", VAL: "eval15", TEST: "test"}
FORMS = {
    form.name: form
    for form in (
        TrainerForm(
            "basicsr",
            "{split}/low/{key}.png",
            "{split}/normal/{key}.png",
            extra="meta_info",
            about="BasicSR's PairedImageDataset: equal names with equal suffixes",
            lines=(
                "type: PairedImageDataset",
                "dataroot_gt: {root}/train/normal",
                "dataroot_lq: {root}/train/low",
                "meta_info_file: {root}/train/meta_info.txt",
                "io_backend: {type: disk}",
                "scale: 1",
            ),
        ),
        TrainerForm(
            "basicsr-lmdb",
            "{split}/low.lmdb",
            "{split}/normal.lmdb",
            extra="lmdb",
            about="the same as LMDB, keys without suffix",
            lines=(
                "type: PairedImageDataset",
                "dataroot_gt: {root}/train/normal.lmdb",
                "dataroot_lq: {root}/train/low.lmdb",
                "io_backend: {type: lmdb}",
                "scale: 1",
            ),
        ),
        TrainerForm(
            "restormer",
            "{split}/input/{key}.png",
            "{split}/target/{key}.png",
            about="Restormer's Dataset_PairedImage, and those made after it",
            lines=(
                "type: Dataset_PairedImage",
                "dataroot_gt: {root}/train/target",
                "dataroot_lq: {root}/train/input",
                "io_backend: {type: disk}",
                "geometric_augs: true",
            ),
        ),
        TrainerForm(
            "retinexformer",
            "{split}/low/{key}.png",
            "{split}/normal/{key}.png",
            about="Retinexformer's Dataset_PairedImage",
            lines=(
                "type: Dataset_PairedImage",
                "dataroot_gt: {root}/train/normal",
                "dataroot_lq: {root}/train/low",
                "io_backend: {type: disk}",
            ),
        ),
        TrainerForm(
            "lol",
            "{split}/low/{key}.png",
            "{split}/high/{key}.png",
            splits=_LOL,
            about="what reads LOL as it comes: our485 and eval15, each with low and high",
            lines=("data: {root}",),
        ),
        TrainerForm(
            "kind",
            "LOLdataset/{split}/low/{key}.png",
            "LOLdataset/{split}/high/{key}.png",
            splits=_LOL,
            about="KinD, which is run in the folder that holds LOLdataset",
            lines=("cd {root}", "python decomposition_net_train.py"),
        ),
        TrainerForm(
            "img-gt",
            "{split}/img/{key}.png",
            "{split}/gt/{key}.png",
            splits={TRAIN: "train", VAL: "test", TEST: "final"},
            about="train and test, each with img and gt",
            lines=("data: {root}",),
        ),
        TrainerForm(
            "zero-dce",
            "{split}/{key}.jpg",
            "",
            low_codec="jpg",
            splits={TRAIN: "train_data", VAL: "test_data/val", TEST: "test_data/test"},
            about="Zero-DCE: lows alone, as JPEG, which takes some of their noise",
            lines=("--lowlight_images_path {root}/train_data/",),
        ),
        TrainerForm(
            "sci",
            "{split}/{key}.png",
            "",
            splits={TRAIN: "train_low", VAL: "test_low", TEST: "final_low"},
            about="SCI: folders of lows alone",
            lines=("train_low_data_names = '{root}/train_low'",),
        ),
        TrainerForm(
            "imagefolder",
            "low/{split}/{class}/{key}.png",
            "normal/{split}/{class}/{key}.png",
            low_codec="",
            normal_codec="",
            about="torchvision's ImageFolder: a folder for each class, of sets with classes",
            lines=("ImageFolder('{root}/low/train')", "ImageFolder('{root}/normal/train')"),
        ),
        TrainerForm(
            "coco",
            "images/low/{split}/{key}.png",
            "images/normal/{split}/{key}.png",
            low_codec="",
            normal_codec="",
            extra="coco",
            about="torchvision's CocoDetection, pycocotools: of sets with boxes",
            lines=(
                "CocoDetection('{root}/images/low/train',"
                " '{root}/annotations/instances_low_train.json')",
            ),
        ),
        TrainerForm(
            "yolo",
            "images/low/{split}/{key}.png",
            "images/normal/{split}/{key}.png",
            low_codec="",
            normal_codec="",
            extra="yolo",
            about="Ultralytics' YOLO: images and labels, of sets with boxes",
            lines=("yolo detect train data={root}/low.yaml",),
        ),
        TrainerForm(
            "datasets",
            "{split}/low/{key}.png",
            "{split}/normal/{key}.png",
            low_codec="",
            normal_codec="",
            splits={TRAIN: "train", VAL: "validation", TEST: "test"},
            extra="metadata",
            about="Hugging Face datasets' imagefolder, with the draws as columns",
            lines=("load_dataset('imagefolder', data_dir='{root}')",),
        ),
        TrainerForm(
            "energon",
            "",
            "",
            extra="energon",
            about="Megatron-Energon: shards and .nv-meta, a sample's sequence is low, normal",
            lines=("energon info {root}", "energon lint {root}"),
        ),
    )
}
"""Forms by name."""
