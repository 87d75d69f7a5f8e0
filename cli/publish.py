"""`gloam publish`: a set to be given away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..synth.publishing.publish import publish as publish_set
from .common import EXISTING, option_of, options_of, paths
from .workers import working


@click.command()
@paths(origin="SET", root="DIR")
@options_of(
    publish_set,
    format="Write shards, Parquet as the Hub's viewer shows it, or the plan alone, for photographs"
    " that may not be given away: gloam rebuild makes the same bytes from one's own copies.",
    license="License, as the Hub names it, such as cc-by-4.0.",
)
@click.option("--citation", type=EXISTING, help="BibTeX file with the citation.")
@options_of(publish_set, url="Address of the published set, for Croissant.")
@option_of(publish_set, "date", "Date of publishing, for Croissant.", metavar="YYYY-MM-DD")
@working()
def publish(origin: Path, root: Path, *, citation: Path | None, **options: Any) -> str:
    """Write SET to DIR for publication: pictures, card, Croissant metadata, checksums, plan.

    After an interruption, run the same command again to continue.
    """
    cited = citation.read_text("utf-8", "surrogateescape").strip() if citation else ""
    publish_set(origin, root, citation=cited, **options)
    lacking = " and ".join(f"--{name}" for name in ("url", "date") if not options[name])
    asked = f"\ncroissant.json does not say it all: Croissant asks for {lacking}" if lacking else ""
    return (
        f"{root}: {origin} as {options['format']}; read {root / 'README.md'}, then upload it, as"
        f" with hf upload NAME {root} --repo-type dataset{asked}"
    )
