"""A set written in another way: as files or shards, as a trainer reads it, or as videos."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from ...engines.engine import Engine
from ...engines.local import local_engine
from ...errors import ConfigError, ImageRefused, SetError, needed
from ...manifests.clips.video import pyav
from ...manifests.images.normals import encode
from ...manifests.labels.coco import annotation_path, write_annotations
from ...manifests.labels.label_table import read_about
from ...manifests.labels.photo_labels import BOXES, labels_of
from ...manifests.selection.plan import SPLITS, TRAIN, VAL
from ...manifests.sets.info import WORK_FOLDER, SetInfo
from ...manifests.sets.layouts.extents import BLOCK
from ...manifests.sets.layouts.shard_index import read_index
from ...manifests.sets.layouts.shard_tar import index_path, shard_path
from ...manifests.sets.pair_set import PairSet, open_set, require_images
from ...manifests.sets.sample import LOW, NORMAL, Encoded, Sample
from ...manifests.sets.units import Unit
from ...progress import Progress, Silent
from ...storage import atomic
from ...storage.stores import as_path, in_store, place
from ...storage.untrusted import inside, read_regular
from ...storage.yaml_files import load_shipped
from ..building.make_unit import pairs_with_lows
from ..building.regenerate import export_layout
from ..clips import frames_of
from ..input_images import decode_image
from ..kernels.arrays import Pixels
from ..kernels.png.file import encode_png
from .unit_by_unit import ENERGON, Note, Written, is_prepared, write_shard, write_units

DRAWS = "draws"
_QUALITY = 100
"""Quality of JPEGs that are made of exact images: without chroma subsampling the error is .75 of
255."""
PLAIN = {split: split for split in SPLITS}
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
Codec = Literal["ffv1", "mp4"]
CODECS: dict[str, str] = {
    "ffv1": "KEY.low.mkv and KEY.normal.mkv, lossless (FFV1, RFC 9043): every sample as stored",
    "mp4": (
        "KEY.mp4, low and normal side by side, to look at: its coding destroys the noise; do not"
        " train on it"
    ),
}
_RATE = 25
_SAME_BYTES = {"fflags": "+bitexact"}
"""Matroska's writer draws the numbers of files and tracks at random else."""


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


TRAINERS = {
    name: TrainerFormat(name, **row | {"lines": tuple(row["lines"])})
    for name, row in load_shipped(__package__, "trainers.yaml").items()
}
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
        lmdb_module()  # before anything is made


def _write_unit(form: TrainerFormat, unit: Unit, root: Path) -> Note:
    """Write the images of a unit; note their files and the samples' records."""
    if form.extra == "energon":
        shard = write_shard(root, unit.name, pairs_with_lows(unit))
        write_index(root, unit.name)
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
            atomic.write_bytes(inside(root, name), image.data, durable=False)
            written[member] = name
            sums[name] = atomic.sha256_bytes(image.data)
            if form.extra == "yolo":
                data, name = yolo_lines(sample.record), label_path(name)
                atomic.write_bytes(root / name, data, durable=False)
                sums[name] = atomic.sha256_bytes(data)
        records.append(sample.record | {"files": written})
    for name in [*sums, *sorted({name.rpartition("/")[0] for name in sums})]:
        atomic.flush(root / name)
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
        write_meta(written, {shards[unit.name]: unit.count for unit in units}, splits)
        return
    if form.extra == "coco":
        write_coco(written, partial(_records, written), classes)
    elif form.extra == "yolo":
        write_yolo(written, classes)
    for split in written.splits:
        named = form.splits[split]
        written.put(f"{DRAWS}/{split}.jsonl", map(atomic.canonical_json, _records(written, split)))
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
                made = write_lmdb(root / pattern.format(split=named), images)
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
    return atomic.canonical_json(
        columns
        | {"key": record["key"], "source": record["source"], "draw": json.dumps(record["draw"])}
        | ({} if labels is None else {"class": labels["class"], "labels": json.dumps(labels)})
    )


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
                written.sums[name] = atomic.sha256_file(path)
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
    atomic.write_bytes(path, data)


