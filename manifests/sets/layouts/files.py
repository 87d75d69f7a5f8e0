"""The files layout: a folder for each member of a split, and one for the records.

`{split}/low/KEY.ext`, `{split}/normal/KEY.ext` (not in a set of lows only) and the record
`{split}/draw/KEY.json`; a member of another name in a folder of that name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import SetError
from ....storage.atomic import atomic_write, canonical_json, flush, sha256_bytes, write_bytes
from ....storage.stores import AT_ONCE, in_store, map_concurrent
from ....storage.untrusted import inside, naming, read_file, read_regular
from ...labels.photo_labels import MASK
from ..info import WORK_FOLDER
from ..receipts import Receipt, UnitFile, file_of
from ..sample import LOW, NORMAL, RECORD, Encoded, Sample, parse_record, split_ending
from .extents import TEXT, Extents, Filed, Keys
from .layout import Layout, list_path, read_list, split_of, write_list
from .shard_tar import Examined

METADATA = "metadata.jsonl"
"""A split's file of the pairs' images, by which Hugging Face's imagefolder gives a row a pair."""
DRAW = "draw"
"""The folder of the records."""


class FilesWriter(AbstractContextManager["FilesWriter"]):
    """Writes the files of one unit; without `close` the next run overwrites them."""

    def __init__(self, root: Path, unit: str) -> None:
        self._root = root
        self._split = split_of(unit)
        self._files: list[UnitFile] = []
        self._puts: list[Future[None]] = []
        self._pool = ThreadPoolExecutor(AT_ONCE) if in_store(root) else None

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def add(self, sample: Sample) -> None:
        """Write a sample's files."""
        for member, data in sample.files():
            name = file_name(self._split, sample.key, member)
            path = inside(self._root, name)
            if self._pool is not None:
                self._puts.append(self._pool.submit(write_bytes, path, data))
            else:
                write_bytes(path, data, durable=False)
            self._files.append(file_of(name, data))

    def close(self) -> list[UnitFile]:
        """Flush the files and their folders to disk, and list them."""
        for put in self._puts:
            put.result()
        paths = [self._root / file.path for file in self._files]
        for path in [*sorted({path.parent for path in paths}), *paths]:
            flush(path)
        return self._files


def file_name(split: str, key: str, member: str) -> str:
    """Return a file's path in the set, by what follows the key in its name elsewhere: `low.png`."""
    kind, _, rest = member.partition(".")
    return f"{split}/{DRAW if kind == RECORD else kind}/{key}.{rest or kind}"


def member_of(path: str, key: str) -> str:
    """Return what follows the key in a file's name elsewhere: the other way round."""
    _, kind, name = path.split("/")
    rest = name.removeprefix(f"{key}.")
    return kind if rest == kind else f"{kind}.{rest}"


