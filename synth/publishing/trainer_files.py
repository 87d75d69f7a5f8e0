"""Files that trainers read beside images: boxes of COCO and Ultralytics, LMDB, Energon's."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from ...errors import needed
from ...manifests.labels.coco import annotation_path, write_annotations
from ...manifests.labels.photo_labels import labels_of
from ...manifests.selection.plan import TRAIN, VAL
from ...manifests.sets.layouts.extents import BLOCK
from ...manifests.sets.layouts.shard_index import read_index
from ...manifests.sets.layouts.shard_tar import index_path, shard_path
from ...manifests.sets.sample import LOW, NORMAL
from ...storage.atomic import remove_tree, sha256_file, write_bytes
from ...storage.untrusted import read_regular
from .unit_by_unit import ENERGON, Written, is_prepared

Records = Callable[[str], Iterator[dict[str, Any]]]
_ENERGON_VERSION = "7.4.1"
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
_AT_ONCE = 1000  # images of a transaction
_ROOM = 1 << 24


def yolo_lines(record: dict[str, Any]) -> bytes:
    """Return a line for each object: its class, and its box's centre and size, from 0 to 1.

    Crowds are left out, as Ultralytics' own converter does.
    """
    labels, sides = labels_of(record), (record["width"], record["height"])
    lines = []
    for number, box, crowd in zip(labels["classes"], labels["boxes"], labels["crowd"], strict=True):
        if not crowd:
            ends = [(box[i] / side, box[i + 2] / side) for i, side in enumerate(sides)]
            values = [(a + b) / 2 for a, b in ends] + [b - a for a, b in ends]
            lines.append(" ".join([str(number), *(f"{value:.6f}" for value in values)]))
    return "".join(f"{line}\n" for line in lines).encode()


def label_path(image: str) -> str:
    """Return where Ultralytics looks for an image's labels."""
    return f"labels/{image.removeprefix('images/').rpartition('.')[0]}.txt"


def write_yolo(written: Written, classes: Sequence[str]) -> None:
    """Write `low.yaml` and `normal.yaml`: which images are which split, and the classes' names.

    Ultralytics asks for a validation split: in a set without one it is the training split.
    """
    for member in (LOW, NORMAL):
        folders = {split: f"images/{member}/{split}" for split in written.splits}
        begin = {TRAIN: folders.get(TRAIN, ""), VAL: folders.get(TRAIN, "")}
        value: dict[str, Any] = {**begin, **folders, "names": dict(enumerate(classes))}
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
        written.put(f"{member}.yaml", [text.encode()])


def write_coco(written: Written, records: Records, classes: Sequence[str]) -> None:
    """Write COCO's annotations of lows and of normals; names are those below their folders."""
    first = 0
    for split in written.splits:
        captions = any(labels_of(record)["captions"] for record in records(split))
        for member in (LOW, NORMAL):
            for kind in ("instances", "captions")[: 1 + captions]:
                rows = (
                    (row, record["files"][member].rpartition("/")[2], record)
                    for row, record in enumerate(records(split), first)
                )
                name = annotation_path(kind, member, split)
                path = write_annotations(written.root / name, rows, classes, kind)
                written.sums[name] = sha256_file(path)
        first += sum(unit.count for unit in written.units if unit.split == split)


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
    info = json.dumps({"energon_version": _ENERGON_VERSION, "shard_counts": counts}, indent=2)
    files = {
        ".info.json": info + "\n",
        "split.yaml": f"split_parts:\n{parts}exclude: []\n",
        "dataset.yaml": _DATASET,
        "crude.yaml": _CRUDE,
        "sample_loader.py": _LOADER,
    }
    for name, text in files.items():
        path = f"{ENERGON}/{name}"
        if is_prepared(path):
            write_bytes(written.root / path, text.encode())
        else:
            written.put(path, [text.encode()])


def lmdb_module() -> Any:
    """Return the module that writes databases. Raises ConfigError when lmdb is not installed."""
    return needed("lmdb", "--for basicsr-lmdb needs lmdb", "lmdb")


def write_lmdb(folder: Path, images: Iterable[tuple[str, Path, str]]) -> dict[Path, str]:
    """Write images to a database: keys are names without suffix, values the files' bytes.

    folder: it ends in `.lmdb`; what an interrupted call left there is deleted. images: iterable of
    (key, Path, line), the line is `name (height,width,3)`, for `meta_info.txt`.

    Returns the SHA-256 by path of what was written and does not change when it is read
    (`lock.mdb` does). Raises ConfigError when lmdb is not installed.
    """
    lmdb = lmdb_module()
    remove_tree(folder)
    folder.mkdir(parents=True)
    lines = []
    with lmdb.open(str(folder), map_size=_ROOM, sync=True) as database:
        rest = iter(images)
        while some := list(islice(rest, _AT_ONCE)):
            # Pages of 4 KiB, each value on its own ones.
            needed = sum(path.stat().st_size + 8192 for _, path, _ in some)
            used = database.info()["last_pgno"] * 4096
            database.set_mapsize(max(database.info()["map_size"], 2 * (used + needed) + _ROOM))
            with database.begin(write=True) as transaction:
                for key, path, line in some:
                    transaction.put(key.encode("ascii"), read_regular(path))
                    lines.append(line)
    meta = folder / "meta_info.txt"
    meta.write_text("".join(f"{line} 1\n" for line in lines), "utf-8")
    return {path: sha256_file(path) for path in (folder / "data.mdb", meta)}
