"""A set as the folder that somebody else's trainer reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engines.engine import Engine, check_paths
from ...engines.local import LocalEngine, count
from ...errors import ConfigError, SetError
from ...manifests.images.encode import encode
from ...manifests.sets.info import WORK_FOLDER
from ...manifests.sets.layouts.shards import shard_path
from ...manifests.sets.pair_set import PairSet, Unit, open_set
from ...manifests.sets.sample import LOW, NORMAL, Encoded, Sample
from ...progress import Progress, Silent
from ...storage.atomic import (
    atomic_write,
    canonical_json,
    flush,
    remove_tree,
    sha256_bytes,
    sha256_file,
    temporary_beside,
    write_bytes,
)
from ...storage.locks import exclusive
from ...storage.stores import StorePath, place
from ..building.regenerate import sample_with_low
from ..kernels.png.file import encode_png
from ..renderers import Device
from ..served.start import Renderers, renderers_on
from .energon_form import write_meta, write_shard
from .lmdb_form import write_lmdb
from .trainers import FORMS, TrainerForm

MARK, SUMS = "gloam.json", "SHA256SUMS"
DRAWS = "draws"
_QUALITY = 100
"""Of JPEGs that are made of exact images: without chroma subsampling the error is .75 of 255."""


@dataclass(frozen=True)
class _Job:
    unit: Unit
    root: Path
    form: TrainerForm
    renderers: Renderers


def export_for(
    origin: PairSet | str | Path,
    root: str | Path,
    trainer: str,
    workers: int = 1,
    progress: Progress | None = None,
    *,
    device: Device = "cpu",
    engine: Engine | None = None,
) -> TrainerForm:
    """Write the pairs of a set as a trainer reads them.

    Images keep their bytes where the trainer takes them; others are encoded anew, as PNG without
    any loss. Draws and labels lie in `draws/SPLIT.jsonl`, checksums in `SHA256SUMS`. Stopped, the
    same call continues.

    Parameters
    ----------
    origin : PairSet or path
    root : str or Path
        New, empty, or begun by the same call.
    trainer : str
        One of `trainers.FORMS`.
    workers, progress, device, engine
        As of `gloam.build`; lows of live sets are made.

    Returns
    -------
    TrainerForm

    Raises
    ------
    ConfigError
        When there is no such form, or the set lacks what it needs.
    SetError
        When the folder holds something else, or a pair cannot be read.
    """
    if trainer not in FORMS:
        raise ConfigError(
            f"--for {trainer}: must be one of {', '.join(FORMS)}", key="for", value=trainer
        )
    form, origin, root = FORMS[trainer], open_set(origin), place(root)
    engine, progress = engine or LocalEngine(workers), progress or Silent()
    check_paths(engine, origin.root, origin.normals, root)
    _check(origin, root, form)
    mark = canonical_json({"for": trainer, "set": origin.info.sha256, "name": origin.name})
    if _done(root, mark):
        return form
    work = root / WORK_FOLDER
    with exclusive(work / "lock"), renderers_on(device if origin.live else "cpu", engine) as begun:
        write_bytes(work / "export.json", mark)
        units = [unit for unit in origin.units() if unit.count]
        missing = [unit for unit in units if not _note(root, unit).is_file()]
        progress.stage("writing", len(origin))
        before = len(origin) - sum(unit.count for unit in missing)
        progress.at(before)
        renderers = begun.ready()
        jobs = (_Job(unit, root, form, renderers) for unit in missing)
        for _ in engine.map(_write_unit, jobs, lambda counted: progress.at(before + counted)):
            pass
        _finish(root, form, units, mark)
    remove_tree(work)
    return form


def _check(origin: PairSet, root: Path, form: TrainerForm) -> None:
    origin.check_normals()
    if root.resolve() == origin.root.resolve():
        raise SetError(f"{root}: is the set itself; give another folder", path=root)
    if "{class}" in form.low and not origin.info.build.labelled:
        raise ConfigError(
            f"--for {form.name}: needs classes, which {origin.root} has not; gloam build --labels"
            " carries those of classes= and imagenet= sources"
        )
    if form.extra == "lmdb" and isinstance(root, StorePath):
        raise ConfigError(f"--for {form.name}: LMDB lies in a folder of this machine")


def _done(root: Path, mark: bytes) -> bool:
    """Return whether the folder is finished; refuse one of something else."""
    for path in (root / MARK, root / WORK_FOLDER / "export.json"):
        if path.is_file():
            if path.read_bytes() != mark:
                raise SetError(
                    f"{root}: holds another export; choose another folder or empty it", path=root
                )
            return path.name == MARK
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise SetError(f"{root}: exists and is no export; choose another folder", path=root)
    (root / WORK_FOLDER).mkdir(parents=True, exist_ok=True)
    return False


def _note(root: Path, unit: Unit) -> Path:
    return root / WORK_FOLDER / "units" / f"{unit.name}.json"


def _write_unit(job: _Job) -> None:
    """Write the images of a unit, then the note that it is done: its files and its lines."""
    sums: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    if job.form.extra == "energon":
        samples = _counted(sample_with_low(job.unit, job.renderers))
        sums = write_shard(job.root, job.unit.name, samples)
        write_bytes(_note(job.root, job.unit), canonical_json({"sums": sums, "records": records}))
        return
    split = job.form.splits[job.unit.split]
    for sample in sample_with_low(job.unit, job.renderers):
        names = {"split": split, "key": sample.key, "class": _class_of(sample)}
        written = {}
        for member, pattern, codec in (
            (LOW, job.form.low, job.form.low_codec),
            (NORMAL, job.form.normal, job.form.normal_codec),
        ):
            if not pattern:
                continue
            image = _encoded(sample, member, codec)
            name = pattern.format(**names)
            if job.form.extra == "lmdb":
                name = f"{WORK_FOLDER}/{name}/{sample.key}.png"
            name = f"{name.rpartition('.')[0]}.{image.suffix}"
            _write(job.root / name, image.data)
            written[member] = name
            sums[name] = sha256_bytes(image.data)
        records.append(sample.record | {"files": written})
        count()
    if not isinstance(job.root, StorePath):
        for name in [*sums, *sorted({name.rpartition("/")[0] for name in sums})]:
            flush(job.root / name)
    note = {"sums": sums, "records": records}
    write_bytes(_note(job.root, job.unit), canonical_json(note))


def _counted(samples: Iterator[Sample]) -> Iterator[Sample]:
    for sample in samples:
        yield sample
        count()


def _class_of(sample: Sample) -> str:
    """Return a sample's class as the name of a folder."""
    name = str(sample.record.get("labels", {}).get("class", "")) or "without class"
    return name.replace(os.sep, "-")


