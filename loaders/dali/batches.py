"""DALI's outputs as tensors, keys, and batches for tools that skip by them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LoaderError
from ...manifests.sets.sample import parse_record
from ..dataset import ReadyBatch

_BEFORE, _BEHIND = b',"key":"', b'",'
_KEY = re.compile(rb"[a-z0-9][a-z0-9_-]{0,79}")

if TYPE_CHECKING:
    from ..epoch_loader import EpochLoader


class ReadyBatches:
    """The batches of a new epoch, each as the one sample of a batch."""

    sampler = None  # mmengine looks for one to set the epoch of, which the loader counts by itself

    def __init__(self, loader: EpochLoader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Set the loader's epoch.

        Hugging Face's Trainer asks for it here when it goes on in mid-epoch.
        """
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[ReadyBatch]]:
        return ([ReadyBatch(batch)] for batch in self._loader)

    def __len__(self) -> int:
        return len(self._loader)


def keys_of_records(records: Any, count: int) -> list[str]:
    """Return the keys in the records of a batch, which are padded to one length."""
    rows = [row.tobytes() for row in np.asarray(records.as_tensor())[:count]]
    return [_key(row) or str(parse_record(row.rstrip(b"\0"), "a record")["key"]) for row in rows]


def _key(record: bytes) -> str:
    """Return the key of a record as gloam writes it: parsing all of it takes ten times as long."""
    first = record.rfind(_BEFORE) + len(_BEFORE)
    key = record[first : record.find(_BEHIND, first)]
    return key.decode() if first >= len(_BEFORE) and _KEY.fullmatch(key) else ""


def tensor_of(images: Any) -> Any:
    """Return a torch tensor over DALI's memory, without a copy."""
    from torch import Tensor
    from torch.utils.dlpack import from_dlpack

    if isinstance(images, Tensor):
        return images
    try:
        tensor = images.as_tensor()
    except Exception:
        check_one_size(images.shape())
        raise
    return from_dlpack(tensor)


def check_one_size(shapes: Sequence[Sequence[int]]) -> None:
    """Check that images that are to be one tensor have one shape.

    Raises LoaderError when they do not.
    """
    found = sorted({tuple(shape) for shape in shapes})
    if len(found) > 1:
        raise LoaderError(
            f"images of one batch have different sizes ({', '.join(map(str, found[:3]))}): give"
            " size=, pad=True or batch_size=1"
        )
