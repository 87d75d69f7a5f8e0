"""`gloam report`: a set as one page to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from ...engines.by_name import engine_named
from ...errors import ConfigError
from ...storage.atomic import write_bytes
from ...synth.analysis.pair_statistics import reference_statistics
from ...synth.analysis.references import read_reference
from ...synth.analysis.set_statistics import measure_folders
from ...synth.realism.comparison import Rows, compared_rows
from ...synth.realism.two_sample import require_classifier
from ...synth.reporting.page import page
from ...synth.reporting.subject import folder_subject, is_set, set_subject
from ..common import Bars, engine_option, user_errors, workers_option


@click.command()
@click.argument("first", metavar="SET|LOW_DIR", type=click.Path(path_type=Path))
@click.argument(
    "second", metavar="[SET|NORMAL_DIR]", required=False, type=click.Path(path_type=Path)
)
@click.option(
    "--normals",
    type=click.Path(path_type=Path),
    help="Of sets of lows only: the set that holds their normals.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Measure at most so many of each, evenly spread; the page says how many.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option(
    "--beside",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE|FOLDER",
    help="A reference of one's own, which gloam stats --save-reference wrote; or a folder of real"
    " lows, or one that holds low/ and normal/, to tell the set's from. May be repeated.",
)
@workers_option("Processes.")
@engine_option
@user_errors
def report(
    first: Path,
    second: Path | None,
    *,
    normals: Path | None,
    pairs: int,
    out: Path,
    beside: tuple[Path, ...],
    workers: int,
    engine_name: str,
) -> None:
    """Write a page about a set: what it is, checks, statistics, pictures.

    It is one file that asks for nothing from anywhere. Two sets are shown beside each other, as are
    the pairs of two folders (equal names).
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--out {out}: must end in .html")
    files = [path for path in beside if not path.is_dir()]
    references = {**reference_statistics(), **dict(read_reference(path) for path in files)}
    folders = [path for path in beside if path.is_dir()]
    if folders:
        require_classifier()  # before minutes of measuring
    if second is not None and is_set(first) != is_set(second):
        raise ConfigError(
            f"{second if is_set(first) else first}: not a set, but the other one is; give two sets,"
            " or a folder of lows and one of normals"
        )
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        bars.stage("measuring pairs", None)
        if not is_set(first):
            subjects = [folder_subject(first, second, pairs, workers, bars.at, engine)]
        else:
            subjects = [set_subject(first, normals, pairs, workers, bars.at, engine)]
            if second is not None:
                held = normals or first  # of a set of lows made from the first
                subjects.append(set_subject(second, held, pairs, workers, bars.at, engine))
                if subjects[0].name == subjects[1].name:
                    both = zip(subjects, (first, second), strict=True)
                    subjects = [replace(subject, name=str(path)) for subject, path in both]
        real = [_real_rows(path, pairs, workers, bars.at) for path in folders]
    compared = [
        compared_rows(f"{subject.name} beside {path}", rows, subject.measured.rows)
        for subject in subjects
        for path, rows in zip(folders, real, strict=True)
    ]
    data = page(subjects, references, compared).encode()
    write_bytes(out, data)
    failed = sum(not check.passed for subject in subjects for check in subject.checks)
    checks = sum(len(subject.checks) for subject in subjects)
    said = "all passed" if not failed else f"{failed} to look at"
    click.echo(f"{out}: {len(data) / 1e6:.1f} MB; {checks} checks, {said}")


def _real_rows(folder: Path, most: int, workers: int, at: Callable[[int], None]) -> Rows:
    """Measure the real lows of a folder, or the pairs of its folders low and normal."""
    low, normal = folder / "low", folder / "normal"
    if low.is_dir() and normal.is_dir():
        return measure_folders(low, normal, most, workers, at).rows
    return measure_folders(folder, None, most, workers, at).rows
