"""The README.md of a set: description, and metadata for Hugging Face's `datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from ....manifests.sets.info import PAIRS, README, SetInfo
from ....manifests.sets.layouts.files import METADATA
from ....manifests.sets.pair_set import open_set
from ....manifests.sets.sample import LOW, NORMAL
from ....storage.atomic import write_bytes
from ....storage.tables import read_table
from .hub_features import sample_features
from .markdown import code, escape_markdown, front_matter

HUB_SPLITS = {"train": "train", "val": "validation", "test": "test"}
"""The Hub's names of the splits."""


def write_readme(root: Path, info: SetInfo) -> None:
    """Write a set's README.md unless it has one.

    It is no part of the set: nothing tells it from an edited one.
    """
    path = root / README
    if not path.is_file():
        write_bytes(path, readme(root, info).encode())


def readme(root: Path, info: SetInfo) -> str:
    """Return the text: a head that says which files are which split, and of what types."""
    if info.layout == "shards":
        value: dict[str, Any] = {
            "configs": [config_of(info, "shards/{split}-*.tar")],
            "dataset_info": {"features": _features(root, info)},
        }
    else:
        build = info.build
        there = {LOW: build.request.output.low_codec != "none", NORMAL: not build.lows_only}
        images = (f"{{split}}/{member}/*" for member, held in there.items() if held)
        value = {"configs": [config_of(info, f"{{split}}/{METADATA}", *images)]}
    counts = ", ".join(f"{n:,} {split}" for split, n in info.counts.items() if split != "refused")
    loader, what, options = (
        ("ClipLoader", "clip", "batch_size=4, size=128")
        if info.build.request.frames
        else ("PairLoader", "pair", "batch_size=16, size=256")
    )
    others = ', normals="THE SET OF ITS NORMALS"' if info.build.lows_only else ""
    call = f'gloam.{loader}("THIS FOLDER", {options}{others})'
    return (
        f"{front_matter(value)}\n# {escape_markdown(info.name)}\n\nLow-light / normal-light"
        f" {what}s, made by gloam: {counts}; recipe {code(info.recipe)}, seed {info.seed}, set"
        f" `{info.fingerprint[:16]}`.\n\n```python\nimport gloam\nloader = {call}\n\n"
        f'from datasets import load_dataset\nload_dataset("THIS FOLDER")  # a row a {what}\n```\n\n'
        "`gloam verify` checks it, `gloam publish` makes what is given away of it.\n"
    )


def config_of(info: SetInfo, *patterns: str) -> dict[str, Any]:
    """Return which files are which split, for the head of a card.

    patterns: of files; `{split}` is gloam's name of a split, `{named}` the Hub's.
    """
    files = []
    for split, named in HUB_SPLITS.items():
        if info.counts.get(split):
            paths = [pattern.format(split=split, named=named) for pattern in patterns]
            files.append({"split": named, "path": paths[0] if len(paths) == 1 else paths})
    return {"config_name": "default", "data_files": files}


def _features(root: Path, info: SetInfo) -> list[dict[str, Any]]:
    record = next(open_set(root).records(), None)
    known = () if record is None else tuple(record["members"])
    # A set of lows only has no normals, though its records know of them.
    roles = tuple(role for role in known if not (info.build.lows_only and role == NORMAL))
    table = read_table(root / PAIRS, columns=[f"{role}_suffix" for role in roles])
    suffixes = {
        role: pc.unique(table[f"{role}_suffix"].drop_null()).sort().to_pylist() for role in roles
    }
    return sample_features(info, roles, suffixes, known)
