"""Pairs as JAX arrays: DALI's JAX iterator over the pipelines of PairLoader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.jax import DALIGenericIterator

from ...errors import LoaderError
from .pairs import DaliPairs


class _Pipelines(DaliPairs):
    """For its pipelines alone."""

    _gives_tensors = False


def jax_iterator(
    data: str | Path | Sequence[Any],
    split: str = "train",
    *,
    epoch: int = 0,
    sharding: Any = None,
    **options: Any,
) -> Any:
    """Return an iterator over one epoch: dicts with "low" and "normal", which are JAX arrays.

    They lie on the GPU or the CPU.

    data, split, **options: options of `PairLoader`; say device="cuda:0", as torch is not asked
      here. Batches are whole: DALI's iterator for JAX has no partial ones.
    epoch: its number; the order is a function of (seed, epoch).
    sharding: sharding of the outputs, as DALI's iterator takes it.

    Raises LoaderError, SetError when `PairLoader` raises it.
    """
    if options.get("last_batch", "drop") != "drop":
        raise LoaderError("last_batch: DALI's iterator for JAX knows 'drop' alone")
    for name in ("labels", "give"):
        if options.get(name):
            raise LoaderError(f"{name}: is not for JAX; take PairLoader or TorchLoader")
    options = {"device": "cpu", **options, "last_batch": "drop"}
    loader = _Pipelines(data, split, **options)
    names = (
        ["low", "normal", "low_label", "normal_label"]
        if loader.reader == "file"
        else ["low", "normal", "label"]
    )
    return DALIGenericIterator(
        [loader.pipeline(epoch)],
        names,
        size=len(loader) * loader.options.batch_size,
        last_batch_policy=LastBatchPolicy.DROP,
        sharding=sharding,
    )
