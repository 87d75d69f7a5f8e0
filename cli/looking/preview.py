"""`gloam preview`: look before building."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from ...errors import ConfigError, ImageRefused, SourceError
from ...manifests.clips.listing import list_clips
from ...manifests.clips.load_clip import load_clip
from ...manifests.clips.windows import Windows, sequence_of
from ...manifests.images.folders import images_below
from ...manifests.images.load_normal import load_normal
from ...manifests.images.opening import Pixels
from ...manifests.sets.info import SET_FILE
from ...manifests.sources import Location, list_source, read
from ...manifests.sources.collections import SAMPLE_NAMES
from ...storage.atomic import write_bytes
from ...synth.analysis.contact_sheet import Tile, grid_of, row_of, sheet, strip_of
from ...synth.recipes.load import DEFAULT, load_recipe
from ..common import check_png, count_of, overrides_option, recipe_names, user_errors

_MOST = 40


@click.command()
@click.argument("photos", metavar="[PHOTO|FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=recipe_names,
    help=(
        "May be repeated, for rows of their own; even:0.5,uneven:0.5 is a mixture."
        f"  [default: {DEFAULT}]"
    ),
)
@overrides_option("Change a value, as in gloam build.")
@click.option(
    "--grid",
    nargs=2,
    metavar="KEY=A,B,.. KEY=C,D,..",
    help="Vary two values over rows and columns, such as camera.iso=400,1600 exposure.ev=4,6.",
)
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    help="Of clips: folders of frames or video files, a strip of so many frames of the first four.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")
@click.option(
    "--width", type=click.IntRange(64, 2000), default=320, help="Of each picture, pixels."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("sheet.png"),
    help="The sheet to write, PNG.",
)
@user_errors
def preview(
    photos: tuple[Path, ...],
    recipes: tuple[str, ...],
    overrides: tuple[str, ...],
    *,
    grid: tuple[str, str] | None,
    frames: int | None,
    seed: int,
    width: int,
    out: Path,
) -> None:
    """Make a contact sheet of every PHOTO and recipe.

    It shows of each the normal, low, brightened low and a close-up at 1:1, with what was drawn.

    Without a PHOTO, of photographs inside scikit-image. Of a folder, the first few.

    Each is drawn by the seed and its file's name, and in a set by the seed and its key: one low of
    the same recipe, but another one. gloam.darken(image, recipe, seed=, key=) makes any of them.
    """
    check_png("--out", out)
    names = recipes or (DEFAULT,)
    rows: list[list[Tile]] = []
    if frames is not None:
        if grid is not None:
            raise ConfigError("--frames and --grid exclude each other")
        for name, clip in _clips(photos, frames):
            loaded = [load_recipe(recipe_name, overrides) for recipe_name in names]
            rows += [strip_of(clip, recipe, seed, name, width) for recipe in loaded]
        photos = ()
    for name, data in [] if frames else _photographs(photos):
        try:
            normal = load_normal(data).pixels
        except ImageRefused as refusal:
            raise SourceError(f"{name}: {refusal}", path=name) from refusal
        for recipe_name in names:
            if grid is None:
                rows.append(row_of(normal, load_recipe(recipe_name, overrides), seed, name, width))
            else:
                down, across = _axis(grid[0]), _axis(grid[1])
                labels = [[f"{row}, {column}" for column in across] for row in down]
                table = [
                    [load_recipe(recipe_name, [*overrides, row, column]) for column in across]
                    for row in down
                ]
                rows += grid_of(normal, table, labels, seed, name, width)
    buffer = io.BytesIO()
    sheet(rows).save(buffer, "png")
    write_bytes(out, buffer.getvalue())
    click.echo(f"{out}: {count_of(len(rows), 'row')}")


def _clips(photos: tuple[Path, ...], frames: int) -> Iterator[tuple[str, list[Pixels]]]:
    """Yield the first clip of each sequence, of some."""
    if not photos:
        raise ConfigError("--frames: name folders of frames, or of video files")
    for photo in photos:
        first: dict[str, Location] = {}
        for listed in list_clips(str(photo), Windows(frames), Counter()):
            first.setdefault(sequence_of(listed.path), listed.location)
            if len(first) > 4:
                break
        for name, place in list(first.items())[:4]:
            try:
                yield name, [frame.pixels for frame in load_clip(place, cuts=True)]
            except ImageRefused as refusal:
                click.echo(f"note: {photo}: {name}: {refusal}", err=True)


def _axis(text: str) -> list[str]:
    """Read `camera.iso=400,1600` as two overrides; commas inside brackets do not part."""
    key, equals, values = text.partition("=")
    parts, depth = [""], 0
    for letter in values:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    if not equals or not all(part.strip() for part in parts):
        raise ConfigError(
            f"--grid {text}: write it as KEY=VALUE,VALUE,..., for example camera.iso=400,1600"
        )
    return [f"{key}={part.strip()}" for part in parts]


def _photographs(photos: tuple[Path, ...]) -> list[tuple[str, bytes]]:
    if not photos:
        first = sorted(list_source("sample", ""), key=lambda item: SAMPLE_NAMES.index(item.path))
        return [(item.path, read(item.location)) for item in first[:4]]
    files: list[Path] = []
    for photo in photos:
        if photo.is_dir():
            found = images_below(photo)
            if not found:
                what = "; gloam report shows a set" if (photo / SET_FILE).is_file() else ""
                raise SourceError(f"{photo}: holds no photographs{what}", path=photo)
            files += found[:4]
        else:
            files.append(photo)
    if len(files) > _MOST:
        raise ConfigError(
            f"{len(files)} photographs are too many for a sheet, {_MOST} the most; name fewer"
        )
    try:
        return [(path.name, path.read_bytes()) for path in files]
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}", path=error.filename) from error
