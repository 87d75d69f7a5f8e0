"""Pairs as JAX arrays, over the memory of PairLoader's batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax

from ..errors import LoaderError
from .pair_loader import PairLoader


def jax_iterator(
    data: str | Path | Sequence[Any],
    split: str = "train",
    *,
    epoch: int = 0,
    sharding: Any = None,
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """Return an iterator over one epoch: dicts with "low" and "normal", which are JAX arrays.

    They lie on the GPU or the CPU.

    data, split, **options: options of `PairLoader`; device="cpu" is the default. Batches are whole,
      as compiled functions want them.
    epoch: its number; the order is a function of (seed, epoch).
    sharding: a sharding of JAX that the arrays are brought to.

    Raises LoaderError, SetError when `PairLoader` raises it.
    """
    if options.get("last_batch", "drop") != "drop":
        raise LoaderError("last_batch: batches of JAX are whole: 'drop' alone")
    for name in ("labels", "extras", "keys"):
        if options.get(name):
            raise LoaderError(f"{name}: is not for JAX; take PairLoader or TorchLoader")
    loader = PairLoader(data, split, **{"device": "cpu", **options, "last_batch": "drop"})
    loader.set_epoch(epoch)
    return _arrays(loader, sharding)


def _arrays(loader: PairLoader, sharding: Any) -> Iterator[dict[str, Any]]:
    with loader:
        for images in loader:
            low, normal = (jax.dlpack.from_dlpack(one.contiguous()) for one in images)
            made = {"low": low, "normal": normal}
            yield made if sharding is None else jax.device_put(made, sharding)
