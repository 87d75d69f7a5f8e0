"""The README.md of a set's folder: what it is, and how Hugging Face's `datasets` reads it there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ....manifests.sets.info import PAIRS, README, SetInfo
from ....manifests.sets.pair_set import open_set
from ....manifests.sets.sample import LOW, NORMAL
from ....storage.atomic import write_bytes
from ....storage.tables import read_table
from .hub_features import sample_features

HUB_SPLITS = {"train": "train", "val": "validation", "test": "test"}
"""What the Hub calls the splits."""


def write_readme(root: Path, info: SetInfo) -> None:
    """Write a set's README.md, unless there is one, which may be somebody's own.

    It is no part of the set: nothing tells it from an edited one.
    """
    path = root / README
    if not path.is_file():
        write_bytes(path, readme(root, info).encode())


def readme(root: Path, info: SetInfo) -> str:
    """Return the text: a head that says which files are which split, and of what types."""
    if info.layout == "shards":
        value: dict[str, Any] = {
            "configs": [config_of("default", "shards/{split}-*.tar", info)],
            "dataset_info": {"features": _features(root, info)},
        }
    else:
        members = [LOW, NORMAL] if info.build.request.output.low_codec != "none" else [NORMAL]
        members = members[:1] if info.build.lows_only else members
        value = {"configs": [config_of(name, f"{{split}}/{name}/*", info) for name in members]}
        value["configs"][0]["default"] = True
    head = yaml.safe_dump(value, sort_keys=False)
    counts = ", ".join(f"{n:,} {split}" for split, n in info.counts.items() if split != "refused")
    return (
        f"---\n{head}---\n\n# {info.name}\n\nLow-light / normal-light pairs, made by gloam:"
        f" {counts}; recipe `{info.recipe}`, seed {info.seed}, set `{info.fingerprint[:16]}`.\n\n"
        '```python\nimport gloam\nloader = gloam.PairLoader("THIS FOLDER", batch_size=16, size=256)'
        '\n\nfrom datasets import load_dataset\nload_dataset("THIS FOLDER")\n```\n\n'
        "`gloam verify` checks it, `gloam publish` makes what is given away of it.\n"
    )


def config_of(name: str, pattern: str, info: SetInfo) -> dict[str, Any]:
    """Return which files are which split, for the head of a card.

    Parameters
    ----------
    name : str
        Of the configuration.
    pattern : str
        Of files; `{split}` is gloam's name of a split, `{named}` the Hub's.
    info : SetInfo
    """
    files = [
        {"split": named, "path": pattern.format(split=split, named=named)}
        for split, named in HUB_SPLITS.items()
        if info.counts.get(split)
    ]
    return {"config_name": name, "data_files": files}


def _features(root: Path, info: SetInfo) -> list[dict[str, Any]]:
    record = next(open_set(root).records(), None)
    known = () if record is None else tuple(record["members"])
    # A set of lows only has no normals, though its records know of them.
    roles = tuple(role for role in known if not (info.build.lows_only and role == NORMAL))
    table = read_table(root / PAIRS, columns=[f"{role}_suffix" for role in roles])
    suffixes = {role: sorted(set(table[f"{role}_suffix"].to_pylist())) for role in roles}
    return sample_features(info, roles, suffixes, info.build.labelled, known)
