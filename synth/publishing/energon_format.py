"""A set as Megatron-Energon reads it: shards, their indexes, and a folder `.nv-meta`."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from ...manifests.sets.layouts.extents import BLOCK
from ...manifests.sets.layouts.shard_index import read_index
from ...manifests.sets.layouts.shard_writer import index_path, shard_path
from ...storage.atomic import write_bytes

if TYPE_CHECKING:
    from .unit_by_unit import Written

FOLDER = ".nv-meta"
_VERSION = "7.4.1"
"""Version of Energon whose files these are like."""
_DATASET = """\
sample_type:
  __module__: megatron.energon
  __class__: InterleavedSample
sample_loader: sample_loader.py:sample_loader
part_filter: sample_loader.py:part_filter
subflavors:
  gloam: pair
"""
_CRUDE = """\
# For a task encoder of one's own, with a Cooker for {gloam: pair}; see gloam's docs/trainers.md.
__module__: megatron.energon
__class__: CrudeWebdataset
subflavors:
  gloam: pair
"""
_LOADER = '''\
"""Pairs for Megatron-Energon: a sample's sequence is the low, then the normal."""


def sample_loader(raw):
    """Return the decoded images of a pair, float tensors (3, H, W) of 0 to 1."""
    named = {part.partition(".")[0]: value for part, value in raw.items()}
    return {"sequence": [named["low"], named["normal"]]}


def part_filter(part):
    """Return whether a member is read."""
    return part.partition(".")[0] in ("low", "normal")
'''


def is_prepared(name: str) -> bool:
    """Return whether Energon's own tools write a file of an export again: it has no checksum."""
    return name.endswith(".tar.idx") or name in (f"{FOLDER}/.info.json", f"{FOLDER}/split.yaml")


def write_index(root: Path, unit: str) -> None:
    """Write Energon's index of a shard beside DALI's; its own tools may write it again."""
    tar = shard_path(root, unit)
    index = read_index(index_path(root, unit))
    last = index[-1][-1]
    # Where each sample's first header begins, and where the last sample ends, uint64.
    places = [sample[0].offset - BLOCK for sample in index]
    places.append(last.offset + -(-last.size // BLOCK) * BLOCK)
    data = struct.pack(f"<{len(places)}Q", *places)
    path = tar.with_name(f"{tar.name}.idx")
    write_bytes(path, data)


def write_meta(written: Written, counts: dict[str, int], splits: dict[str, list[str]]) -> None:
    """Write what Energon asks of a dataset, with checksums but for what its tools write again.

    counts: dict of shard to its pairs. splits: dict of split to its shards.
    """
    parts = "".join(
        f"  {split}:{''.join(f'{chr(10)}  - {shard}' for shard in shards) or ' []'}\n"
        for split, shards in splits.items()
    )
    info = json.dumps({"energon_version": _VERSION, "shard_counts": counts}, indent=2)
    files = {
        ".info.json": info + "\n",
        "split.yaml": f"split_parts:\n{parts}exclude: []\n",
        "dataset.yaml": _DATASET,
        "crude.yaml": _CRUDE,
        "sample_loader.py": _LOADER,
    }
    for name, text in files.items():
        path = f"{FOLDER}/{name}"
        if is_prepared(path):
            write_bytes(written.root / path, text.encode())
        else:
            written.put(path, [text.encode()])
