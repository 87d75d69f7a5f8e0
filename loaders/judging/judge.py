"""`gloam.judge`: outputs of one method or several, by the normals of test sets."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...engines.local import count, local_engine
from ...errors import ConfigError, ImageRefused, SourceError
from ...manifests.images.decode import decode_at_depth
from ...manifests.images.opening import byte_limit
from ...manifests.open_data import list_pairs
from ...manifests.real.real import RealSet, real_named
from ...manifests.real.rules import Match, set_names
from ...manifests.selection.duplicates import Look, look_at, number_scenes
from ...manifests.sources.folders import image_files
from ...manifests.sources.matching import normalize_name
from ...progress import Progress, Silent
from ...storage.untrusted import read_regular
from ...synth.measures.columns import ADDED, ALL_LABELS, Statistic
from ...synth.measures.wrong_pairs import (
    brightness,
    mismatch,
    mismatch_line,
    refuse_swapped,
    those_told,
    warn_of_few_bits,
)
from . import metrics
from .results import BLIND, ENCODED, IDENTITY, Board, Judged

COLUMNS = ("PSNR", "SSIM", "PSNR, one gain*", "SSIM, one gain*", "PSNR, GT-mean*", "SSIM, GT-mean*")
_OWN = (IDENTITY, BLIND, ENCODED, "low", "normal")
ABOUT_BLIND = (
    "blind gain: the low, its linear light times one factor that brings its mean to .45, whatever"
    " the normal; a method that is not clearly above it has learned to brighten, no more"
)
ABOUT_ENCODED = f"{ENCODED}: the same of encoded values in place of linear light"


def judge(
    outputs: str | Path | Sequence[str | Path] | Mapping[str, str | Path] = (),
    *,
    on: str | Sequence[str] | Sequence[tuple[str, str]] | None = None,
    split: str | None = None,
    low: str | Path | None = None,
    normal: str | Path | None = None,
    match: Match | None = None,
    perceptual: bool = True,
    brighter_lows: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Judged | Board:
    """Judge what methods made of a test set's lows, by its normals, or of several sets'.

    The low as it is and a blind gain (linear light scaled until the mean, encoded, is .45) are
    judged beside them.

    Parameters
    ----------
    outputs : str, Path, several of them, or dict of a name to one
        Folders of outputs, each image called as its low or its normal, whatever its suffix.
    on : str, list of str, or list of pairs
        "lol-v1=FOLDER", see `gloam.real`, or "NAME=FOLDER" with its folders low and normal; or
        (low, normal) paths. Of several sets, OUTPUTS/NAME holds a method's outputs for set NAME; a
        method may lack some.
    split : str, optional
        Split of a real set; by default "test" where it has one.
    low, normal : str or Path
        In place of `on`: two folders, see `pairs_in`.
    match : str or (str, str), optional
        Which of these two are pairs, see `pairs_in`.
    perceptual : bool
        Measure LPIPS and NIQE if `lpips` (`pip install 'gloam[judge]'`), `pyiqa` and their weights
        are there; nothing is fetched.
    brighter_lows : bool
        Take lows that are brighter than their normals, as over-exposed ones are.
    workers : int
        Processes; all cores by default.
    progress : Progress, optional

    Returns
    -------
    Judged or Board
        Figures of one set, or of several. Its `text()`, `markdown()`, `csv()` and `as_json()` hold
        every one.

    Raises
    ------
    ConfigError
        When it is not said what is judged on.
    SourceError
        When an output is missing, cannot be read, or has another size than its normal; or when
        lows are brighter than their normals.

    Examples
    --------
    >>> import gloam
    >>> found = gloam.judge(low="files/train/low", normal="files/train/normal", perceptual=False)
    >>> list(found.values)
    ['the low as it is', 'blind gain']
    """
    folders, shown = _named_folders(outputs), progress or Silent()
    given = (on,) if isinstance(on, str) else tuple(on or ())
    judged = partial(
        _judge_set, perceptual=perceptual, brighter_lows=brighter_lows, workers=workers, shown=shown
    )
    if len(given) < 2 or not isinstance(given[0], str):
        one = given[0] if given and isinstance(given[0], str) else on
        return judged(*pairs_judged_on(one, split, low, normal, match), folders)
    sets: dict[str, Judged] = {}
    for text in given:
        name = str(text).partition("=")[0]
        if name in sets:
            raise ConfigError(f"--on {text}: a second set of that name")
        found = {of: path / name for of, path in folders.items() if (path / name).is_dir()}
        sets[name] = judged(*pairs_judged_on(text, split, low, normal, match), found, encoded=True)
    for method, path in folders.items():
        if not any(method in one.values for one in sets.values()):
            raise SourceError.at(path, f"has no folder of a set: {', '.join(sets)}")
    return Board(sets, list(folders))


def _judge_set(
    name: str,
    pairs: Sequence[tuple[str, str]],
    folders: Mapping[str, Path],
    *,
    encoded: bool = False,
    perceptual: bool,
    brighter_lows: bool,
    workers: int | None,
    shown: Progress,
) -> Judged:
    """Judge outputs for one set; encoded: whether the blind gain of encoded values is judged."""
    keys = _keys([one for one, _ in pairs])
    files = [{"low": Path(one), "normal": Path(other)} for one, other in pairs]
    own_rows = (IDENTITY, BLIND, ENCODED) if encoded else (IDENTITY, BLIND)
    notes = [ABOUT_BLIND, ABOUT_ENCODED][: len(own_rows) - 1]
    for method, folder in folders.items():
        found, unused = _outputs_of_pairs(folder, pairs, keys)
        for own, path in zip(files, found, strict=True):
            own[method] = path
        if unused:
            notes.append(f"{folder}: {unused:,} other images are not of {name}")
    warn_of_few_bits(name, *zip(*pairs, strict=True))
    for method, folder in folders.items():
        warn_of_few_bits(folder, [one[method] for one in files])
    shown.stage("comparing", len(files))
    engine = local_engine(workers)
    threads = max(1, engine.workers // len(files))
    made = list(engine.map(partial(_judge_pair, dict(ADDED), encoded, threads), files, shown.at))
    if not brighter_lows:
        refuse_swapped(name, [one.means for one in made], [one["low"] for one in files])
    for number, method in enumerate((IDENTITY, *folders)):
        both = zip(keys, made, strict=True)
        others = those_told({key: one.mismatches[number] for key, one in both})
        said = "" if method == IDENTITY else f"{method} as low: "
        notes += [said + mismatch_line(others, len(keys))] if others else []
    measures, lacking = metrics.perceptual_measures() if perceptual else ({}, [])
    notes += [f"{name}: {ALL_LABELS[name]}" for name in ADDED]
    notes += [*lacking, *(metrics.ABOUT[name] for name in measures)]
    values = np.array([one.values for one in made])
    if measures:
        more = [
            [[m(*two) for m in measures.values()] for _, *two in _images_of_rows(own, encoded)]
            for own in files
        ]
        values = np.concatenate([values, np.array(more)], axis=2)
    return Judged(
        name,
        (*COLUMNS, *ADDED, *measures),
        {method: values[:, i] for i, method in enumerate((*own_rows, *folders))},
        keys,
        _scenes_of_pairs(pairs, made),
        files,
        tuple(notes),
    )


class _Made(NamedTuple):
    """Figures of a pair.

    means: see `brightness`.
    mismatches: of the low and of each output, see `mismatch`.
    """

    values: list[list[float]]
    means: tuple[float, float]
    mismatches: list[str]
    look: Look


def _judge_pair(
    added: Mapping[str, Statistic], encoded: bool, threads: int, own: dict[str, Path]
) -> _Made:
    """Judge a pair, by so many threads.

    added: statistics that are measured, too, of images of 8 bits.
    """
    values, mismatches = [], list[str]()
    known: list[tuple[metrics.Values | None, tuple[float, float]]] = []  # of the low's levels
    for name, image, normal in _images_of_rows(own, encoded, threads):
        gains = metrics.one_gain, metrics.gt_mean
        each = (image, *(gain(image, normal, threads) for gain in gains))
        if name not in (BLIND, ENCODED):
            known, levels = [], int(image.samples.max()) + 1
        # Brightening that cuts nothing leaves the low's best gain what it was.
        kept = [
            next((had for table, had in known if _equal_tables(one.table, table, levels)), None)
            for one in each
        ]
        new = [one for one, had in zip(each, kept, strict=True) if had is None]
        fresh = iter(metrics.measure(new, normal, threads) if new else ())
        found = [had or next(fresh) for had in kept]
        known += [(one.table, figures) for one, figures in zip(each, found, strict=True)]
        values.append([figure for both in found for figure in both])
        for measure in added.values():
            values[-1].append(float(measure(image.rounded(), normal.rounded())))
        if name not in (BLIND, ENCODED):  # which show what the low does
            seen = image.levels(), normal.levels()
            if name == "low":
                means, look = brightness(*seen), look_at(seen[1])
            mismatches.append(mismatch(*seen))
            del seen
        del image, each, new  # before the next one is read
    count()
    return _Made(values, means, mismatches, look)


def _equal_tables(one: metrics.Values | None, other: metrics.Values | None, levels: int) -> bool:
    """Return whether two tables have the same values of so many levels, but for rounding."""
    if one is None or other is None:
        return False
    return bool(np.abs(one[:levels] - other[:levels]).max() < 1e-9)


def _images_of_rows(
    own: dict[str, Path], encoded: bool, threads: int = 1
) -> Iterator[tuple[str, metrics.Image, metrics.Image]]:
    """Yield each method, what it makes of a low, one after the other, and the normal."""
    first, *others = (name for name in own if name != "normal")
    with ThreadPoolExecutor(min(threads, 2)) as pool:  # more at once would take too much memory
        normal, image = pool.map(read_image, (own["normal"], own[first]))
    shape = normal.samples.shape
    if min(shape[:2]) < metrics.SMALLEST:
        raise SourceError(f"{own['normal']}: SSIM needs {metrics.SMALLEST} pixels of a side")
    for name in (first, *others):
        if name != first:
            image = read_image(own[name])
        if image.samples.shape != shape:
            sizes = " and ".join(f"{w} x {h}" for h, w, _ in (image.samples.shape, shape))
            raise SourceError(
                f"{own[name]}, {own['normal']}: differ in size: {sizes}; nothing is resized here",
                path=own[name],
            )
        yield name, image, normal
        if name == "low":
            yield BLIND, metrics.blind_gain(image), normal
            if encoded:
                yield ENCODED, metrics.blind_gain(image, encoded=True), normal
        del image


def read_image(path: Path) -> metrics.Image:
    """Read an image at its own depth, as trainers do: by its pixels, whatever its colour profile.

    Raises SourceError when it cannot be read.
    """
    try:
        pixels = decode_at_depth(read_regular(path, byte_limit()))
    except OSError as error:
        raise SourceError.at(path, error.strerror or str(error)) from error
    except ImageRefused as refusal:
        raise SourceError.at(path, refusal.detail) from None
    return metrics.image_of(pixels)


def pairs_judged_on(
    on: Any,
    split: str | None = None,
    low: str | Path | None = None,
    normal: str | Path | None = None,
    match: Match | None = None,
) -> tuple[str, Sequence[tuple[str, str]]]:
    """Return what the pairs that are judged on are called, and them."""
    on = None if on == () else on
    if (on is None) == (low is None) or (low is None) != (normal is None):
        raise ConfigError(
            "what to judge on: give a real set, --on NAME=FOLDER, or folders of lows and of their"
            " normals, --low and --normal"
        )
    if low is not None and normal is not None:
        return str(low), list_pairs(low, normal, match)
    if isinstance(on, str):
        name, _, folder = on.partition("=")
        lows, normals = Path(folder) / "low", Path(folder) / "normal"
        if folder and name not in set_names():
            if lows.is_dir() and normals.is_dir():
                return name, list_pairs(lows, normals, match)
            if not Path(folder).is_dir():
                raise SourceError.at(folder, "not a folder")
    pairs = real_named(on, split, "test") if isinstance(on, str) else on
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ConfigError(
            f"{on if isinstance(on, str) else 'the list'}: has no normals to judge by"
        )
    return f"{pairs.name}, {pairs.split}" if isinstance(pairs, RealSet) else "list of pairs", pairs


def _named_folders(
    outputs: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
) -> dict[str, Path]:
    if isinstance(outputs, Mapping):
        named = [(str(name), Path(folder)) for name, folder in outputs.items()]
    else:
        given = [outputs] if isinstance(outputs, str | Path) else outputs
        named = []
        for one in given:
            name, there, folder = str(one).partition("=")
            whole = isinstance(one, Path) or not there or Path(one).is_dir()
            named.append((Path(one).name or str(one), Path(one)) if whole else (name, Path(folder)))
        named = _named_apart(named)
    twice = [name for name, times in Counter(name for name, _ in named).items() if times > 1]
    twice += {*_OWN} & {name for name, _ in named}
    if twice:
        raise ConfigError(
            f"{twice[0]}: two rows of the table are called so; name what you judge: NAME=FOLDER"
        )
    return dict(named)


def _named_apart(named: Sequence[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Name folders that are called alike, or as gloam's own rows are, by more of their paths."""
    held = Counter([*(name for name, _ in named), *_OWN])
    made = []
    for name, folder in named:
        parts, depth = folder.absolute().parts, 1
        while held[name] > 1 and name == "/".join(parts[-depth:]) and depth < len(parts) - 1:
            depth += 1
            name = "/".join(parts[-depth:])
            held[name] += sum("/".join(one.absolute().parts[-depth:]) == name for _, one in named)
        made.append((name, folder))
    return made


