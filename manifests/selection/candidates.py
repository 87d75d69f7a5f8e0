"""Candidates: each photograph of the sources as one row of a table, measured or with a reason.

Tables are columnar (pyarrow), so that millions of candidates fit in memory.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...engines.engine import Engine, ignore_progress
from ...engines.local import begin_part, count
from ...errors import ImageRefused, Reason, SetError, SourceError
from ...storage.atomic import atomic_write
from ...storage.parquet import pc, pq, read_table
from ...storage.untrusted import LONGEST_KEY, reason_of
from ..clips.listing import Windows, list_clips, locates_clip
from ..sources import Location, Source, list_source, read
from .measures import FIELDS, MEASURES, Measures, measure, measure_clip

_MEASURE_TYPES = {"width": pa.int32(), "height": pa.int32(), "perceptual_hash": pa.uint64()}
MEASURE_SCHEMA = pa.schema(
    [pa.field(name, _MEASURE_TYPES.get(name, pa.float64())) for name in FIELDS]
    + [pa.field("reason", pa.string()), pa.field("detail", pa.string())]
)
_CACHE_SCHEMA = MEASURE_SCHEMA.append(pa.field("identity", pa.uint64()))
_LOCATION = tuple(field.name for field in fields(Location))
ENDS_PROCESS = "a decoder crashes on it, and ends the process"
NO_MEMORY = "memory ran out while it was read"
"""Details of photographs that are refused for what they do to workers."""
_Row = tuple[float | int | str, ...]
_JOB = 64
_PART = 2048
_ODD = re.compile(r"[^a-z0-9_-]+")


def list_candidates(
    sources: list[Source],
    progress: Callable[[int], None] = lambda listed: None,
    passed: dict[str, Counter[str]] | None = None,
    max_pixels: int | None = None,
) -> pa.Table:
    """List the photographs of all sources, keyed and located, in a fixed order.

    sources: with names of their own (`spec.name_sources`).
    progress: called now and then with the number listed so far.
    passed: gets, by name of the source, counts of files that may be photographs and are not taken;
      see `list_source`.
    max_pixels: videos with larger frames are passed over.

    Returns columns source, key, path, container, member, offset, size, stamp (see `Location`).
    Raises SourceError when a source is missing, broken, or not what its kind says.
    """
    rows: list[tuple[Any, ...]] = []
    for source in sources:
        before = len(rows)
        over: Counter[str] = Counter()
        windows = Windows(source.frames, source.stride, source.step)
        images = (
            list_clips(source.path, windows, over, max_pixels)
            if source.frames
            else list_source(source.kind, source.path, source.listing, over)
        )
        for image in images:
            rows.append((source.name, image.name, image.path, *vars(image.location).values()))
            if len(rows) % 1000 == 0:
                progress(len(rows))
        if passed is not None and over:
            passed[source.name] = over
        counts = Counter(path for _, _, path, *_ in rows[before:])
        if len(counts) < len(rows) - before:
            twice = next(path for path, times in counts.items() if times > 1)
            where = f"{source.kind}={source.path}"
            raise SourceError(f"{where}: holds two files named {twice}; rename one")
    progress(len(rows))
    origins, names, paths, *located = map(list, zip(*rows, strict=True))
    first = {"source": origins, "key": make_keys(origins, names, paths), "path": paths}
    return pa.table(first | dict(zip(_LOCATION, located, strict=True)))


def locations(table: pa.Table) -> Iterator[Location]:
    """Yield the location of each row of a table of candidates."""
    columns = [table.column(name).to_pylist() for name in _LOCATION]
    for row in zip(*columns, strict=True):
        yield Location(*row)


@dataclass(frozen=True)
class _MeasureJob:
    located: tuple[Location, ...]
    max_pixels: int
    deadly: frozenset[int] = frozenset()

    def check(self, part: int) -> None:
        """Measure one candidate, which may end this process."""
        _measures_of(self, part)

    def without(self, part: int) -> _MeasureJob:
        """Return the job that refuses a candidate."""
        return replace(self, deadly=self.deadly | {part})


def measure_candidates(
    listed: pa.Table,
    cache: Path,
    engine: Engine,
    max_pixels: int,
    at: Callable[[int], None] = ignore_progress,
) -> pa.Table:
    """Add the columns of `MEASURE_SCHEMA` to a table of `list_candidates`.

    Measurements are kept in `cache` (Parquet parts of some thousand rows, each whole or absent) by
    the file's location, size and modification time, so that an interrupted run goes on where it was
    and a changed file is measured anew.

    max_pixels: refuse images with more.
    at: called with the number of candidates measured so far, those from the cache included.

    Raises SetError when the folder, or a part in it, is something else.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise SetError.at(cache, "is no folder; choose another one for --cache") from None
    identity = _measurement_identities(listed, max_pixels)
    parts = map(_read_part, sorted(cache.glob("part-*.parquet")))
    known = pa.concat_tables([_CACHE_SCHEMA.empty_table(), *parts])
    todo = np.flatnonzero(~np.isin(identity, known.column("identity").to_numpy()))
    done = len(identity) - len(todo)
    at(done)

    fresh: list[pa.Table] = []
    rows: list[_Row] = []
    chunks = [todo[start : start + _JOB] for start in range(0, len(todo), _JOB)]
    jobs = (_MeasureJob(tuple(locations(listed.take(part))), max_pixels) for part in chunks)
    results = engine.map(_measure_located, jobs, lambda counted: at(done + counted))
    for part, result in zip(chunks, results, strict=True):
        rows += [(*row, one) for row, one in zip(result, identity[part].tolist(), strict=True)]
        if len(rows) >= _PART or part is chunks[-1]:
            fresh.append(_store_measurements(cache, rows))
            rows = []

    measured = pa.concat_tables([known, *fresh]).combine_chunks()
    stored = measured.column("identity").to_numpy()
    order = np.argsort(stored, kind="stable")
    found = measured.take(order[np.searchsorted(stored[order], identity)])
    for field in MEASURE_SCHEMA:
        listed = listed.append_column(field, found.column(field.name))
    return listed


