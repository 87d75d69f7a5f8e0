"""The folder layouts of published trainers; `trainers.yaml` has a row for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Literal

from ...manifests.config import load_yaml
from ...manifests.selection.plan import SPLITS

PLAIN = {split: split for split in SPLITS}


@dataclass(frozen=True)
class TrainerFormat:
    """The folder that a trainer reads.

    low, normal: paths of the images; `{split}`, `{key}` and `{class}` are filled in. "" leaves them
      out.
    low_codec, normal_codec: "png", "jpg", or "" for the bytes that the set has.
    splits: what the trainer calls the set's splits.
    extra: what lies there besides: "meta_info", "lmdb", "metadata", "coco", "yolo", "energon" or
      "".
    """

    name: str  # as `--for` takes it
    low: str = ""
    normal: str = ""
    low_codec: Literal["png", "jpg", ""] = "png"
    normal_codec: Literal["png", "jpg", ""] = "png"
    splits: dict[str, str] = field(default_factory=lambda: PLAIN)
    extra: Literal["meta_info", "lmdb", "metadata", "coco", "yolo", "energon", ""] = ""
    about: str = ""  # whose loader it is
    lines: tuple[str, ...] = ()  # what to write into its configuration; `{root}` is the folder


def _forms() -> dict[str, TrainerFormat]:
    with resources.as_file(resources.files(__package__) / "trainers.yaml") as path:
        rows = load_yaml(Path(path))
    return {
        name: TrainerFormat(name, **row | {"lines": tuple(row["lines"])})
        for name, row in rows.items()
    }


FORMS = _forms()
"""Forms by name."""
