"""DALI pipelines over pairs, for PairLoader and for people who compose their own.

Each is a `@pipeline_def` function: give it `batch_size`, `num_threads`, `device_id` (None for the
CPU) and `seed` besides its own arguments. All yield (low, normal, label): the label is the number
that a file list or an external source gives the pair, or the pair's JSON record, so that outputs
can be proven to be in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from nvidia import dali

from ...errors import LoaderError
from ...manifests.sets.layouts.shard_index import INDEX_VERSION
from ..options import Options
from .transforms.operators import (
    BATCHES,
    Crops,
    cropped,
    decoded,
    decoded_by_two,
    fn,
    plain,
    processed,
    room_for,
    transform,
    types,
)

pipeline_def: Any = dali.pipeline_def

SIDE_BY_SIDE: dict[str, Any] = {"concurrency": dali.OperatorConcurrency.FULL}
"""For pipelines on a GPU: lows and normals are decoded side by side, and one batch while the last
one is resized. On an H200 that takes the hardware decoders from 80 to nearly 100 % of their time
(benchmarks/results/loaders-h200.txt).

Each backend keeps its one stream. With a stream for each operator those behind a decoder share its
own; DALI hands it the memory that it has on that stream without waiting, and tells nvImageCodec not
to wait either: where a GPU is busy with training, images are then overwritten by the next batch's
before they are resized (DALI 2.4: 1 to 6 % of batches, benchmarks/results/busy-h200.txt)."""
DECODERS_ALONE = SIDE_BY_SIDE | {"stream_policy": dali.StreamPolicy.PER_OPERATOR}
"""For those whose decoders have no operators on a GPU behind them, and whose outputs stay until all
that reads them is done; see `live.stream_keepalive`."""

LOW, NORMAL = "low.png;low.jpg", "normal.jpg;normal.png"


class RankPart(NamedTuple):
    """A rank's part of the samples, and the seed that DALI's readers shuffle by."""

    rank: int = 0
    world: int = 1
    shuffle_seed: int = 0


ALL = RankPart()


@pipeline_def(enable_conditionals=True)
def webdataset_pairs(
    paths: Sequence[str],
    index_paths: Sequence[str],
    options: Options,
    part: RankPart = ALL,
    *,
    normals: tuple[Sequence[str], Sequence[str]] | None = None,
    crops: Crops | None = None,
) -> tuple[Any, ...]:
    """Read the pairs of a set's shards, with their indexes.

    paths, index_paths: tars and their indexes, all local or all on s3.
    normals: two sequences of str; tars and indexes of the set that holds the normals, where `paths`
      are those of a set of lows only: two readers then go in step, and the records of both are
      yielded.
    crops: see `Crops`; needed where the options crop or flip.

    Raises LoaderError when local and s3 paths are mixed, which would end the process, or their
    numbers differ.
    """
    remote = {path.startswith("s3://") for path in (*paths, *(normals[0] if normals else ()))}
    if len(remote) > 1:
        raise LoaderError(
            "the shards mix local and s3 paths, which DALI cannot read together; stage the s3 part"
            " first"
        )
    if len(paths) != len(index_paths):
        raise LoaderError(
            f"{len(paths)} shards, {len(index_paths)} indexes: each shard needs its own"
        )
    here = shard_reader(paths, index_paths, options, part)
    if normals is not None:
        there = shard_reader(*normals, options, part) | {"name": None}
        record, low = fn.readers.webdataset(ext=["json", LOW], **here)
        other, normal = fn.readers.webdataset(ext=["json", NORMAL], **there)
        images = processed([low, normal], options, crops)
        return (*images[:2], fn.pad(record), fn.pad(other), *images[2:])
    record, low, normal = fn.readers.webdataset(ext=["json", LOW, NORMAL], **here)
    images = processed([low, normal], options, crops)
    named = options.keys or options.give
    label = fn.pad(record) if named else fn.constant(idata=0, dtype=types.INT32)
    return (*images[:2], label, *images[2:])


@pipeline_def(enable_conditionals=True)
def file_pairs(
    file_root: str,
    low_list: str,
    normal_list: str,
    options: Options,
    part: RankPart = ALL,
    *,
    normal_root: str = "",
    crops: Crops | None = None,
) -> tuple[Any, ...]:
    """Read the pairs of a set in files, by two file readers kept in step.

    The label says line i of either list. Yields both labels.

    file_root: the set's folder, which the lists' paths are relative to.
    low_list, normal_list: files of lines `path label`.
    normal_root: folder of the normals, where they lie in another set.
    """
    common = file_reader(options, part)
    low, low_label = fn.readers.file(file_root=file_root, file_list=low_list, **common)
    normal, normal_label = fn.readers.file(
        file_root=normal_root or file_root, file_list=normal_list, **common | {"name": None}
    )
    images = processed([low, normal], options, crops)
    return (*images[:2], low_label, normal_label, *images[2:])


@pipeline_def
def webdataset_numbers(
    paths: Sequence[str],
    index_paths: Sequence[str],
    options: Options,
    part: RankPart = ALL,
) -> Any:
    """Yield the names of what `write_numbers` wrote, in the order of pairs of the set's shards."""
    nothing = fn.readers.webdataset(
        ext=["number"], **shard_reader(paths, index_paths, options, part)
    )
    return fn.get_property(nothing, key="source_info")


