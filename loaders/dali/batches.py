"""DALI's outputs as tensors and keys."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ...manifests.sets.sample import parse_record
from ..dataset import check_one_size

_BEFORE, _BEHIND = b',"key":"', b'",'
_KEY = re.compile(rb"[a-z0-9][a-z0-9_-]{0,79}")


def keys_of_records(records: Any, count: int) -> list[str]:
    """Return the keys in the records of a batch, which are padded to one length."""
    rows = [row.tobytes() for row in np.asarray(records.as_tensor())[:count]]
    return [_key(row) or str(parse_record(row.rstrip(b"\0"), "a record")["key"]) for row in rows]


def _key(record: bytes) -> str:
    """Return the key of a record as gloam writes it: parsing all of it takes ten times as long."""
    first = record.rfind(_BEFORE) + len(_BEFORE)
    key = record[first : record.find(_BEHIND, first)]
    return key.decode() if first >= len(_BEFORE) and _KEY.fullmatch(key) else ""


def numbers_of(labels: Any) -> npt.NDArray[np.int64]:
    """Return a copy of the numbers of a batch's samples: labels of DALI, or numbers already."""
    return np.array(labels.as_cpu().as_tensor() if hasattr(labels, "as_cpu") else labels).ravel()


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
