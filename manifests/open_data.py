"""The data of a loader, opened: a set; or lists, and what names them: folders, a real set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import LoaderError, SourceError
from .real.real import real
from .real.rules import Match, match_files
from .sets.pair_set import PairSet, open_set
from .sources.folders import check_partners, image_files, list_images
from .sources.matching import normalize_name


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
