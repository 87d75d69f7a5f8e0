"""Sources as users write them: `KIND=PATH[@LIST][:LIMIT]`, or the same in a build file."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, ValidationError, field_validator, model_validator

from ...errors import ConfigError
from ...storage.stores import in_store
from ...storage.untrusted import MOST_PAIRS, naming, outside, shown
from ..config import Frozen
from .collections import CLIPS, KINDS, LISTED_KINDS

_LIMIT = re.compile(r"^(.*):(\d+)$", re.DOTALL)


class Source(Frozen):
    """A collection of photographs.

    kind: how it is laid out, one of `KINDS`.
    path: folder, archive or pattern; "" for the embedded sample.
    name: prefix of its keys; the kind, if not given.
    limit: at most so many pairs are taken from it.
    listing: name of a list inside the source that says which images belong: `trainval` for VOC's
      `ImageSets/Main/trainval.txt`, `instances_train2017` for COCO's
      `annotations/instances_train2017.json`; "" takes all.
    frames, stride, step: for a source of clips; see their descriptions.
    """

    kind: str
    path: str = ""
    name: str = Field(default="", pattern=r"^([a-z0-9][a-z0-9_-]{0,23})?$")
    limit: int | None = Field(default=None, ge=1, le=MOST_PAIRS)
    listing: str = ""
    frames: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="Frames of each clip; clips= sources (folders of frames, video files) need it.",
    )
    stride: int = Field(
        default=1,
        ge=1,
        le=MOST_PAIRS,
        description="Frame step within a clip: 2 takes every second frame.",
    )
    step: int = Field(
        default=0,
        ge=0,
        le=MOST_PAIRS,
        description="Frames from the start of one clip to the start of the next; by default the"
        " clip's length, without overlap.",
    )

    @model_validator(mode="after")
    def _clips(self) -> Source:
        given = (self.frames, self.stride, self.step) != (0, 1, 0)
        if given and self.kind != CLIPS:
            raise ValueError(f"frames, stride and step are of {CLIPS} sources, not of {self.kind}")
        return self

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in KINDS:
            raise ValueError(f"unknown kind {shown(kind)}; known are {', '.join(sorted(KINDS))}")
        return kind

    @field_validator("listing")
    @classmethod
    def _inside_the_source(cls, listing: str) -> str:
        if listing and outside(listing):
            raise ValueError("names a file outside the source")
        return listing


def parse_source(text: str) -> Source:
    """Read `KIND=PATH[@LIST][:LIMIT]`, or `sample[:LIMIT]`.

    A path that exists as it is written is taken whole, even if it ends like a list or a limit.
    Raises ConfigError when the kind is unknown or the path is missing.

    Examples
    --------
    >>> source = parse_source("voc=VOCdevkit/VOC2012@trainval:1000")
    >>> source.kind, source.listing, source.limit
    ('voc', 'trainval', 1000)
    """
    kind, equals, path = text.partition("=")
    limit = None
    if not equals and (match := _LIMIT.match(kind)):
        kind, limit = match[1], int(match[2])
    if kind not in KINDS:
        if text and not equals and _exists(text):
            meant = f"{'folder' if Path(text).is_dir() else 'archive'}={text}"
            if (Path(text) / "set.json").is_file() and (Path(text) / "shards").is_dir():
                meant = f"webdataset='{text}/shards/*.tar', the normals of that set,"
            raise ConfigError(f"--source {text}: says no kind; {meant} is meant?")
        raise ConfigError(
            f"--source {text}: unknown kind {kind!r}; known are {', '.join(sorted(KINDS))}"
        )
    if not _exists(path) and (match := _LIMIT.match(path)):
        path, limit = match[1], int(match[2])
    listing = ""
    if kind in LISTED_KINDS and not _exists(path) and "@" in path:
        path, _, listing = path.rpartition("@")
    if kind != "sample" and not path:
        raise ConfigError(f"--source {text}: give the path, as in {kind}=DIR")
    if kind == "sample" and path:
        raise ConfigError(
            f"--source {text}: sample takes no path; for photographs of your own write"
            f" folder={path}"
        )
    if limit == 0:
        raise ConfigError(f"--source {text}: a limit of 0 takes nothing; leave the source out")
    with naming(f"--source {text}", ValidationError, kind=ConfigError):
        return Source(kind=kind, path=path, limit=limit, listing=listing)


def _exists(path: str) -> bool:
    """Return whether a path is there as it is written; of addresses none is asked for."""
    return not in_store(path) and Path(path).exists()


def name_sources(sources: list[Source]) -> list[Source]:
    """Give every source a name of its own: two folders become `folder` and `folder-2`.

    Raises ConfigError when two sources were given the same name.
    """
    named: list[Source] = []
    taken = {source.name for source in sources if source.name}
    if len(taken) < sum(bool(source.name) for source in sources):
        raise ConfigError("sources: two of them have the same name")
    for source in sources:
        name, number = source.name or source.kind, 1
        while not source.name and name in taken:
            number += 1
            name = f"{source.kind}-{number}"
        taken.add(name)
        named.append(source.model_copy(update={"name": name}))
    return named
