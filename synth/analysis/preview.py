"""Contact sheets of photographs or clips darkened by recipes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from PIL import Image
from pydantic import BaseModel

from ...errors import ConfigError, GloamWarning, ImageRefused, SourceError
from ...manifests.clips.listing import Windows, list_clips, sequence_of, warn_of_videos
from ...manifests.clips.load_clip import load_clip
from ...manifests.images.normals import load_normal
from ...manifests.images.opening import Pixels, byte_limit
from ...manifests.sets.info import SET_FILE
from ...manifests.sources import Location, list_source, read
from ...manifests.sources.collections import SAMPLE_NAMES
from ...manifests.sources.folders import images_below
from ...storage.stores import as_path
from ...storage.untrusted import read_regular, whole
from ..recipes.load import DEFAULT, Recipe, load_recipe
from ..recipes.overrides import Overrides, override_texts
from .contact_sheet import Tile, row_of, sheet, small_tile, strip_of

_MOST = 40


def preview(
    photos: str | Path | Iterable[str | Path] = (),
    recipe: Recipe | str | Iterable[Recipe | str] = DEFAULT,
    *,
    overrides: Overrides = (),
    grid: tuple[str, str] | None = None,
    frames: int | None = None,
    seed: int = 0,
    width: int = 320,
) -> Image.Image:
    """Make a contact sheet: each photograph, its low, the low brightened, and a close-up.

    Parameters
    ----------
    photos : str, Path, or several
        Photographs, or folders, whose first four are shown; by default some inside scikit-image.
    recipe : Recipe, str, or several
        Names, YAML files or loaded recipes, each with rows of its own.
    overrides : dict, str or iterable of str
        Single values of the recipes to change.
    grid : (str, str), optional
        Values to vary over rows and columns: "camera.iso=400,1600", "exposure.ev=4,6".
    frames : int, optional
        For folders of frames or video files: number of frames shown of each clip.
    seed : int
        Random seed. The key of each low is its file's name.
    width : int
        Width of each picture, pixels.

    Returns
    -------
    Pillow image, RGB

    Raises
    ------
    ConfigError
        When a recipe or an option is wrong.
    SourceError
        When a photograph cannot be read.

    Examples
    --------
    >>> import gloam
    >>> sheet = gloam.preview("photos", ["even", "uneven"], width=64)
    >>> sheet.mode
    'RGB'
    """
    seed, width = whole("seed", seed), whole("width", width, 1, 1 << 14)
    paths = list(map(as_path, [photos] if isinstance(photos, str | Path) else photos))
    chosen = [recipe] if isinstance(recipe, str | BaseModel) else list(recipe)
    changes = override_texts(overrides)
    rows: list[list[Tile]] = []
    if frames is not None:
        if grid is not None:
            raise ConfigError("--frames and --grid exclude each other")
        loaded = [load_recipe(one, changes) for one in chosen]
        for name, clip in _clips(paths, frames):
            rows += [strip_of(clip, one, seed, name, width) for one in loaded]
        return sheet(rows)
    refused: list[tuple[str, ImageRefused]] = []
    for name, data in read_photographs(paths):
        try:
            normal = load_normal(data).pixels
        except ImageRefused as refusal:
            refused.append((name, refusal))
            continue
        for one in chosen:
            if grid is None:
                rows.append(row_of(normal, load_recipe(one, changes), seed, name, width))
            else:
                for down in _axis(grid[0]):
                    tiles = []
                    for across in _axis(grid[1]):
                        varied = load_recipe(one, [*changes, down, across])
                        label = f"{down}, {across}"
                        tiles.append(small_tile(normal, varied, label, seed, name, width))
                    rows.append(tiles)
    say_refused(refused, len(rows))
    return sheet(rows)


def say_refused(refused: Sequence[tuple[str, ImageRefused]], used: int) -> None:
    """Warn of photographs that are passed over. Raises SourceError when none is used."""
    if not refused:
        return
    name, refusal = refused[0]
    more = f", and {len(refused) - 1:,} more" if len(refused) > 1 else ""
    if not used:
        raise SourceError(f"{name}: {refusal}{more}", path=name) from refusal
    warnings.warn(f"passed over: {name}: {refusal}{more}", GloamWarning, stacklevel=3)


def _clips(photos: Sequence[Path], frames: int) -> Iterator[tuple[str, list[Pixels]]]:
    """Yield the first clip of each sequence, of some."""
    if not photos:
        raise ConfigError("--frames: name folders of frames, or of video files")
    for photo in photos:
        first: dict[str, Location] = {}
        passed: Counter[str] = Counter()
        for listed in list_clips(str(photo), Windows(frames), passed):
            first.setdefault(sequence_of(listed.path), listed.location)
            if len(first) > 4:
                break
        warn_of_videos(photo, passed)
        for name, place in list(first.items())[:4]:
            try:
                yield name, [frame.pixels for frame in load_clip(place, cuts=True)]
            except ImageRefused as refusal:
                warnings.warn(f"{photo}: {name}: {refusal}", GloamWarning, stacklevel=3)


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


def read_photographs(
    photos: Sequence[Path], each: int = 4, most: int = _MOST
) -> list[tuple[str, bytes]]:
    """Read photographs: of a folder the first `each`, without any some inside scikit-image.

    Raises SourceError when one cannot be read, or a folder holds none; ConfigError when they are
    more than `most`.
    """
    if not photos:
        first = sorted(list_source("sample", ""), key=lambda item: SAMPLE_NAMES.index(item.path))
        return [(item.path, read(item.location)) for item in first[:each]]
    files: list[Path] = []
    for photo in photos:
        if photo.is_dir():
            found = images_below(photo)
            if not found:
                what = "; gloam report shows a set" if (photo / SET_FILE).is_file() else ""
                raise SourceError.at(photo, f"holds no photographs{what}")
            files += found[:each]
        else:
            files.append(photo)
    if len(files) > most:
        raise ConfigError(f"{len(files)} photographs are too many, {most} the most; name fewer")
    try:
        return [(path.name, read_regular(path, byte_limit())) for path in files]
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}", path=error.filename) from error
