"""A set written in another way: as files or shards, as a trainer reads it, or as videos."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from ...engines.engine import Engine
from ...engines.local import local_engine
from ...errors import ConfigError
from ...manifests.config import load_yaml
from ...manifests.images.normals import encode
from ...manifests.labels.label_table import read_about
from ...manifests.labels.photo_labels import BOXES
from ...manifests.selection.plan import SPLITS
from ...manifests.sets.info import WORK_FOLDER, SetInfo
from ...manifests.sets.layouts.shard_tar import shard_path
from ...manifests.sets.pair_set import PairSet, open_set, require_images
from ...manifests.sets.sample import LOW, NORMAL, Encoded, Sample
from ...manifests.sets.units import Unit
from ...progress import Progress, Silent
from ...storage.atomic import canonical_json, flush, sha256_bytes, write_bytes
from ...storage.stores import as_path, place
from ...storage.untrusted import inside
from ..building.make_unit import pairs_with_lows
from ..building.regenerate import export_layout
from ..input_images import decode_image
from ..kernels.png.file import encode_png
from . import trainer_files
from .unit_by_unit import Note, Written, write_shard, write_units
from .video_files import Codec, export_videos

DRAWS = "draws"
_QUALITY = 100
"""Quality of JPEGs that are made of exact images: without chroma subsampling the error is .75 of
255."""
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


def _read_trainers() -> dict[str, TrainerFormat]:
    with resources.as_file(resources.files(__package__) / "trainers.yaml") as path:
        rows = load_yaml(Path(path))
    return {
        name: TrainerFormat(name, **row | {"lines": tuple(row["lines"])})
        for name, row in rows.items()
    }


TRAINERS = _read_trainers()
"""Trainers by name."""


def export(
    origin: PairSet | str | Path,
    root: str | Path,
    *,
    layout: Literal["files", "shards"] | None = None,
    for_: str | None = None,
    video: Codec | None = None,
    low_codec: Literal["png", "jpeg", "none"] = "png",
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> SetInfo | TrainerFormat | int:
    """Write the pairs of a set as files or shards, as a trainer reads them, or as videos.

    Stopped, the same call continues.

    Parameters
    ----------
    origin : PairSet, str or Path
        A finished set.
    root : str or Path
        Folder to write: new, empty, or begun by the same call.
    layout : str, optional
        "files" (the default) or "shards": a set again, images and records byte for byte.
    for_ : str, optional
        Name of a trainer, such as "basicsr": the folder that its own loader reads.
    video : str, optional
        "ffv1" (lossless) or "mp4" (small): for sets of clips, a file for each.
    low_codec : str
        Codec of lows that are made of a live set for a layout: "png", "jpeg", or "none" to leave
        them to loaders. Stored lows keep their bytes.
    workers : int
        Processes; all cores by default.
    progress, engine
        See `gloam.build`.

    Returns
    -------
    SetInfo, TrainerFormat or int
        For a layout, what the new set's `set.json` says; for a trainer, what to tell it; for
        videos, their number.

    Raises
    ------
    ConfigError
        When an option is wrong, or two of `layout`, `for_` and `video` are given.
    SetError
        When the folder holds something else, or a pair cannot be read.

    Examples
    --------
    >>> import gloam
    >>> gloam.export("SET", "pairs", layout="files").counts
    {'train': 4, 'val': 2, 'refused': 0}
    """
    if sum(one is not None for one in (for_, layout, video)) > 1:
        raise ConfigError("--for, --video and --layout exclude each other: give one of them")
    pairs, folder = open_set(origin), as_path(root)
    engine, progress = engine or local_engine(workers), progress or Silent()
    if video is not None:
        return export_videos(pairs, folder, video, engine, progress)
    if for_ is not None:
        return export_for(pairs, folder, for_, engine, progress)
    codec = "jpg" if low_codec == "jpeg" else low_codec
    return export_layout(pairs, folder, layout or "files", codec, engine, progress)


def export_for(
    origin: PairSet, root: Path, trainer: str, engine: Engine, progress: Progress
) -> TrainerFormat:
    """Write the pairs of a set as a trainer, one of `TRAINERS`, reads them.

    Images keep their bytes where the trainer takes them; others are encoded anew, as PNG without
    any loss. Draws and labels lie in `draws/SPLIT.jsonl`, checksums in `SHA256SUMS`. Lows of live
    sets are made. See `gloam.export`.

    Raises ConfigError when there is no such form, or the set lacks what it needs; SetError when the
    folder holds something else, or a pair cannot be read.
    """
    if trainer not in TRAINERS:
        raise ConfigError(
            f"--for {trainer}: must be one of {', '.join(TRAINERS)}", key="for", value=trainer
        )
    form = TRAINERS[trainer]
    _check(require_images(origin), root, form)
    classes = read_about(origin.root)[0] if origin.info.build.labelled else []
    write_units(
        origin,
        root,
        {"for": trainer},
        partial(_write_unit, form),
        partial(_finish, form, classes),
        engine,
        progress,
    )
    return form


def _check(origin: PairSet, root: Path, form: TrainerFormat) -> None:
    if "{class}" in form.low and not origin.info.build.labelled:
        raise ConfigError(
            f"--for {form.name}: needs classes, which {origin.root} has not; gloam build --labels"
            " carries those of classes= and imagenet= sources"
        )
    labelled = origin.info.build.labelled
    if form.extra in ("coco", "yolo") and not (labelled and BOXES in read_about(origin.root)[1]):
        raise ConfigError(
            f"--for {form.name}: needs boxes, which {origin.root} has not; gloam build --labels"
            " carries those of voc= and coco= sources"
        )
    if form.extra == "lmdb":
        if place(root).remote:
            raise ConfigError(f"--for {form.name}: LMDB lies in a folder of this machine")
        trainer_files.lmdb_module()  # before anything is made


def _write_unit(form: TrainerFormat, unit: Unit, root: Path) -> Note:
    """Write the images of a unit; note their files and the samples' records."""
    if form.extra == "energon":
        shard = write_shard(root, unit.name, pairs_with_lows(unit))
        trainer_files.write_index(root, unit.name)
        return {"sums": shard, "records": []}
    sums: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    split = form.splits[unit.split]
    for sample in pairs_with_lows(unit):
        names = {"split": split, "key": sample.key, "class": _class_of(sample)}
        written = {}
        for member, pattern, codec in (
            (LOW, form.low, form.low_codec),
            (NORMAL, form.normal, form.normal_codec),
        ):
            if not pattern:
                continue
            image = encode_image(sample, member, codec)
            name = pattern.format(**names)
            if form.extra == "lmdb":
                name = f"{WORK_FOLDER}/{name}/{sample.key}.png"
            name = f"{name.rpartition('.')[0]}.{image.suffix}"
            write_bytes(inside(root, name), image.data, durable=False)
            written[member] = name
            sums[name] = sha256_bytes(image.data)
            if form.extra == "yolo":
                data, name = trainer_files.yolo_lines(sample.record), trainer_files.label_path(name)
                write_bytes(root / name, data, durable=False)
                sums[name] = sha256_bytes(data)
        records.append(sample.record | {"files": written})
    for name in [*sums, *sorted({name.rpartition("/")[0] for name in sums})]:
        flush(root / name)
    return {"sums": sums, "records": records}