def write_numbers(folder: Path, counts: Sequence[int]) -> tuple[list[str], list[str]]:
    """Write stand-ins for shards of so many pairs: indexes that name the pairs' numbers.

    Returns paths of tars, all of which are one byte, and of indexes.
    """
    tar, indexes, first = folder / "byte.tar", [], 0
    if not tar.exists():  # else an earlier pipeline may have it mapped
        tar.write_bytes(b"0")
    for shard, count in enumerate(counts):
        indexes.append(folder / f"{shard}.idx")
        lines = (f"number 0 1 {number}.number" for number in range(first, first + count))
        indexes[-1].write_text("\n".join([f"{INDEX_VERSION} {count}", *lines, ""]), "ascii")
        first += count
    return [str(tar)] * len(indexes), list(map(str, indexes))


def source_number(source_info: bytes) -> int:
    """Return the number at the end of DALI's source_info."""
    return int(source_info.rpartition(b":")[2].partition(b".")[0])


@pipeline_def
def file_labels(
    file_root: str,
    low_list: str,
    options: Options,
    part: RankPart = ALL,
) -> Any:
    """Read the labels alone of the pairs that `file_pairs` gives, in the same order."""
    common = file_reader(options, part)
    return fn.readers.file(file_root=file_root, file_list=low_list, **common)[1]


@plain
def file_reader(options: Options, part: RankPart) -> dict[str, Any]:
    """Return the arguments of the first file reader besides its files."""
    return {**reading(options, part), "stick_to_shard": True, "name": "reader"}


@plain
def shard_reader(
    paths: Sequence[str], index_paths: Sequence[str], options: Options, part: RankPart
) -> dict[str, Any]:
    """Return the arguments of the first shard reader besides what it takes of a shard."""
    # Whole shards are shuffled, equally on all ranks, which take turns at the parts. Those differ
    # by a sample, which only whole batches do not mind; otherwise each rank keeps its part.
    reshuffled = options.shuffle and options.last_batch == "drop"
    # A missing component would otherwise be an empty tensor, and nothing would say so.
    return {
        **reading(options, part),
        "paths": list(paths),
        "index_paths": list(index_paths),
        "name": "reader",
        "missing_component_behavior": "error",
        **(
            {"shuffle_after_epoch": True, "shuffle_after_epoch_seed": part.shuffle_seed}
            if reshuffled
            else {}
        ),
        "stick_to_shard": not reshuffled,
        "dont_use_mmap": paths[0].startswith("s3://"),
    }


@plain
def reading(options: Options, part: RankPart) -> dict[str, Any]:
    """Return the arguments common to all readers.

    Two of them draw alike, and go in step, only if all of it is equal.
    """
    return {
        "random_shuffle": options.shuffle,
        "initial_fill": options.shuffle_buffer,
        "seed": part.shuffle_seed,
        "shard_id": part.rank,
        "num_shards": part.world,
        "pad_last_batch": True,
        "prefetch_queue_depth": options.prefetch,
        # Of each of the buffer's places, which DALI would make 1 MiB: 8 GB of addresses, hardly
        # touched, and Linux then refuses to fork this process.
        "tensor_init_bytes": 4096,
    }


@pipeline_def(enable_conditionals=True)
def external_pairs(
    source: Callable[[Any], tuple[Any, ...]],
    options: Options,
    crops: Crops | None = None,
) -> tuple[Any, ...]:
    """Take pairs from a function of DALI's BatchInfo.

    It returns lists of encoded lows and normals (uint8 arrays) and of numbers.
    """
    low, normal, label = fn.external_source(source=source, num_outputs=3, **BATCHES)
    images = processed([low, normal], options, crops)
    return (*images[:2], label, *images[2:])


@pipeline_def(enable_conditionals=True)
def pairs_of_decoded_lows(
    lows: Callable[[Any], Any],
    normals: Callable[[Any], tuple[Any, ...]],
    options: Options,
    crops: Crops | None = None,
) -> tuple[Any, ...]:
    """Take lows (H, W, 3) uint8 beside encoded normals and numbers.

    All from functions of DALI's BatchInfo. Normals are given whole besides, as by `processed`.
    """
    low = fn.external_source(source=lows, layout="HWC", **BATCHES)
    low = low.gpu() if options.device == "gpu" else low
    normal, label = fn.external_source(source=normals, num_outputs=2, **BATCHES)
    window, flips = cropped(normal, options, crops)
    whole = decoded(normal, options)
    low, normal = transform([low, whole], window, flips, options)
    return (low, normal, label, whole) if options.maps else (low, normal, label)


