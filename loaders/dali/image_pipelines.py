"""DALI pipelines over single images: of files, and of a set's normals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..options import Options
from .pipelines import ALL, NORMAL, RankPart, file_reader, pipeline_def, shard_reader
from .transforms.operators import BATCHES, Crops, bounded, decoded, fn, processed, types


@pipeline_def(enable_conditionals=True)
def file_images(
    paths: Sequence[str],
    options: Options,
    part: RankPart = ALL,
    crops: Crops | None = None,
) -> tuple[Any, ...]:
    """Read image files; yields images and the files' numbers."""
    labels = list(range(len(paths)))
    data, number = fn.readers.file(files=list(paths), labels=labels, **file_reader(options, part))
    return transform_image(data, options, crops), number


@pipeline_def(enable_conditionals=True)
def webdataset_images(
    paths: Sequence[str],
    index_paths: Sequence[str],
    options: Options,
    part: RankPart = ALL,
    crops: Crops | None = None,
) -> tuple[Any, ...]:
    """Read the normals of a set's shards, in the order of `pipelines.webdataset_normals`."""
    data = fn.readers.webdataset(ext=[NORMAL], **shard_reader(paths, index_paths, options, part))
    return transform_image(data, options, crops), fn.constant(idata=0, dtype=types.INT32)


@pipeline_def(enable_conditionals=True)
def external_images(
    source: Callable[[Any], tuple[Any, ...]], options: Options, crops: Crops | None = None
) -> tuple[Any, ...]:
    """Take encoded images and their numbers from a function of DALI's BatchInfo."""
    data, number = fn.external_source(source=source, num_outputs=2, **BATCHES)
    return transform_image(data, options, crops), number


def transform_image(data: Any, options: Options, crops: Crops | None) -> Any:
    """Decode an encoded image and transform it; see `operators.processed`."""
    data = bounded(data)
    if options.device == "cpu":  # the rest is `transforms.host_images`
        return decoded(data, options)
    (image,) = processed([data], options, crops)
    return image
