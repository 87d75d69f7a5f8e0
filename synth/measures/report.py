"""A page about a set, or about two folders of real pairs, in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...engines.engine import Counted, Engine, ignore_progress
from ...engines.local import local_engine
from ...errors import ConfigError
from ...manifests.sets.close import photographs_in
from ...manifests.sets.pair_set import is_set, open_set
from ...manifests.sources.folders import image_files
from ...progress import Progress, Silent
from ...storage.atomic import write_bytes
from ...storage.stores import as_path
from ..kernels.arrays import FloatArray
from .checks import Check, checks_of_folders, checks_of_set
from .page import DRAWN, Subject, page
from .pair_statistics import reference_statistics
from .pictures import pictures_of_files, pictures_of_set
from .set_statistics import measure_folders, measure_set, read_reference
from .two_sample import compare_rows, require_classifier

_MOST_UNITS = 24
"""Shards that pairs are measured of, at most: each is read whole."""


def report(
    first: str | Path | Subject,
    second: str | Path | None = None,
    *,
    out: str | Path = "report.html",
    normals: str | Path | None = None,
    pairs: int = 600,
    brighter_lows: bool = False,
    beside: Iterable[str | Path] = (),
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> list[Check]:
    """Write a page about a set: facts, checks, statistics, pictures.

    Parameters
    ----------
    first : str, Path or Subject
        A finished set, or a folder of lows; or what was gathered already.
    second : str or Path, optional
        Another set, shown beside the first; or a folder of normals of equal names.
    out : str or Path
        The page to write, .html: one file that asks for nothing from anywhere.
    normals : str or Path, optional
        The set that holds the normals of sets of lows only.
    pairs : int
        Largest number of pairs to measure of each, evenly spread.
    brighter_lows : bool
        Take lows that are brighter than their normals, as over-exposed ones are.
    beside : iterable of str or Path
        References that `gloam stats --save-reference` wrote; folders of real lows, or folders that
        hold low/ and normal/, to tell the set's lows from.
    workers, progress, engine
        See `gloam.build`; all cores and no bars by default. Progress counts pairs measured.

    Returns
    -------
    list of Check
        All checks of the page, passed or not.

    Raises
    ------
    ConfigError
        When an option is wrong, or scikit-learn is missing for folders in `beside`.
    SetError, SourceError
        When a set cannot be read, or a folder's lows are brighter than its normals. Shards, pairs
        and images that are damaged fail a check.

    Examples
    --------
    >>> import gloam
    >>> checks = gloam.report("SET", out="report.html")
    >>> checks[0].passed
    True
    """
    out = as_path(out)
    first = first if isinstance(first, Subject) else as_path(first)
    second, normals = (None if path is None else as_path(path) for path in (second, normals))
    others = [Path(path) for path in beside]
    if out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--out {out}: must end in .html")
    files = [path for path in others if not path.is_dir()]
    references = {**reference_statistics(), **dict(read_reference(path) for path in files)}
    folders = [path for path in others if path.is_dir()]
    if folders:
        require_classifier()  # before minutes of measuring
    if isinstance(first, Path) and second is not None and is_set(first) != is_set(second):
        raise ConfigError(
            f"{second if is_set(first) else first}: not a set, but the other one is; give two sets,"
            " or a folder of lows and one of normals"
        )
    shown = progress or Silent()
    shown.stage("measuring pairs", None)
    how = pairs, engine or local_engine(workers), shown.at, brighter_lows
    if isinstance(first, Subject):
        subjects = [first]
    elif not is_set(first):
        subjects = [folder_subject(first, second, *how)]
    else:
        subjects = [set_subject(first, normals, *how)]
        if second is not None:
            # The second may be a set of lows that was made from the first.
            subjects.append(set_subject(second, normals or first, *how))
            if subjects[0].name == subjects[1].name:
                both = zip(subjects, (first, second), strict=True)
                subjects = [replace(subject, name=str(path)) for subject, path in both]
    real = []
    for path in folders:
        low, normal = path / "low", path / "normal"
        paired = low.is_dir() and normal.is_dir()
        lows, own = (low, normal) if paired else (path, None)
        real.append(measure_folders(lows, own, *how).rows)
    compared = [
        compare_rows(f"{subject.name} beside {path}", rows, subject.measured.rows)
        for subject in subjects
        for path, rows in zip(folders, real, strict=True)
    ]
    write_bytes(out, page(subjects, references, compared).encode("utf-8", "backslashreplace"))
    return [check for subject in subjects for check in subject.checks]


def set_subject(
    root: Path,
    normals: Path | None,
    most: int,
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    brighter_lows: bool = False,
) -> Subject:
    """Gather the facts and statistics of a set; shards and pairs that are damaged fail a check.

    brighter_lows: whether its lows may be brighter than their normals.

    Raises SetError when it is none, or its tables cannot be read.
    """
    pairs = open_set(root)
    if pairs.lows_only and normals is not None:
        pairs = open_set(root, normals)
    measured = measure_set(pairs, most, engine, at, _MOST_UNITS)
    info, table = pairs.info, pairs.table("pairs")
    codec = info.build.request.output.low_codec
    splits = (f"{split} {count:,}" for split, count in pairs.counts.items() if count)
    facts = [
        ("pairs", ", ".join(splits)),
        ("recipe", f"{info.recipe}, seed {info.seed}"),
        ("lows", {"none": "made when they are loaded", "png": "PNG"}.get(codec, "JPEG")),
        ("layout", info.layout),
        ("made by", f"gloam {info.build.versions.get('gloam', '?')}"),
        ("set", info.sha256),
    ]
    by_reason: dict[str, list[str]] = {}
    for one in photographs_in(pairs.table("refused")).to_pylist():
        by_reason.setdefault(str(one["reason"]), []).append(f"{one['source']}: {one['path']}")
    counts: dict[str, dict[str, int]] = {}
    both = zip(table.column("source").to_pylist(), table.column("split").to_pylist(), strict=True)
    for (source, split), count in sorted(Counter(both).items()):
        counts.setdefault(source, {})[split] = count
    held = set(table.column_names)
    sensed = np.ones(len(table), np.bool_)
    if "draw_noise_kurtosis" in held:  # others may name a sensor that is not used
        sensed = np.array(table.column("draw_noise_kurtosis").is_null().to_pylist(), np.bool_)
    if not sensed.all():
        some = "" if not sensed.any() else f" by {(~sensed).sum():,} of {len(sensed):,} pairs"
        facts.insert(2, ("camera, ISO", f"not used{some}: noise is the recipe's own"))
    names = table.column("draw_camera_name").to_pylist() if "draw_camera_name" in held else []
    return Subject(
        root.name or root.resolve().name,
        f"Low-light / normal-light pairs, recipe {info.recipe}.",
        facts,
        len(pairs),
        measured,
        checks_of_set(pairs, measured, brighter_lows),
        pictures_of_set(pairs, measured),
        counts,
        sorted((reason, len(paths), paths[:3]) for reason, paths in by_reason.items()),
        {name: _drawn(table, name, sensed) for name in DRAWN if name in held},
        dict(sorted(Counter(compress(names, sensed)).items())),
        pairs.recipe_yaml,
    )


def _drawn(table: pa.Table, name: str, sensed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return a column of what was drawn, of the images whose lows depend on it."""
    values = np.array(table.column(name).to_pylist(), float)
    if name == "draw_camera_iso":
        return values[sensed]
    return values[values > 0] if name.startswith("draw_degradations") else values


def folder_subject(
    lows: Path,
    normals: Path | None,
    most: int,
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    brighter_lows: bool = False,
) -> Subject:
    """Gather the statistics of real pairs, or of lows alone.

    Damaged images fail a check. Raises SourceError when there is nothing, or an image has no
    partner; and when lows are brighter than their normals, unless `brighter_lows`.
    """
    measured = measure_folders(lows, normals, most, engine, at, brighter_lows)
    where = f"{lows}" if normals is None else f"{lows} and {normals}"
    return Subject(
        lows.name or lows.resolve().name,
        "Real low-light photographs." if normals is None else "Real pairs.",
        [("from", where)],
        len(image_files(lows)),
        measured,
        checks_of_folders(measured, brighter_lows),
        pictures_of_files(measured),
    )
