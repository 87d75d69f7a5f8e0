"""The pairs of a unit, wherever their normals lie: in the set itself or, of a set of lows only, in the one it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ...errors import SetError
from ...storage.atomic import sha256_bytes
from .info import read_set
from .layout import read_pairs
from .receipts import read_receipt
from .sample import Pair


def joined_pairs(root: Path, layout: str, unit: str, normals: Path | None = None) -> Iterator[Pair]:
    """The pairs of a unit, in order, whole.

    Parameters
    ----------
    root : Path
    layout : str
    unit : str
    normals : Path, optional
        The set that holds the normals, as `setfile.check_normals` wants it.

    Raises
    ------
    SetError
        When a pair cannot be read, or a normal is not the one that its low was made from.
    """
    receipt = read_receipt(root, unit)
    if not receipt.pairs:
        return
    own = read_pairs(layout, root, unit, receipt.file_dicts())
    if normals is None:
        yield from own
        return
    others = read_pairs(read_set(normals).layout, normals, unit, read_receipt(normals, unit).file_dicts())
    for pair, other in zip(own, others, strict=False):  # a number that differs is found by verify_set
        if other.key != pair.key or sha256_bytes(other.normal) != pair.record["normal"]["sha256"]:
            raise SetError(f"{normals}: {unit}: {other.key}: its normal is not the one that {pair.key} was made from")
        yield replace(pair, normal=other.normal)
