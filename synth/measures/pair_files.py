"""Pairs as measures read them: of folders and lists, or made by a recipe; and a pass over them.

pairs_of_folders(lows, normals, most)     pairs of files, evenly spread
each_pair(job, pairs, engine)             a job on the pictures of each; results in order

A set's pairs are read unit by unit: `manifests.sets.units.each_unit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar

from ...engines.engine import Counted, Engine, ignore_progress
from ...engines.local import LocalEngine, count
from ...errors import SourceError
from ...manifests.images.decode import read_rgb
from ...manifests.sources.folders import image_pairs
from ..kernels.arrays import Pixels
from ..models import draw, render
from ..recipes.load import Recipe
from .columns import ADDED, Statistic

_GROUP = 16  # pairs a job, at most
_BEGINNING = 0.3  # seconds that it takes until processes work


@dataclass(frozen=True)
class PairFiles:
    """A low of a file, or what a recipe makes of a normal, and its normal."""

    key: str
    normal: Path | None
    low: Path | None = None  # None of what a recipe makes
    recipe: Recipe | None = None
    seed: int = 0
    paired: bool = True  # whether it is measured together with its normal

    def read(self) -> tuple[Pixels, Pixels | None]:
        """Return the low and its normal, or None.

        Raises SourceError when a file is damaged, or their sizes differ.
        """
        normal = None if self.normal is None else read_rgb(self.normal)
        if self.recipe is not None and normal is not None:
            low = render(normal, draw(self.recipe, self.seed, self.key))
        else:
            assert self.low is not None
            low = read_rgb(self.low)
            if normal is not None and normal.shape != low.shape:
                raise SourceError.at(
                    self.low,
                    f"is {low.shape[1]} x {low.shape[0]}, its normal"
                    f" {normal.shape[1]} x {normal.shape[0]}",
                )
        return low, normal if self.paired else None

    def darkened(self, recipe: Recipe, seed: int) -> PairFiles:
        """Return what a recipe makes of the normal, or of the only picture."""
        return replace(self, normal=self.normal or self.low, low=None, recipe=recipe, seed=seed)


def pairs_of_folders(lows: Path, normals: Path | None, most: int) -> list[PairFiles]:
    """List at most `most` pairs of two folders, or lows of one; see `image_pairs`."""
    paired = normals is not None
    return [
        PairFiles(key, normal, low, paired=paired)
        for key, low, normal in image_pairs(lows, normals, most)
    ]


class Readable(Protocol):
    """An object with pictures that jobs are given."""

    def read(self) -> tuple[Any, ...]:
        """Return the pictures. Raises SourceError when they are damaged."""


P = TypeVar("P", bound=Readable)
R = TypeVar("R")


def each_pair(
    job: Callable[..., R],
    pairs: Iterable[P],
    engine: Engine,
    at: Counted = ignore_progress,
    total: int | None = None,
) -> list[R | str]:
    """Run a job on each pair and its pictures; of what cannot be read, return the reason.

    job: a function of a module, of a pair and what its `read` returns. at: called with the number
    of pairs so far. total: number of pairs that are no sequence. Few are measured in this process,
    as others are no sooner there.
    """
    many = len(pairs) if isinstance(pairs, Sequence) else total or 1 << 30
    workers = getattr(engine, "workers", _GROUP)
    step = max(1, min(_GROUP, many // (4 * workers or 1)))
    left = iter(pairs)
    groups = iter(lambda: tuple(islice(left, step)), ())
    measured, found, begun = partial(_measured, job, dict(ADDED)), [], monotonic()
    if not engine.remote:
        engine.warm(job.__module__)
        for made in LocalEngine().map(measured, groups, at):
            found += made
            took = monotonic() - begun
            if took > _BEGINNING and took * (many / len(found) - 1) > 2 * _BEGINNING:
                break
    done, more = len(found), list(islice(groups, 1))
    if more:
        for made in engine.map(measured, chain(more, groups), lambda counted: at(done + counted)):
            found += made
    return found


def _measured(
    job: Callable[..., R], added: dict[str, Statistic], pairs: Sequence[P]
) -> list[R | str]:
    ADDED.update(added)  # which this process may not have
    made: list[R | str] = []
    for pair in pairs:
        try:
            pictures = pair.read()
        except SourceError as error:
            made.append(str(error))
        else:
            made.append(job(pair, *pictures))
        count()
    return made
