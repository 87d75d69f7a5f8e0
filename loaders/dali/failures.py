"""Which image DALI failed at.

It does not say, so the pairs of its next batches are found out and decoded here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ...errors import LoaderError
from ..dataset import decoded_pair
from ..index import Contents
from ..live.lows import normal_of
from ..options import Options


def explained(
    error: Exception, contents: Contents, options: Options, suspects: Callable[[], list[int]]
) -> LoaderError:
    """Return the error to raise in place of DALI's.

    It names the pair that DALI failed at, where that can be told.

    Parameters
    ----------
    error : Exception
        Of DALI.
    contents, options
        Of the loader.
    suspects : function
        Returns the numbers of the pairs that DALI was at.
    """
    found = _first_damage(contents, suspects(), options.threads)
    if found is None:
        # As where the machine has no memory left: what DALI says is all there is.
        return LoaderError(f"{contents.name}: DALI: {last_words(error)}", path=contents.name)
    return LoaderError(f"{contents.name}: {found}", path=contents.name)


def _first_damage(contents: Contents, numbers: Iterable[int], threads: int) -> LoaderError | None:
    with ThreadPoolExecutor(threads) as pool:
        return next(
            (found for found in pool.map(partial(_damage, contents), numbers) if found), None
        )


def _damage(contents: Contents, number: int) -> LoaderError | None:
    try:
        if contents.live:
            normal_of(contents.pairs[number], contents.layout is not None)
        else:
            decoded_pair(contents.pairs[number], "pillow")
    except LoaderError as error:
        return error
    return None


def replayed(
    contents: Contents, options: Options, sharding: dict[str, Any], first: int, batches: int
) -> list[int]:
    """Return the numbers of the pairs in some batches of one of DALI's own readers.

    Records or labels alone are read, in the same order.

    Parameters
    ----------
    contents, options
        Of the loader.
    sharding : dict
        Rank, world and seed, as of the pipeline that failed.
    first, batches : int
        Which batches, counted from the beginning of that pipeline's first epoch.
    """
    from . import pipelines

    common = {
        "batch_size": options.batch_size,
        "num_threads": 1,
        "device_id": None,
        "options": options,
        **sharding,
    }
    if contents.reader == "webdataset":
        pipeline = pipelines.webdataset_records(*contents.shards(), **common)
    else:
        pipeline = pipelines.file_labels(
            str(contents.root),
            str(contents.list_path("normal" if contents.live else "low")),
            **common,
        )
    pipeline.build()
    for _ in range(first):
        pipeline.run()
    labels = [sample for _ in range(batches) for sample in _samples(pipeline)]
    if contents.reader != "webdataset":
        return [int(label.item()) for label in labels]
    keys = {json.loads(record.tobytes().rstrip(b"\0"))["key"] for record in labels}
    return [number for number in range(contents.count) if contents.pairs[number].key in keys]


def _samples(pipeline: Any) -> list[Any]:
    (outputs,) = pipeline.run()
    return [np.array(outputs[i]) for i in range(len(outputs))]


def last_words(error: Exception) -> str:
    """Return what was wrong, out of DALI's long messages."""
    lines = [
        line
        for line in str(error).splitlines()
        if line and not line.startswith(("Critical", "Current", "  ", "which"))
    ]
    return lines[-1] if lines else str(error)