def _read_part(path: Path) -> pa.Table:
    try:
        table = read_table(path)
        if not table.schema.equals(_CACHE_SCHEMA):
            raise ValueError("other columns")
    except (OSError, ValueError) as error:
        what = f"holds no measurements of this gloam ({reason_of(error)}); delete it"
        raise SetError.at(path, what) from error
    return table


def leave_unmeasured(listed: pa.Table) -> pa.Table:
    """Add `MEASURE_SCHEMA`'s columns, empty, for a plan that takes every candidate as it is."""
    for field in MEASURE_SCHEMA:
        blank = "" if field.name in ("reason", "detail") else None
        listed = listed.append_column(field, pa.array([blank] * len(listed), field.type))
    return listed


def _measurement_identities(listed: pa.Table, max_pixels: int) -> npt.NDArray[np.uint64]:
    texts = (
        f"measuring-{MEASURES}|{max_pixels}|{p.container}|{p.member}|{p.offset}|{p.size}|{p.stamp}"
        for p in locations(listed)
    )
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8")


def _store_measurements(cache: Path, rows: list[_Row]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(columns, schema=_CACHE_SCHEMA)
    # What could not be read may be readable the next time; all else that was found stays as it is.
    lasting = table.filter(pc.not_equal(table["reason"], "unreadable"))
    with atomic_write(cache / f"part-{columns[-1][0]:016x}.parquet") as handle:
        pq.write_table(lasting, handle)
    return table


def _measure_located(job: _MeasureJob) -> list[_Row]:
    rows: list[_Row] = []
    for part in range(len(job.located)):
        begin_part(part)
        try:
            if part in job.deadly:
                raise ImageRefused(Reason.DAMAGED, ENDS_PROCESS)
            rows.append((*_measures_of(job, part), "", ""))
        except ImageRefused as refusal:
            rows.append((*(0 for _ in FIELDS), refusal.reason, refusal.detail))
        except MemoryError:
            rows.append((*(0 for _ in FIELDS), Reason.TOO_LARGE, NO_MEMORY))
        count()
    return rows


def _measures_of(job: _MeasureJob, part: int) -> Measures:
    location = job.located[part]
    if locates_clip(location):
        return measure_clip(location, job.max_pixels)
    return measure(read(location), job.max_pixels)


def normalise(source: str, name: str) -> str:
    """Make a key from a source's name and the source's own name of an image.

    Accents are dropped, capitals lowered, and every run of other characters becomes one "-". May be
    longer than a key.
    """
    text = name
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return f"{source}-{_ODD.sub('-', text.lower()).strip('-') or 'image'}"


def make_keys(sources: list[str], names: list[str], paths: list[str]) -> list[str]:
    """Make one unique key an image.

    Names that collide when normalised, or are too long, each get a short hash of their source and
    original path at its end, so that a key never depends on which other images came first.

    sources, names, paths: lists of str, equally long; source name, the source's own name of the
      image, and its path there. (source, path) must be unique.

    Examples
    --------
    >>> make_keys(["voc", "voc"], ["2007_000027", "2007_000032"], ["a.jpg", "b.jpg"])
    ['voc-2007_000027', 'voc-2007_000032']
    """
    plain = [normalise(source, name) for source, name in zip(sources, names, strict=True)]
    keys = list(plain)
    # Eight digits meet once in 65,000 colliding images; then, and only then, all twins take longer
    # ones.
    for digits in (8, 16, 32, 64):
        seen = Counter(keys)
        for i, key in enumerate(keys):
            if seen[key] > 1 or len(key) > LONGEST_KEY:
                identity = f"{sources[i]}\0{paths[i]}".encode()
                mark = hashlib.blake2b(identity, digest_size=32).hexdigest()[:digits]
                keys[i] = f"{plain[i][: LONGEST_KEY - 1 - digits].rstrip('-')}-{mark}"
        if len(set(keys)) == len(keys):
            break
    return keys