def write_meta(written: Written, counts: dict[str, int], splits: dict[str, list[str]]) -> None:
    """Write what Energon asks of a dataset, with checksums but for what its tools write again.

    counts: dict of shard to its pairs. splits: dict of split to its shards.
    """
    info = json.dumps({"energon_version": _ENERGON_VERSION, "shard_counts": counts}, indent=2)
    files = {
        ".info.json": info + "\n",
        "split.yaml": yaml.safe_dump({"split_parts": splits, "exclude": []}, sort_keys=False),
        "dataset.yaml": _DATASET,
        "crude.yaml": _CRUDE,
        "sample_loader.py": _LOADER,
    }
    for name, text in files.items():
        path = f"{ENERGON}/{name}"
        if is_prepared(path):
            atomic.write_bytes(written.root / path, text.encode())
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
    atomic.remove_tree(folder)
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
    return {path: atomic.sha256_file(path) for path in (folder / "data.mdb", meta)}


def export_videos(
    pairs: PairSet, root: Path, codec: Codec, engine: Engine, progress: Progress
) -> int:
    """Write the clips of a set as video files ("ffv1" or "mp4", see `CODECS`), a folder a split.

    Beside them lie their checksums, `SHA256SUMS`. See `gloam.export`.

    Returns how many clips there are. Raises SetError when the set holds no clips, one of them is
    damaged, or the folder holds something else; ConfigError when PyAV is missing, or the folder
    lies in a store.
    """
    if codec not in CODECS:
        raise ConfigError(f"video {codec!r}: must be one of {', '.join(CODECS)}", key="video")
    if in_store(root):
        raise ConfigError(f"{root}: videos are written to a folder", value=str(root))
    if not pairs.frames:
        raise SetError.at(pairs.root, "holds pairs of images, no clips")
    pyav()
    write_units(
        pairs,
        root,
        {"video": codec},
        partial(_write_clips, codec),
        lambda written: None,  # all is said by the files of the units
        engine,
        progress,
    )
    return len(pairs)


def _write_clips(codec: Codec, unit: Unit, root: Path) -> Note:
    """Write the clips of a unit."""
    sums: dict[str, str] = {}

    def write(name: str, frames: Sequence[Pixels]) -> None:
        _write_video(root / unit.split / name, frames, codec)
        sums[f"{unit.split}/{name}"] = atomic.sha256_file(root / unit.split / name)

    for clip in unit.pairs():
        try:
            lows, normals = frames_of(clip)
        except (ImageRefused, ValueError) as error:
            raise unit.fault(clip.key, str(error)) from error
        if codec == "mp4":
            both = [np.hstack(pair) for pair in zip(lows, normals, strict=True)]
            write(f"{clip.key}.mp4", both)
        else:
            write(f"{clip.key}.low.mkv", lows)
            write(f"{clip.key}.normal.mkv", normals)
    return {"sums": sums}


def _write_video(path: Path, frames: Sequence[Pixels], codec: Codec) -> None:
    av, lossless = pyav(), codec == "ffv1"
    kind, coder, pixels = ("matroska", codec, "bgr0") if lossless else ("mp4", "libx264", "yuv420p")
    height, width = frames[0].shape[:2]
    # As 4:2:0 wants even sides, the last row and column of odd ones are repeated.
    more = ((0, 0),) * 3 if lossless else ((0, height % 2), (0, width % 2), (0, 0))
    with (
        atomic.atomic_write(path) as file,
        av.open(file, "w", format=kind, options=_SAME_BYTES) as made,
    ):
        stream = made.add_stream(coder, rate=_RATE)
        stream.width, stream.height = width + more[1][1], height + more[0][1]
        stream.codec_context.time_base = Fraction(1, _RATE)
        stream.codec_context.thread_count = 1
        stream.pix_fmt, stream.options = pixels, {} if lossless else {"crf": "18"}
        for number, frame in enumerate(frames):
            image = av.VideoFrame.from_ndarray(np.pad(frame, more, mode="edge"), format="rgb24")
            if lossless:  # what it stores: samples in another order, none changed
                image = image.reformat(format=pixels)
            image.pts, image.time_base = number, Fraction(1, _RATE)
            made.mux(stream.encode(image))
        made.mux(stream.encode(None))
