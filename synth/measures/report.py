"""A page about a set, or about two folders of real pairs, in one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ...engines.engine import Counted, Engine
from ...engines.local import local_engine
from ...errors import ConfigError
from ...manifests.sets.pair_set import is_set
from ...progress import Progress, Silent
from ...storage.atomic import write_bytes
from ...storage.stores import as_path
from .checks import Check
from .comparison import Rows, compare_rows
from .page import page
from .pair_statistics import reference_statistics
from .set_statistics import measure_folders, read_reference
from .subject import Subject, folder_subject, set_subject
from .two_sample import require_classifier


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
    second = None if second is None else as_path(second)
    normals = None if normals is None else as_path(normals)
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
    shown, engine = progress or Silent(), engine or local_engine(workers)
    shown.stage("measuring pairs", None)
    if isinstance(first, Subject):
        subjects = [first]
    elif not is_set(first):
        subjects = [folder_subject(first, second, pairs, engine, shown.at, brighter_lows)]
    else:
        subjects = [set_subject(first, normals, pairs, engine, shown.at, brighter_lows)]
        if second is not None:
            # The second may be a set of lows that was made from the first.
            subjects.append(
                set_subject(second, normals or first, pairs, engine, shown.at, brighter_lows)
            )
            if subjects[0].name == subjects[1].name:
                both = zip(subjects, (first, second), strict=True)
                subjects = [replace(subject, name=str(path)) for subject, path in both]
    real = [_real_rows(path, pairs, engine, shown.at, brighter_lows) for path in folders]
    compared = [
        compare_rows(f"{subject.name} beside {path}", rows, subject.measured.rows)
        for subject in subjects
        for path, rows in zip(folders, real, strict=True)
    ]
    write_bytes(out, page(subjects, references, compared).encode("utf-8", "backslashreplace"))
    return [check for subject in subjects for check in subject.checks]


def _real_rows(folder: Path, most: int, engine: Engine, at: Counted, brighter_lows: bool) -> Rows:
    """Measure the real lows of a folder, or the pairs of its folders low and normal."""
    low, normal = folder / "low", folder / "normal"
    if low.is_dir() and normal.is_dir():
        return measure_folders(low, normal, most, engine, at, brighter_lows).rows
    return measure_folders(folder, None, most, engine, at).rows
