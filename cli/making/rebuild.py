"""`gloam rebuild`: a published set from one's own copies of its photographs."""

from __future__ import annotations

from pathlib import Path

import click

from ...engines.by_name import engine_named
from ...synth.publishing.rebuild import rebuild as rebuild_set
from ..common import (
    Bars,
    count_of,
    engine_option,
    sample_name,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("published", metavar="PUBLISHED", type=click.Path(path_type=Path))
@click.argument("root", metavar="SET", type=click.Path(path_type=Path))
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="KIND=PATH",
    help="Read a source of the set, by its kind or its name, from this path; may be repeated.",
)
@workers_option()
@engine_option
@user_errors
def rebuild(
    published: Path,
    root: Path,
    sources: tuple[str, ...],
    *,
    workers: int,
    engine_name: str,
) -> None:
    """Make SET again as it was PUBLISHED, byte for byte, of one's own copies of the photographs.

    Run again, it continues where it was stopped.
    """
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        report = rebuild_set(
            published,
            root,
            sources,
            workers=workers,
            progress=bars,
            engine=engine,
        )
    count = count_of(sum(report.info.units.values()), sample_name(report.info))
    click.echo(f"{root}: {count}, every byte as it was published")
