"""List the files and images below a folder."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ...errors import SourceError, visible
from ...storage.stores import Status, in_store, place
from ...storage.untrusted import naming, whole
from ..images.header import SUFFIXES
from ..images.npy import SUFFIX
from .matching import normalize_name

_SYSTEM_FOLDERS = frozenset({"__MACOSX", "@eaDir", "@Recycle", "#recycle", "$RECYCLE.BIN"})
_MOST_LINKS = 100_000
"""Links to folders that are followed in one folder: ImageNet-21k has 21,841 classes."""
HIDDEN = "hidden files"
"""Name under which files that `is_hidden` leaves out are counted."""


def is_hidden(path: str) -> bool:
    """Return whether a file is one that systems and tools leave among photographs.

    These are files in a folder whose name begins with a dot (`.ipynb_checkpoints`, `.git`,
    `.thumbnails`), in `__MACOSX`, `@eaDir`, `@Recycle`, `#recycle` or `$RECYCLE.BIN`; and files
    whose names begin with `._` (AppleDouble). The one rule of sources, archives inside archives,
    folders of pairs and of raw files.

    path: relative to the source, with "/" between folders.

    Examples
    --------
    >>> is_hidden("cat/._1.jpg"), is_hidden(".ipynb_checkpoints/1.jpg"), is_hidden("cat/.1.jpg")
    (True, True, False)
    """
    *folders, name = path.split("/")
    return name.startswith("._") or any(map(_is_hidden_folder, folders))


def _is_hidden_folder(name: str) -> bool:
    return name in _SYSTEM_FOLDERS or (name.startswith(".") and name not in (".", ".."))


def files_below(
    folder: Path, passed: Counter[str] | None = None
) -> Iterator[tuple[str, os.stat_result | Status]]:
    """Yield the regular files below a folder by relative path, each with its status.

    The files of a folder come first, then those below it, each in the order of their names. Links
    are followed, to folders too, but for those to a folder that they lie in.

    folder: on a disk or in a store.
    passed: counts, by kind, what is left out: see `is_hidden`; links that lead nowhere or in a
      circle; pipes and devices.

    Raises SourceError when a folder cannot be listed, or holds more than 100,000 links to folders.
    """
    passed = Counter() if passed is None else passed
    facts = place(folder).facts()
    if facts is None:
        yield from _walk_files(folder, passed)
        return
    for name in sorted(facts, key=_walk_order):
        if is_hidden(name):
            passed[HIDDEN] += 1
        else:
            yield name, facts[name]


def _walk_order(name: str) -> tuple[tuple[bool, str], ...]:
    """Return what orders names as `os.walk` does: the files of a folder, then those below it."""
    *folders, file = name.split("/")
    return (*((True, folder) for folder in folders), (False, file))


def _walk_files(root: Path, passed: Counter[str]) -> Iterator[tuple[str, os.stat_result]]:
    links = 0
    for folder, folders, files in os.walk(root, onerror=_raise_unreadable, followlinks=True):
        kept = []
        for name in sorted(folders):
            path = os.path.join(folder, name)
            if _is_hidden_folder(name):
                passed["hidden folders"] += 1
                continue
            if os.path.islink(path):
                links += 1
                if _leads_back(path, root):
                    passed["links in a circle"] += 1
                    continue
            kept.append(name)
        if links > _MOST_LINKS:
            raise SourceError.at(
                root,
                f"holds more than {_MOST_LINKS:,} links to folders; give the folders that"
                " they lead to",
            )
        folders[:] = kept
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        prefix = "" if below == "." else f"{below}/"
        for name in sorted(files):
            if name.startswith("._"):
                passed[HIDDEN] += 1
                continue
            path = os.path.join(folder, name)
            try:
                status = os.stat(path)
            except OSError:  # or vanished between listing and looking: no longer of the source
                if os.path.islink(path):
                    passed["broken links"] += 1
                continue
            if stat.S_ISREG(status.st_mode):
                yield prefix + name, status
            else:
                passed["pipes and devices"] += 1


def _leads_back(link: str, root: Path) -> bool:
    """Return whether a link leads to a folder on the way to it, or to one that holds such."""
    target = os.path.realpath(link)
    above = os.path.dirname(link)
    while True:
        real = os.path.realpath(above)
        if os.path.commonpath([real, target]) == target:
            return True
        if len(above) <= len(str(root)):
            return False
        above = os.path.dirname(above)


def _raise_unreadable(error: OSError) -> None:
    raise SourceError.at(error.filename, error.strerror or str(error)) from error


def as_it_lies(folder: Path, name: str) -> Path:
    """Return the path of a list's line as the system writes its accents, should they differ."""
    path = folder / name
    if not name.isascii() and not path.exists():
        forms = (folder / unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
        return next((one for one in forms if one.exists()), path)
    return path


def images_below(folder: Path, npy: bool = False) -> list[Path]:
    """Return the images below a folder by their endings, in the order of their paths.

    Hidden files are left out (see `is_hidden`), and `.npy` files unless they are asked for. Raises
    SourceError when the folder cannot be listed.
    """
    files = (folder / name for name, _ in files_below(folder))
    known = {*SUFFIXES, SUFFIX} if npy else SUFFIXES
    return sorted(path for path in files if path.suffix.lower() in known)


def list_images(folder: Path, npy: bool = False) -> list[Path]:
    """List the images below a folder, with `npy` also those in `.npy` files; see `images_below`.

    Raises SourceError when there is no such folder, or no image in it.
    """
    with naming(folder, kind=SourceError):  # of a name that is too long, say
        there = folder.is_dir()
    if not there:
        what = "lies in a store: copy it to a folder" if in_store(folder) else "not a folder"
        raise SourceError.at(visible(folder), what)
    found = images_below(folder, npy)
    if not found:
        known = sorted({*SUFFIXES, SUFFIX} if npy else SUFFIXES)
        raise SourceError.at(folder, f"holds no images ({', '.join(known)})")
    return found


def image_files(folder: Path) -> dict[str, Path]:
    """List the images below a folder, those in `.npy` files too, in the order of their paths.

    Each is under its relative path without suffix, letters and their accents composed, as systems
    write them differently; see `images_below`. Raises SourceError when there is no such folder, no
    image in it, or two of one name.
    """
    found: dict[str, Path] = {}
    for path in list_images(folder, npy=True):
        name = normalize_name(path.relative_to(folder).with_suffix("").as_posix())
        if name in found:
            raise SourceError.at(
                path,
                f"{found[name].name} has the same name but for its suffix; which of the"
                " two is meant?",
            )
        found[name] = path
    return found


def image_pairs(lows: Path, normals: Path | None, most: int) -> list[tuple[str, Path, Path | None]]:
    """List at most `most` images of a folder, evenly spread, each with its partner in another.

    lows, normals: partners have equal names in both; suffixes may differ. Without `normals` they
      have none.

    Returns list of (name, low, normal or None). Raises SourceError when there is nothing in a
    folder, an image has no partner, or the folder of lows holds, or is, that of the normals.
    """
    most = whole("pairs", most, 1)
    files = image_files(lows)
    if normals is None and (named := folders_of_pairs(lows)):
        raise SourceError.at(lows, f"holds lows and normals; name both: {named[0]} {named[1]}")
    if normals is not None and lows.resolve() == normals.resolve():
        raise SourceError.at(lows, "is named for the lows and for their normals")
    partners: dict[str, Path] = {} if normals is None else image_files(normals)
    if normals is not None:
        check_partners(lows, files, normals, partners)
    names = list(files)
    chosen = (names[i] for i in evenly(len(names), most))
    return [(name, files[name], partners.get(name)) for name in chosen]


def evenly(count: int, most: int) -> list[int]:
    """Return at most so many of `count` indices, evenly spread, in order."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int)).tolist()


def folders_of_pairs(folder: Path) -> tuple[Path, Path] | None:
    """Return a folder's own folders of lows and of normals, if it has both, on this machine."""
    low, normals = folder / "low", [folder / "normal", folder / "high"]
    found = [one for one in normals if os.path.isdir(low) and os.path.isdir(one)]
    return (low, found[0]) if found else None


def check_partners(
    lows: Path, files: Mapping[str, Path], normals: Path, partners: Mapping[str, Path]
) -> None:
    """Check that two folders, as `image_files` lists them, have the same names.

    Raises SourceError with a file that has no partner, its folder, and how many there are.
    """
    alone = sorted(files.keys() ^ partners.keys())
    if not alone:
        return
    here, there, held = (lows, normals, files) if alone[0] in files else (normals, lows, partners)
    name, more = held[alone[0]].relative_to(here), ""
    if len(alone) > 1:
        first = sum(one in files for one in alone)
        more = f" (without one: {first:,} in {lows}, {len(alone) - first:,} in {normals})"
    raise SourceError(
        f"{here}: {name} has no partner of that name in {there}{more}; low and normal have equal"
        " names but for the suffix"
    )