def _encoded(sample: Sample, member: str, codec: str) -> Encoded:
    stored = sample.members[member]
    if codec in ("", stored.suffix):
        return stored
    pixels = sample.decoded(member)
    if codec == "png":
        return Encoded(encode_png(pixels), "png")
    return Encoded(encode(pixels, "jpg", _QUALITY, "444"), "jpg")


def _write(path: Path, data: bytes) -> None:
    if isinstance(path, StorePath):
        path.put(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    temporary.write_bytes(data)
    os.replace(temporary, path)


def _finish(root: Path, form: TrainerForm, units: list[Unit], mark: bytes) -> None:
    """Write what goes over all units; the mark last."""
    sums: dict[str, str] = {}

    def put(name: str, lines: Iterable[bytes]) -> None:
        with atomic_write(root / name) as handle:
            handle.writelines(lines)
        sums[name] = sha256_file(root / name)

    for split, named in form.splits.items():
        own = [unit for unit in units if unit.split == split]
        if not own:
            continue
        for note in _notes(root, own):
            sums |= note["sums"]
        if form.extra == "energon":
            continue
        put(f"{DRAWS}/{split}.jsonl", map(canonical_json, _records(root, own)))
        if form.extra == "meta_info":
            put(
                f"{named}/meta_info.txt",
                (f"{_line(one)}\n".encode() for one in _records(root, own)),
            )
        elif form.extra == "metadata":
            put(f"{named}/metadata.jsonl", (_metadata(named, one) for one in _records(root, own)))
        elif form.extra == "lmdb":
            for member, pattern in ((LOW, form.low), (NORMAL, form.normal)):
                images = (
                    (one["key"], root / one["files"][member], _line(one))
                    for one in _records(root, own)
                )
                made = write_lmdb(root / pattern.format(split=named), images)
                sums |= {str(path.relative_to(root)): digest for path, digest in made.items()}
    if form.extra == "energon":
        shards = {unit.name: shard_path(Path(), unit.name).as_posix() for unit in units}
        splits = {
            split: [shards[unit.name] for unit in units if unit.split == split]
            for split in (*form.splits, "test")
        }
        write_meta(root, {shards[unit.name]: unit.count for unit in units}, splits)
    listed = (
        f"{digest}  {name}\n".encode()
        for name, digest in sorted(sums.items())
        if not name.startswith(WORK_FOLDER)
    )
    put(SUMS, listed)
    write_bytes(root / MARK, mark)


def _notes(root: Path, units: list[Unit]) -> Iterator[dict[str, Any]]:
    return (json.loads(_note(root, unit).read_bytes()) for unit in units)


def _records(root: Path, units: list[Unit]) -> Iterator[dict[str, Any]]:
    return (record for note in _notes(root, units) for record in note["records"])


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


def verify_export(root: Path, at: Callable[[int], None]) -> Iterator[str]:
    """Yield what is wrong with an export, by its checksums: each a line."""
    for number, line in enumerate((root / SUMS).read_text("utf-8").splitlines(), 1):
        digest, _, name = line.partition("  ")
        try:
            if sha256_file(root / name) != digest:
                yield f"{name}: was changed"
        except OSError as error:
            yield f"{name}: {error.strerror or error}"
        at(number)
