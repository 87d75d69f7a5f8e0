"""`gloam export`, `publish`, `rebuild`: a set in other forms, given away, and made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..manifests.sets.info import SetInfo
from ..storage.untrusted import read_regular
from ..synth.publishing.export import CODECS, TRAINERS, TrainerFormat
from ..synth.publishing.export import export as write_export
from ..synth.publishing.publish import publish as publish_set
from ..synth.publishing.publish import rebuild as rebuild_set
from .common import EXISTING, count_of, option_of, options_of, paths, sample_name, working

_MOST_CITED = 1 << 20  # bytes of BibTeX


@click.command()
@paths(origin="SET", root="NEW")
@options_of(write_export, layout="Write a set of this layout.  [default: files]")
@option_of(
    write_export,
    "for_",
    "Write the folder that this trainer's own loader reads, and print its settings.",
    type=click.Choice(list(TRAINERS)),
)
@options_of(
    write_export,
    video="Write the clips of a set as video files. ffv1 is lossless; mp4 is small, for viewing:"
    " its coding destroys the noise.",
    low_codec="Codec of the lows made from a live SET; stored lows keep their bytes.",
)
@working()
def export(origin: Path, root: Path, **options: Any) -> str:
    """Write the pairs of SET to NEW, as files or as shards, byte for byte.

    Files are folders of lows and normals, with file lists. After an interruption, run the same
    command again to continue.
    """
    written = write_export(origin, root, **options)
    if isinstance(written, TrainerFormat):
        lines = (f"  {line.replace('{root}', str(root))}" for line in written.lines)
        return "\n".join([f"{root}: the pairs of {origin} for {written.about}", *lines])
    if isinstance(written, SetInfo):
        count = count_of(sum(written.units.values()), sample_name(written))
        return f"{root}: {count} of {origin} as {options['layout'] or 'files'}"
    about = CODECS[options["video"]]
    return f"{root}: {count_of(written, 'clip')} of {origin} as {about}"


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
    text = read_regular(citation, _MOST_CITED) if citation else b""
    cited = text.decode("utf-8", "surrogateescape").replace("\r\n", "\n").strip()
    publish_set(origin, root, citation=cited, **options)
    lacking = " and ".join(f"--{name}" for name in ("url", "date") if not options[name])
    asked = f"\ncroissant.json does not say it all: Croissant asks for {lacking}" if lacking else ""
    return (
        f"{root}: {origin} as {options['format']}; read {root / 'README.md'}, then upload it, as"
        f" with hf upload NAME {root} --repo-type dataset{asked}"
    )


@click.command()
@paths(published="PUBLISHED", root="SET")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="KIND=PATH",
    help="Path of a source of the set, given by its kind or its name; may be repeated.",
)
@working()
def rebuild(published: Path, root: Path, sources: tuple[str, ...], **options: Any) -> str:
    """Rebuild the PUBLISHED set as SET, byte for byte, from your own copies of its photographs.

    After an interruption, run the same command again to continue.
    """
    info = rebuild_set(published, root, sources, **options).info
    count = count_of(sum(info.units.values()), sample_name(info))
    return f"{root}: {count}, every byte as it was published"
