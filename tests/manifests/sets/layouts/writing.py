"""Shards that several tests write."""

from __future__ import annotations

from pathlib import Path

from gloam.manifests.sets.layouts.shard_tar import ShardWriter
from gloam.manifests.sets.receipts import Receipt, UnitFile
from gloam.manifests.sets.sample import Sample
from gloam.storage.untrusted import FORMAT

UNIT = "train-000003"
RECEIPT = Receipt(format=FORMAT, unit=UNIT, fingerprint="", pairs=7, refused=[], files=[])
"""Of the shard that these tests write: which one it is, as readers ask no more."""


def write_shard(root: Path, pairs: list[Sample], unit: str = UNIT) -> list[UnitFile]:
    with ShardWriter(root, unit) as writer:
        for pair in pairs:
            writer.add(pair)
        return writer.close()
