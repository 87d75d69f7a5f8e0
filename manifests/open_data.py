"""The data of a loader, opened: a set; or lists, and what names them: folders, a real set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LoaderError, SourceError
from ..storage.stores import as_path
from ..storage.untrusted import read_regular
from .images.header import SUFFIXES
from .real.real import RealSet, real
from .real.rules import Match, match_files
from .sets.info import SET_FILE
from .sets.pair_set import PairSet, open_set
from .sources.folders import as_it_lies, check_partners, image_files, list_images
from .sources.matching import normalize_name

_LABELLED = re.compile(r"(.*\S)\s+([+-]?[0-9]{1,9})", re.DOTALL)
_SUFFIXES = "|".join(map(re.escape, sorted(SUFFIXES, reverse=True)))
_BEHIND = re.compile(rf"(?:{_SUFFIXES})[\s,;]+([^/]+)\Z", re.IGNORECASE)
"""What stands behind the suffix of an image."""


def open_data(data: Any, normals: str | Path | None) -> PairSet | Sequence[Any]:
    """Open the set that a loader was given, or return the list.

    Raises GloamError when it cannot be opened; LoaderError when `normals` goes with a list, or it
    is neither a set nor a list.
    """
    if isinstance(data, PairSet | str | Path):
        return refuse_clips(open_set(data, normals))
    listed = as_list(data)
    if normals is not None:
        raise LoaderError("normals= goes with a set of lows only, not with a list of pairs")
    return listed


def as_list(data: Any) -> Sequence[Any]:
    """Return a list of pairs or photographs as it is; raise LoaderError for what is none."""
    if not hasattr(data, "__getitem__") or isinstance(data, Mapping):  # an array is a list, too
        raise LoaderError(f"data={data!r}: must be the folder of a set, or a list of pairs")
    listed: Sequence[Any] = data
    return listed


def refuse_clips(pairs: PairSet) -> PairSet:
    """Return a set of pairs; raise LoaderError for one of clips."""
    if pairs.frames:
        why = f"holds clips of {pairs.frames} frames: ClipLoader reads them"
        raise LoaderError.at(pairs.root, why)
    return pairs


def require_clips(pairs: PairSet) -> PairSet:
    """Return a set of clips; raise LoaderError for one of pairs, or that clips are not read of."""
    if not pairs.frames:
        raise LoaderError.at(pairs.root, "holds pairs of images: PairLoader reads them")
    if pairs.layout != "shards" or pairs.lows_only:
        mend = f"gloam export {pairs.root} DIR --layout shards"
        raise LoaderError.at(
            pairs.root,
            "clips are read of sets that hold lows and normals, as shards: "
            + ("regenerate it without --low-only" if pairs.lows_only else mend),
        )
    return pairs


def list_pairs(
    lows: str | Path, normals: str | Path | None, match: Match | None = None
) -> list[Any]:
    """Return the pairs, or the photographs, of `pairs_in`, without a look at any."""
    if match is not None and normals is None:
        raise LoaderError("match= goes with two folders")
    folders = [Path(folder) for folder in (lows, normals) if folder is not None]
    try:
        if match is not None and normals is not None:
            first, second = (
                {
                    normalize_name(path.relative_to(folder).as_posix()): str(path)
                    for path in list_images(folder, npy=True)
                }
                for folder in folders
            )
            return match_files(first, second, match)
        found = [image_files(folder) for folder in folders]
        if len(found) == 2:
            check_partners(folders[0], found[0], folders[1], found[1])
    except SourceError as error:
        raise LoaderError(str(error)) from None
    if normals is None:
        return [str(path) for path in found[0].values()]
    return [(str(found[0][name]), str(found[1][name])) for name in found[0]]


def source_of(data: Any) -> Any:
    """Return the source of a component: a set, or lists; of unpaired ones (dark, bright).

    Raises GloamError when folders do not hold what they should.
    """
    if not isinstance(data, Mapping):
        return data
    kinds = (str, Path, list, tuple) if set(data) == {"dark", "bright"} else (str, Path)
    if not all(isinstance(one, kinds) for one in data.values()):
        raise LoaderError("data: its values must be paths and names")
    if frozenset(data) not in _KINDS:
        raise LoaderError(
            "data: must be a set, a list, or {low:, normal:}, {photos:}, {dark:, bright:}, {real:,"
            " dir:, split:}"
        )
    return _KINDS[frozenset(data)](data)


def _photos(data: str | Path | Sequence[Any]) -> Sequence[Any]:
    return list_pairs(data, None) if isinstance(data, str | Path) else data


_KINDS: dict[frozenset[str], Callable[[Mapping[str, Any]], Any]] = {
    frozenset(("low", "normal")): lambda one: list_pairs(one["low"], one["normal"]),
    frozenset(("photos",)): lambda one: _photos(one["photos"]),
    frozenset(("dark", "bright")): lambda one: (_photos(one["dark"]), _photos(one["bright"])),
    frozenset(("real", "dir")): lambda one: real(one["real"], one["dir"]),
    frozenset(("real", "dir", "split")): lambda one: real(one["real"], one["dir"], one["split"]),
}
"""Functions that list the samples which a dict names, by its keys."""


def unpaired_lists(data: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the dark and the bright pictures of an unpaired component.

    Raises GloamError when they are no lists.
    """
    source = source_of(data)
    if not isinstance(source, tuple | list) or len(source) != 2:
        raise LoaderError("unpaired pictures are two lists: data=(DARK, BRIGHT)")
    if any(isinstance(one, str | bytes) or not isinstance(one, Sequence) for one in source):
        raise LoaderError("unpaired pictures are lists of paths or bytes, or folders: {dark: DIR}")
    return source[0], source[1]


