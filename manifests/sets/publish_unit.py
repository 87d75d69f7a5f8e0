"""Publishing a unit: its samples are written, then its receipt, which says that it is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from .layouts import layout_named
from .receipts import Receipt, RefusedPair, UnitFile, write_receipt
from .sample import FORMAT, Sample


def publish_unit(
    root: Path,
    layout: str,
    unit: str,
    fingerprint: str,
    samples: Iterable[Sample],
    refused: Sequence[RefusedPair] = (),
) -> Receipt:
    """Write a unit, then its receipt.

    Parameters
    ----------
    root : Path
        Of the set.
    layout : str
        "shards" or "files".
    unit : str
        Such as `train-000000`.
    fingerprint : str
        Of the build.
    samples : iterable of Sample
        Taken one by one; what it raises leaves nothing published. Without any, the unit has no
        files.
    refused : sequence of RefusedPair
        Looked at after the samples.
    """
    made = 0
    with layout_named(layout).writer(root, unit) as out:
        for sample in samples:
            out.add(sample)
            made += 1
        files = out.close() if made else {}
    receipt = Receipt(
        format=FORMAT,
        unit=unit,
        fingerprint=fingerprint,
        pairs=made,
        refused=list(refused),
        files=[UnitFile(path=path, **facts) for path, facts in files.items()],
    )
    write_receipt(root, receipt)
    return receipt
