"""Images with classes, of a folder of class folders or of a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import LoaderError, SourceError
from ..manifests.images.header import SUFFIXES
from ..manifests.real.real import RealSet
from ..manifests.sources.folders import as_it_lies, list_images
from ..storage.untrusted import read_regular

_LABELLED = re.compile(r"(.*\S)\s+([+-]?[0-9]{1,9})", re.DOTALL)
_SUFFIXES = "|".join(map(re.escape, sorted(SUFFIXES, reverse=True)))
_BEHIND = re.compile(rf"(?:{_SUFFIXES})[\s,;]+([^/]+)\Z", re.IGNORECASE)
"""What stands behind the suffix of an image."""


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
        paths.append(str(as_it_lies(path.parent / name)))
        labels.append(label)
    if not paths:
        raise LoaderError(f"{path}: names no images", path=path)
    return ImageFiles(paths, labels, [])