def is_live(data: PairSet | Sequence[Any], live: bool | None, **options: object) -> bool:
    """Find out whether a loader makes lows.

    live: by default sets that hold no lows are live.
    **options: those that go with live lows alone; None where they were not given.

    Raises LoaderError when the set holds no lows and `live` is False, or an option goes with live
    lows alone.
    """
    if live is None:
        live = isinstance(data, PairSet) and data.live
    if isinstance(data, PairSet) and data.live and not live:
        raise LoaderError(
            f"{data.root}: holds no lows, as it was built with --low-codec none: leave out"
            " live=False, or gloam export it",
            path=data.root,
        )
    for name, value in options.items():
        if value is not None and not live:
            raise LoaderError(f"{name} goes with live=True: the lows of the set are stored")
    return live


def open_images(data: PairSet | str | Path | Sequence[str | Path]) -> ImageFiles | PairSet:
    """Open what a loader of images was given: a set, or files: a folder, a list of one's own.

    Raises GloamError when it cannot be opened.
    """
    if isinstance(data, PairSet):
        return refuse_clips(data)
    if not isinstance(data, str | Path):
        return images_given(data)
    path = as_path(data)
    of_folder = path.is_dir()
    if not of_folder and not path.is_file():
        raise LoaderError(f"{data}: no such folder, list or set")
    if (path / SET_FILE).is_file():
        return refuse_clips(open_set(path))
    return images_in(path) if of_folder else images_listed(path)


class ImageFiles(NamedTuple):
    """Image files and their classes.

    labels: numbers of their classes; -1 without.
    names: those of the classes, where they have some.
    """

    paths: list[str]
    labels: list[int]
    names: list[str]


def images_in(folder: Path) -> ImageFiles:
    """List a folder of class folders: classes are its folders, in order, as ImageFolder has them.

    Images that lie in the folder itself, all of them, have no classes.

    Raises LoaderError when there are no images.
    """
    try:
        found = list_images(folder)
    except SourceError as error:
        raise LoaderError(str(error), path=folder) from None
    parts = [path.relative_to(folder).parts for path in found]
    names = sorted({one[0] for one in parts if len(one) > 1})
    numbers = {name: number for number, name in enumerate(names)}
    labels = [numbers[one[0]] if len(one) > 1 else -1 for one in parts]
    return ImageFiles(list(map(str, found)), labels, names)


def images_given(paths: Sequence[str | Path]) -> ImageFiles:
    """Take a list of paths; of a `RealSet` its classes are known.

    Raises LoaderError when it holds something else.
    """
    for number, path in enumerate(paths):
        if not isinstance(path, str | Path):
            raise LoaderError(f"entry {number} of the list is not the path of an image")
    classes = paths.classes if isinstance(paths, RealSet) else [""] * len(paths)
    names = sorted(set(classes) - {""})
    numbers = {"": -1} | {name: number for number, name in enumerate(names)}
    return ImageFiles([str(path) for path in paths], [numbers[name] for name in classes], names)


def images_listed(path: Path) -> ImageFiles:
    """Read a list of `path label` or of `path` lines, relative to the list's folder.

    Blanks or tabs stand between both, as many as there are; labels are whole numbers.

    Raises LoaderError when it cannot be read, has no lines, or a line has no such label.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LoaderError(f"{path}: cannot be read: {error}", path=path) from error
    paths, labels = [], []
    for number, line in enumerate(re.split("\r\n?|\n", text), start=1):
        name, label = line.strip(), -1
        if parts := _LABELLED.fullmatch(name):
            name, label = parts[1], int(parts[2])
        if not name:
            continue
        if behind := _BEHIND.search(name):
            raise LoaderError(
                f"{path}:{number}: {behind[1]!r} behind the path is no label; write a path, or a"
                " path and one whole number",
                path=path,
            )
        paths.append(str(as_it_lies(path.parent, name)))
        labels.append(label)
    if not paths:
        raise LoaderError(f"{path}: names no images", path=path)
    return ImageFiles(paths, labels, [])