def _class_of(sample: Sample) -> str:
    """Return a sample's class as the name of a folder."""
    name = str(sample.record.get("labels", {}).get("class", "")) or "without class"
    return re.sub(r"[/\\\x00-\x1f]|^\.+$", "-", name)


def encode_image(sample: Sample, member: str, codec: str) -> Encoded:
    """Return an image of a sample as "png" or "jpg", or with "" as it is stored."""
    stored = sample.members[member]
    if codec in ("", stored.suffix):
        return stored
    pixels = sample.decoded(member, decode_image)
    if codec == "png":
        return Encoded(encode_png(pixels), "png")
    return Encoded(encode(pixels, "jpg", _QUALITY, "444"), "jpg")


def _finish(form: TrainerFormat, classes: list[str], written: Written) -> None:
    """Write what goes over all units."""
    root, units = written.root, written.units
    if form.extra == "energon":
        shards = {unit.name: shard_path(Path(), unit.name).as_posix() for unit in units}
        splits = {
            split: [shards[unit.name] for unit in units if unit.split == split]
            for split in form.splits
        }
        trainer_files.write_meta(written, {shards[unit.name]: unit.count for unit in units}, splits)
        return
    if form.extra == "coco":
        trainer_files.write_coco(written, partial(_records, written), classes)
    elif form.extra == "yolo":
        trainer_files.write_yolo(written, classes)
    for split in written.splits:
        named = form.splits[split]
        written.put(f"{DRAWS}/{split}.jsonl", map(canonical_json, _records(written, split)))
        if form.extra == "meta_info":
            lines = (f"{_line(one)}\n".encode() for one in _records(written, split))
            written.put(f"{named}/meta_info.txt", lines)
        elif form.extra == "metadata":
            rows = (_metadata(named, one) for one in _records(written, split))
            written.put(f"{named}/metadata.jsonl", rows)
        elif form.extra == "lmdb":
            for member, pattern in ((LOW, form.low), (NORMAL, form.normal)):
                images = (
                    (one["key"], root / one["files"][member], _line(one))
                    for one in _records(written, split)
                )
                made = trainer_files.write_lmdb(root / pattern.format(split=named), images)
                written.sums |= {str(p.relative_to(root)): digest for p, digest in made.items()}


def _records(written: Written, split: str) -> Iterator[dict[str, Any]]:
    return (record for note in written.notes(split) for record in note["records"])


def _line(record: dict[str, Any]) -> str:
    """Return a line of BasicSR's meta_info.txt."""
    return f"{record['key']}.png ({record['height']},{record['width']},3)"


def _metadata(split: str, record: dict[str, Any]) -> bytes:
    """Return a line of metadata: each file as a column of images, the draw as text."""
    columns = {
        f"{member}_file_name": name.removeprefix(f"{split}/")
        for member, name in record["files"].items()
    }
    labels = record.get("labels")
    return canonical_json(
        columns
        | {"key": record["key"], "source": record["source"], "draw": json.dumps(record["draw"])}
        | ({} if labels is None else {"class": labels["class"], "labels": json.dumps(labels)})
    )