@dataclass(frozen=True)
class Files(Layout):
    """A set as folders of images and lists of them."""

    name = "files"
    writer, member_path = FilesWriter, staticmethod(file_name)

    def records(self, root: Path, receipt: Receipt) -> Iterator[dict[str, Any]]:
        """Yield the records among the files of a receipt, in order."""
        paths = [inside(root, one.path) for one in receipt.files if one.path.split("/")[1] == DRAW]
        for path, data in zip(paths, map_concurrent(read_file, paths, root), strict=True):
            yield parse_record(data, str(path), path.stem)

    def samples(self, root: Path, receipt: Receipt) -> Iterator[Sample]:
        """Yield the samples among the files of a receipt, in order.

        Raises SetError when a file is missing or cannot be read.
        """
        samples = list(_paths_by_sample(receipt))
        paths = [inside(root, path) for one in samples for path in one]
        contents = iter(map_concurrent(read_file, paths, root))
        for draw, *others in samples:
            key, members = Path(draw).stem, {}
            record = parse_record(next(contents), str(root / draw), key)
            for path in others:
                name, suffix = split_ending(member_of(path, key))
                if name not in record["members"]:
                    raise SetError.at(root, f"{path} is not of {split_of(receipt.unit)}'s {key}")
                members[name] = Encoded(next(contents), suffix)
            yield Sample(key, record, members)

    def examine(self, root: Path, unit: str, path: str) -> Examined:
        """Read a file of a sample through, and a record for its values too."""
        data = read_regular(inside(root, path))
        odd = []
        if path.split("/")[1] == DRAW:
            try:
                parse_record(data, str(root / path), Path(path).stem)
            except SetError as error:
                odd.append(("", error.what))
        return Examined(sha256_bytes(data), odd)

    def write_lists(self, root: Path, split: str, receipts: Sequence[Receipt]) -> list[Path]:
        """Write `lists/{split}-low.txt` and `-normal.txt` in DALI's file-list form, `path label`.

        Line i has the label i in both, so that a reader can prove that its two streams are in step.
        A set without lows, or of lows only, has one of them; one with masks `-mask.txt` too.
        `{split}/metadata.jsonl` names the images of each sample.
        """
        written = []
        files = [file.path for receipt in receipts for file in receipt.files]
        for kind in (LOW, NORMAL, MASK):
            paths = [path for path in files if _is_image(path, kind)]
            if paths:
                lines = (f"{path} {i}" for i, path in enumerate(paths))
                written.append(write_list(root, f"{split}-{kind}", lines))
        if receipts:
            if not (root / split / METADATA).is_file():
                _sort_folders(root, split)
            written.append(root / split / METADATA)
            with atomic_write(written[-1]) as handle:
                for receipt in receipts:
                    handle.writelines(map(canonical_json, _image_rows(receipt)))
        return written

    def check(
        self, root: Path, split: str, units: Sequence[str], count: int, names: Sequence[str]
    ) -> None:
        """Refuse lists that are missing or of another length, and links among images."""
        for name in names:
            lines = len(read_list(root, f"{split}-{name}"))
            if lines != count:
                raise SetError.at(
                    list_path(root, f"{split}-{name}"),
                    f"has {lines} lines, the set {count} pairs; gloam verify says what was changed",
                )
            if not in_store(root):
                _refuse_links(root, f"{split}/{name}")

    def extents(
        self, root: Path, split: str, units: Sequence[str], names: Sequence[str], *, held: bool
    ) -> tuple[Keys, list[Extents]]:
        """Find the keys of a split, and where its members lie, by its lists.

        Raises SetError when the lists do not name the same samples in the same order.
        """
        columns = []
        for name in names:
            lines = read_list(root, f"{split}-{name}")
            columns.append([line.rpartition(" ")[0] for line in lines])
        keys, *others = ([Path(path).stem for path in paths] for paths in columns)
        if any(own != keys for own in others):
            raise SetError.at(
                root, f"the lists of {' and '.join(names)} are out of step; gloam verify the set"
            )
        texts = [np.array(one, TEXT) for one in (keys, *columns)]
        return texts[0], [Filed(str(root), paths) for paths in texts[1:]]


def _refuse_links(root: Path, folder: str) -> None:
    """Refuse a folder of images that DALI reads by itself, where one is no regular file."""
    with naming(root / folder), os.scandir(inside(root, folder)) as found:
        odd = next((one for one in found if not one.is_file(follow_symlinks=False)), None)
    if odd is not None:
        inside(root, f"{folder}/{odd.name}")
        if not os.path.isfile(odd.path):
            raise SetError.at(odd.path, "is not a regular file")


def _sort_folders(root: Path, split: str) -> None:
    """Let each folder of a split hold its files in the order of their names, whoever made them.

    Several file systems list a folder in the order in which its files came, and there are trainers
    that pair the lows and normals of two such lists. Stopped in between, what is not in its place
    is made again.
    """
    if in_store(root):
        return
    for folder in sorted(path for path in (root / split).glob("*") if path.is_dir()):
        aside = root / WORK_FOLDER / "sorted" / split / folder.name
        aside.mkdir(parents=True, exist_ok=True)
        for name in sorted(os.listdir(folder)):
            os.replace(folder / name, aside / name)
        folder.rmdir()
        os.replace(aside, folder)
        flush(folder)


def _paths_by_sample(receipt: Receipt) -> Iterator[list[str]]:
    """Yield the paths of each sample's files, its record's first, in the order of writing."""
    paths: list[str] = []
    for file in receipt.files:
        if file.path.split("/")[1] == DRAW:
            if paths:
                yield paths
            paths = [file.path]
        elif paths:
            paths.append(file.path)
        else:
            raise SetError(f"{receipt.unit}: {file.path}: belongs to no record")
    if paths:
        yield paths


def _image_rows(receipt: Receipt) -> Iterator[dict[str, Any]]:
    """Yield the key and the images of each sample, a list of each where they are frames."""
    for draw, *others in _paths_by_sample(receipt):
        row: dict[str, Any] = {"key": Path(draw).stem}
        for path in others:
            _, folder, name = path.split("/")
            if folder in (LOW, NORMAL) and name.count(".") == 1:
                row[f"{folder}_file_name"] = f"{folder}/{name}"
            elif folder in (LOW, NORMAL):
                row.setdefault(f"{folder}_file_names", []).append(f"{folder}/{name}")
        yield row


def _is_image(path: str, kind: str) -> bool:
    """Return whether a file is the one low or normal of its sample: no frame of several."""
    _, folder, name = path.split("/")
    return folder == kind and name.count(".") == 1