@pipeline_def(enable_conditionals=True)
def webdataset_normals(
    paths: Sequence[str],
    index_paths: Sequence[str],
    options: Options,
    part: RankPart = ALL,
) -> tuple[Any, ...]:
    """Read the normals alone of the pairs that `webdataset_pairs` gives, in the same order.

    They are decoded and whole; yields them, room for as many lows, and their records.
    """
    reader = shard_reader(paths, index_paths, options, part)
    record, normal = fn.readers.webdataset(ext=["json", NORMAL], **reader)
    normal = decoded_by_two(normal, options)
    return normal, room_for(normal, options), fn.pad(record)


@pipeline_def(enable_conditionals=True)
def file_normals(
    file_root: str,
    normal_list: str,
    options: Options,
    part: RankPart = ALL,
) -> tuple[Any, ...]:
    """Read the normals alone of the pairs that `file_pairs` gives, in the same order."""
    common = file_reader(options, part)
    normal, label = fn.readers.file(file_root=file_root, file_list=normal_list, **common)
    normal = decoded_by_two(normal, options)
    return normal, room_for(normal, options), label


@pipeline_def(enable_conditionals=True)
def external_normals(source: Callable[[Any], tuple[Any, ...]], options: Options) -> tuple[Any, ...]:
    """Take encoded normals and their numbers from a function of DALI's BatchInfo."""
    normal, label = fn.external_source(source=source, num_outputs=2, **BATCHES)
    normal = decoded_by_two(normal, options)
    return normal, room_for(normal, options), label


@pipeline_def(enable_conditionals=True)
def external_images(source: Callable[[], Any], options: Options) -> Any:
    """Take encoded images from a function, of each batch as many as there are, and decode them.

    Their memory is to live on until the batch is there.
    """
    return decoded_by_two(fn.external_source(source=source, batch=True, no_copy=True), options)


@pipeline_def(enable_conditionals=True)
def whole_pairs(
    source: Callable[[Any], tuple[Any, ...]], options: Options, live: bool
) -> tuple[Any, ...]:
    """Take encoded pairs, or normals alone, from a function of DALI's BatchInfo, and decode them.

    Images whose longer side is longer than `options.resident_side` are made smaller.
    """
    *encoded, label = fn.external_source(source=source, num_outputs=2 if live else 3, **BATCHES)
    images = [decoded(image, options) for image in encoded]
    if options.resident_side is not None:
        shape = fn.peek_image_shape(encoded[-1])
        longer = dali.math.max(shape[0], shape[1])
        if longer > options.resident_side:
            images = [
                fn.resize(image, resize_longer=options.resident_side, antialias=True)
                for image in images
            ]
    return (*images, label)


def one_by_one(images: Iterable[bytes], options: Options) -> Any:
    """Return a pipeline, built, that decodes one encoded image a run, and none ahead."""
    arrays = ([np.frombuffer(data, np.uint8)] for data in images)
    pipeline = dali.Pipeline(
        1, 1, None, prefetch_queue_depth=1, exec_pipelined=False, exec_async=False
    )
    with pipeline:
        data = fn.external_source(source=lambda: next(arrays))
        pipeline.set_outputs(decoded(data, options))
    pipeline.build()
    return pipeline


def release_memory() -> None:
    """Release the GPU memory that DALI keeps of closed pipelines."""
    dali.backend.ReleaseUnusedMemory()


@pipeline_def(enable_conditionals=True)
def transform_pairs(options: Options) -> tuple[Any, ...]:
    """Transform decoded pairs on a GPU, by crops that are fed along with them.

    Its inputs are "low" and "normal" (uint8, HWC), "window" (top, left, height, width: int32) and
    "flips" (across, down, turned: int32).
    """
    low, normal = _transform_fed(["low", "normal"], options)
    return low, normal


@pipeline_def(enable_conditionals=True)
def transform_images(options: Options) -> Any:
    """Transform decoded images, each by a crop of its own: as `transform_pairs`, of one "image"."""
    return _transform_fed(["image"], options)[0]


def _transform_fed(names: Sequence[str], options: Options) -> list[Any]:
    # What lies on a GPU is copied: DALI waits for the stream of a copy, but not for the one that
    # made what it shares.
    how: dict[str, Any] = {"device": options.device, "layout": "HWC", "no_copy": False}
    images = [fn.external_source(name=name, **how) for name in names]
    window = fn.external_source(name="window") if options.cuts else None
    flips = fn.external_source(name="flips") if options.augment else None
    return transform(images, window, flips, options)
