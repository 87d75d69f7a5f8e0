"""A set as a pipeline of webdataset: its shuffling and splitting, gloam's reading and decoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import webdataset

from ...errors import ImageRefused, SetError
from .sample import LOW, NORMAL, RECORD, Sample, ending

if TYPE_CHECKING:
    from .units import Unit


class PairPipeline(webdataset.DataPipeline, webdataset.FluidInterface):  # type: ignore[misc]
    """A pipeline of webdataset that goes on with `.map`, `.batched` and the like.

    `with` closes it, as it does a WebDataset.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def web_pipeline(units: list[Unit], shuffle: int, seed: int) -> PairPipeline:
    """Make the pipeline of `PairSet.webdataset` of a split's units."""
    shuffled = [webdataset.detshuffle(len(units), len(units), seed)] if shuffle else []
    buffered = [webdataset.detshuffle(shuffle, shuffle // 2, seed)] if shuffle else []
    return PairPipeline(
        webdataset.SimpleShardList([unit.name for unit in units]),
        *shuffled,
        webdataset.split_by_node,
        webdataset.split_by_worker,
        partial(_read_units, {unit.name: unit for unit in units}),
        *buffered,
        webdataset.map(partial(_decode_members, units[0].root)),
    )


def _read_units(units: dict[str, Unit], shards: Iterable[dict[str, str]]) -> Iterator[Sample]:
    for shard in shards:
        yield from units[shard["url"]].pairs()


def _decode_members(root: Path, sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = {"__key__": sample.key, RECORD: sample.record}
    for name, member in sample.members.items():
        if name.partition(".")[0] in (LOW, NORMAL):
            try:
                found[name] = sample.decoded(name)
            except ImageRefused as refusal:
                raise SetError(
                    f"{root}: {sample.key}: {name}: {refusal}; gloam verify says what was changed",
                    path=root,
                    key=sample.key,
                ) from refusal
        else:
            found[ending(name, member.suffix)] = member.data
    return found