def _keys(paths: Sequence[str], least: int = 1) -> list[str]:
    """Return the shortest end of each path, of so many names, without suffix, that none shares."""
    parts = [normalize_name(str(Path(path).with_suffix(""))).split("/") for path in paths]
    for depth in range(least, max(least, *map(len, parts)) + 1):
        keys = ["/".join(one[-depth:]) for one in parts]
        if len(set(keys)) == len(keys):
            return keys
    raise SourceError(f"{paths[0]}: two lows have the same path but for the suffix")


def _paths_below(paths: Sequence[str]) -> list[str]:
    """Return each path from the folder on that holds all, without suffix."""
    root = Path(os.path.commonpath([Path(path).parent for path in paths]))
    return [normalize_name(str(Path(path).relative_to(root).with_suffix(""))) for path in paths]


def _outputs_of_pairs(
    folder: Path, pairs: Sequence[tuple[str, str]], keys: Sequence[str]
) -> tuple[list[Path], int]:
    """Find the output of each pair, and how many other images there are.

    They are called as the lows are, or as the normals, if there is one low of each.
    """
    files = image_files(folder)
    lows, normals = zip(*pairs, strict=True)
    depth = 1 + max(name.count("/") for name in files)  # of folders in folders, as lows may have
    sides = [lows, normals] if len(set(normals)) == len(normals) else [lows]
    tails = (_keys(side, least) for side in sides[::-1] for least in (1, depth))
    for names in (keys, *tails, *map(_paths_below, sides)):
        found = [files[name] for name in names if name in files]
        if names and len(found) == len(pairs):
            return found, len(files) - len(found)
    missing = [key for key in keys if key not in files]
    raise SourceError.at(
        folder,
        f"{len(missing):,} of {len(pairs):,} outputs are missing, such as {missing[0]};"
        " name each output like its low or its normal",
    )


def _scenes_of_pairs(pairs: Sequence[tuple[str, str]], made: list[_Made]) -> npt.NDArray[np.int64]:
    """Return the numbers of the scenes: the set's own, of which those with twins are one."""
    alike = number_scenes([one.look for one in made])
    said = pairs.scenes if isinstance(pairs, RealSet) else [normal for _, normal in pairs]
    scenes, first = np.array(alike, np.int64), dict[str, int]()
    for place, name in enumerate(said):
        same = scenes[first.setdefault(name, place)], scenes[place]
        scenes[np.isin(scenes, same)] = min(same)
    return scenes
