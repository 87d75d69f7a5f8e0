"""`gloam publish`: a set to be given away."""

from __future__ import annotations

from pathlib import Path

import click

from ...engines.by_name import engine_named
from ...synth.publishing.publish import FORMATS, Format
from ...synth.publishing.publish import publish as publish_set
from ..common import Bars, engine_option, user_errors, workers_option


@click.command()
@click.argument("origin", metavar="SET", type=click.Path(path_type=Path))
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="webdataset",
    help=(
        "Write shards, Parquet as the Hub's viewer shows it, or the plan alone, for photographs"
        " that may not be given away: gloam rebuild makes the same bytes from one's own copies."
    ),
)
@click.option("--license", default="other", help="License, as the Hub names it, such as cc-by-4.0.")
@click.option(
    "--citation",
    type=click.Path(path_type=Path, exists=True),
    help="Cite as this file of BibTeX says.",
)
@click.option("--url", default="", help="Address of the published set.")
@click.option("--date", default="", metavar="YYYY-MM-DD", help="Date of publishing, for Croissant.")
@workers_option()
@engine_option
@user_errors
def publish(
    origin: Path,
    root: Path,
    form: Format,
    license: str,
    *,
    citation: Path | None,
    url: str,
    date: str,
    workers: int,
    engine_name: str,
) -> None:
    """Write SET to DIR as it is given away: pictures, card, Croissant, checksums, plan.

    Run again, it continues where it was stopped.
    """
    engine = engine_named(engine_name, workers)
    with Bars() as bars:
        publish_set(
            origin,
            root,
            form,
            license=license,
            citation=citation.read_text("utf-8").strip() if citation else "",
            url=url,
            date=date,
            workers=workers,
            progress=bars,
            engine=engine,
        )
    click.echo(
        f"{root}: {origin} as {form}; read {root / 'README.md'}, then upload it, as with"
        f" hf upload NAME {root} --repo-type dataset"
    )
