"""A finished set as one object: facts, units, pairs, records, tables, wherever normals lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...engines.engine import Engine, check_paths
from ...errors import SetError
from ...storage.stores import as_path
from ...storage.untrusted import inside, naming, read_regular
from ..selection.plan import SPLITS
from . import info
from .layouts.layout import split_of
from .sample import Sample
from .tables import read_checked
from .units import Unit

if TYPE_CHECKING:
    from .web_pipeline import PairPipeline

TABLES = {
    file.partition(".")[0]: file for file in (info.PAIRS, info.PLAN, info.CANDIDATES, info.REFUSED)
}


class PairSet:
    """A finished set; see `open_set`.

    Examples
    --------
    >>> import gloam
    >>> pairs = gloam.open_set("SET")
    >>> pairs.counts
    {'train': 4, 'val': 2}
    >>> pair = next(pairs.pairs("val"))
    >>> low, normal = pair.pixels()
    >>> low.shape == normal.shape
    True
    >>> pair.record["draw"]["model"]
    'camera'
    """

    def __init__(self, root: str | Path, normals: str | Path | PairSet | None = None) -> None:
        self.root, self.info = info.find_set(root)
        given = normals.root if isinstance(normals, PairSet) else normals
        self.normals = None if given is None else as_path(given)
        self.normal_layout = self.info.layout
        """Layout of its normals, here or in that other set."""
        if normals is not None:
            self.normal_layout = info.check_normals(self.root, self.info, self.normals).layout

    @property
    def name(self) -> str:
        """Name of the set, from `set.json`."""
        return self.info.name

    @property
    def layout(self) -> str:
        """Layout of the set: "shards" or "files"."""
        return self.info.layout

    @property
    def lows_only(self) -> bool:
        """True if the normals are in another set, from which this one was made."""
        return self.info.build.lows_only

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of pairs of each split."""
        return {split: self.info.counts[split] for split in SPLITS if split in self.info.counts}

    @property
    def live(self) -> bool:
        """True if the set holds normals and draws only, and lows are made when they are read."""
        return self.info.build.request.output.low_codec == "none"

    @property
    def frames(self) -> int:
        """Number of frames of each clip; 0 for a set of images."""
        return self.info.build.request.frames

    def __len__(self) -> int:
        return sum(self.info.units.values())

    def __repr__(self) -> str:
        counts = ", ".join(f"{split} {count:,}" for split, count in self.counts.items())
        return f"<PairSet {self.root}: {counts}>"

    def units(self, split: str | None = None) -> list[Unit]:
        """List the units, or those of a split, in order."""
        return [
            Unit(self.root, self.layout, name, count, self.normals, self.normal_layout)
            for name, count in self.info.units.items()
            if split in (None, split_of(name))
        ]

    def records(self, split: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the records of all pairs, or of a split, in order, without their images."""
        for unit in self.units(split):
            yield from unit.records()

    def pairs(self, split: str | None = None) -> Iterator[Sample]:
        """Yield all pairs, or those of a split, in order; `Sample.pixels` gives their pixels.

        Raises SetError when a pair cannot be read, or the set holds lows only and was opened
        without its normals.
        """
        self.check_normals()
        for unit in self.units(split):
            yield from unit.pairs()

    def webdataset(self, split: str = "train", *, shuffle: int = 0, seed: int = 0) -> PairPipeline:
        """Make a pipeline of webdataset that reads the pairs of a split, decoded.

        Shards are split over the ranks of torch.distributed, then over the workers of a DataLoader;
        each of them reads whole shards. Any layout is read, at an address of a store too, and a set
        of lows only with its normals.

        Parameters
        ----------
        split : str
            "train", "val" or "test".
        shuffle : int
            Size of the buffer that pairs are drawn from at random, after shards were shuffled; 0
            keeps the order of the set. Give a DataLoader with workers `persistent_workers=True`:
            others start over with each epoch, and repeat the order of the first.
        seed : int
            Random seed of the order, equal on all ranks; each epoch has another order.

        Returns
        -------
        PairPipeline
            Gives dicts: "__key__" (str), "low" and "normal" (uint8 arrays (H, W, 3), RGB; of clips
            "low.000" and so on), "json" (the record, a dict), and other members as bytes. It goes
            on with `.map`, `.batched` and the like, as any pipeline of webdataset.

        Raises
        ------
        SetError
            When the set has no such split, or stores no lows; or, while it is read, when a pair
            cannot be read.

        Examples
        --------
        >>> import gloam
        >>> pipeline = gloam.open_set("SET").webdataset("train", shuffle=100, seed=1)
        >>> for pair in pipeline:
        ...     assert pair["low"].shape == pair["normal"].shape
        """
        if self.live:
            raise SetError.at(
                self.root,
                "holds no lows, but draws: PairLoader makes them, and gloam export"
                " SET NEW --low-codec png writes them",
            )
        self.check_normals()
        units = [unit for unit in self.units(split) if unit.count]
        if not units:
            raise SetError.at(
                self.root, f"split {split!r}: must be one of {', '.join(self.counts)}"
            )
        from .web_pipeline import web_pipeline  # it imports torch where that is installed

        return web_pipeline(units, shuffle, seed)

    def table(self, name: str) -> pa.Table:
        """Read a table of the set as Arrow: "pairs", "plan", "candidates" or "refused".

        Raises SetError when there is no such table, or it cannot be read.
        """
        if name not in TABLES:
            raise SetError.at(self.root, f"table {name!r}: must be one of {', '.join(TABLES)}")
        return read_checked(inside(self.root, TABLES[name]), keyless=name == "refused")

    @property
    def recipe_yaml(self) -> str:
        """Recipe of the lows, with all values."""
        path = inside(self.root, info.RECIPE)
        with naming(path, OSError, UnicodeDecodeError, what="cannot be read: "):
            return read_regular(path).decode("utf-8")

    def check_normals(self) -> None:
        """Raise SetError for a set of lows only that was opened without its normals."""
        info.check_normals(self.root, self.info, self.normals)

    def check_pass(self, engine: Engine, root: Path | None = None) -> None:
        """Check that an engine can read its pairs and, if one is given, write to another folder.

        Raises SetError when its normals are missing, or the folder is its own; ConfigError when a
        path is relative, and jobs run elsewhere.
        """
        check_paths(engine, self.root, self.normals, root)
        if root is not None:
            self.check_folder(root)
        self.check_normals()

    def check_folder(self, root: Path) -> None:
        """Raise SetError for a folder to write that is the set's own."""
        if root.resolve() == self.root.resolve():
            raise SetError.at(root, "is the set itself; give another folder")


def is_set(path: Path | PairSet) -> bool:
    """Return whether a folder or an address is a set, or one that is not finished."""
    if isinstance(path, PairSet):
        return True
    return (path / info.SET_FILE).is_file() or (path / info.WORK_FOLDER).is_dir()


def require_images(pairs: PairSet) -> PairSet:
    """Return a set of pairs of images; raise SetError for one of clips, which not all can take."""
    if pairs.frames:
        raise SetError.at(
            pairs.root,
            f"holds clips of {pairs.frames} frames, which this does not take yet;"
            " gloam export SET DIR --layout files gives folders of frames",
        )
    return pairs


def open_set(root: str | Path | PairSet, normals: str | Path | PairSet | None = None) -> PairSet:
    """Open a finished set.

    Parameters
    ----------
    root : str, Path or PairSet
        Its folder; a set that is open already is given back.
    normals : str, Path or PairSet, optional
        The set that a set of lows only was made from.

    Raises
    ------
    SetError
        When there is no set, it is not finished, or its `set.json` is not as it was written; or
        when the normals are not those of its origin.

    Examples
    --------
    >>> import gloam
    >>> pairs = gloam.open_set("SET")
    >>> len(pairs), pairs.table("pairs").num_rows
    (6, 6)
    """
    if isinstance(root, PairSet) and normals is None:
        return root
    return PairSet(root.root if isinstance(root, PairSet) else root, normals)
