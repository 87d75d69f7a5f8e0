"""Rebuild a published set, byte for byte, from copies of its photographs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from ...engines.engine import Engine
from ...engines.local import local_engine
from ...errors import ConfigError, SetError
from ...manifests.sets.info import SET_FILE, SetInfo, read_note, read_set, write_note
from ...manifests.sets.workspace import prepare_output
from ...manifests.sources import Source, parse_source
from ...progress import Progress
from ...storage.atomic import atomic_write
from ...storage.stores import as_path
from ...storage.untrusted import opened
from ..building.build import Report, build_request
from ..building.request import Request
from ..recipes.load import recorded_recipe
from .unit_by_unit import FOLDER


def rebuild(
    published: str | Path,
    root: str | Path,
    sources: Iterable[str],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Report:
    """Make a published set again, or go on with it.

    Parameters
    ----------
    published : str or Path
        A folder that `publish` wrote, with or without pictures; or a set.
    root : str or Path
        New, empty, or begun by the same call.
    sources : iterable of str
        Places of the sources on this machine, as `coco=DIR` (by kind) or `NAME=DIR` (by the name
        that the set has for it); those of the sample need none.
    workers, progress, engine
        See `gloam.build`.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        When a source is missing, or is none of the set's.
    SourceError
        When a photograph is gone, or is another one.
    SetError
        When what was made differs from what was published, with the units that do.

    Examples
    --------
    >>> import gloam
    >>> gloam.rebuild("SET", "again", ["folder=photos"]).info.counts
    {'train': 4, 'val': 2, 'refused': 0}
    """
    published, root = as_path(published), as_path(root)
    if (published / FOLDER / SET_FILE).is_file():
        published = published / FOLDER
    info = read_set(published)
    if info.build.origin is not None:
        raise SetError.at(
            published,
            f"was made from another set, {info.build.origin['name']!r}, by gloam regenerate:"
            " rebuild that one, then regenerate it",
        )
    request = _request(info, list(sources), published)
    prepare_output(root)
    if read_note(root) is None:
        for name in info.build.planned_by:
            with opened(published, name) as source, atomic_write(root / name) as copy:
                shutil.copyfileobj(source, copy)
        write_note(root, info.build)
    report = build_request(request, root, progress=progress, engine=engine or local_engine(workers))
    _compare(info, report.info, root)
    return report


def _request(info: SetInfo, given: list[str], published: Path) -> Request:
    """Return the set's own request, with the sources where they lie here."""
    known = info.build.request
    found = [_place_of(source, given) for source in known.sources]
    for text in given:
        raise ConfigError(
            f"--source {text}: is not a source of the set; it has "
            + ", ".join(f"{one.name} ({one.kind})" for one in known.sources),
            value=text,
        )
    recipe = recorded_recipe(known.recipe, f"recipe of {published}")
    return Request(**{**dict(known), "sources": tuple(found), "recipe": recipe})


def _place_of(source: Source, given: list[str]) -> Source:
    """Find where a source of the set lies here, by its name or else by its kind."""
    for wanted in (source.name, source.kind):
        for text in given:
            name, equals, path = text.partition("=")
            if equals and name == wanted:
                given.remove(text)
                at = parse_source(f"{source.kind}={path}").path
                return source.model_copy(update={"path": at})
    if source.kind == "sample":
        return source
    raise ConfigError(
        f"--source is missing for {source.name}: give its path, as"
        f" --source {source.kind}={'FILE' if source.kind == 'archive' else 'DIR'}",
        key="source",
    )


def _compare(published: SetInfo, made: SetInfo, root: Path) -> None:
    if made.sha256 == published.sha256:
        return
    differ = sorted(name for name, one in published.files.items() if made.files.get(name) != one)
    raise SetError.at(
        root,
        f"is not what was published: {len(differ)} files differ, such as"
        f" {', '.join(differ[:3]) or 'set.json'}; photographs of the same size with other bytes,"
        " or other versions of libraries, make other pictures",
    )
