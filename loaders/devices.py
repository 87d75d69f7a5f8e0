"""Devices and frameworks that batches are wanted for: one spelling for every loader."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import LoaderError
from .options import Options

_SPELLED = re.compile(r"(auto|cpu|gpu|cuda|mps)(?::(\d+))?\Z")


@dataclass(frozen=True)
class Device:
    """A device.

    kind: "cpu", "gpu" (CUDA's) or "mps" (Apple's).
    number: which GPU; None takes torch's current one when the first batch is made, as a training
      script may set it until then.
    """

    kind: str
    number: int | None = None

    def current(self) -> int:
        """Return the number of the GPU, as it stands now.

        Raises LoaderError when torch, which is to take the batches, sees no GPU.
        """
        if has_torch():
            import torch

            if not torch.cuda.is_available():
                why = "" if torch.version.cuda else ": this torch is built for the CPU alone"
                raise LoaderError(f"device 'cuda': torch sees no GPU{why}; take device='cpu'")
            if self.number is None:
                return torch.cuda.current_device()
        return self.number or 0


def find_device(device: Any) -> Device:
    """Read "auto", "cpu", "gpu" or "cuda", "cuda:1", a number, or a torch.device.

    "auto" is a GPU if torch sees one, and the CPU otherwise.

    Raises LoaderError when it is none of these.
    """
    text = (
        f"gpu:{device}" if isinstance(device, int) and not isinstance(device, bool) else str(device)
    )
    match = _SPELLED.match(text)
    if not match or (match[2] and match[1] in ("auto", "mps")):
        raise LoaderError(
            f"device {device!r}: must be 'auto', 'cpu', 'cuda' (or 'gpu'), 'cuda:1', 'mps' or a"
            " torch.device"
        )
    kind = "gpu" if match[1] == "cuda" else match[1]
    if kind == "auto":
        kind = _seen_by_torch()
    return Device(kind, int(match[2]) if match[2] and kind == "gpu" else None)


def _seen_by_torch() -> str:
    if not has_torch():
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "gpu"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def has_torch() -> bool:
    """Return whether PyTorch is installed; it is not imported for this."""
    return importlib.util.find_spec("torch") is not None


def converter(options: Options) -> Callable[[Any], Any] | None:
    """Return the function that converts a tensor without a copy; None for torch.

    Raises LoaderError when the framework cannot take what lies on the device, or is not installed.
    """
    framework, on_gpu = options.framework, options.device == "gpu"
    if framework == "torch":
        return None
    if (framework == "cupy") != on_gpu:
        other = "framework='cupy'" if on_gpu else "framework='numpy'"
        raise LoaderError(
            f"framework={framework!r} is for device={'cpu' if on_gpu else 'cuda'!r}; on this one"
            f" take {other}, or torch's tensors, which others take by DLPack"
        )
    if framework == "numpy":
        return np.asarray
    try:
        from_dlpack: Callable[[Any], Any] = import_module("cupy").from_dlpack
    except ImportError as error:
        raise LoaderError("framework='cupy' needs CuPy: pip install cupy-cuda12x") from error
    return from_dlpack


def converted(batch: Any, convert: Callable[[Any], Any]) -> Any:
    """Return a batch with its tensors converted, however it nests."""
    if hasattr(batch, "__dlpack__"):
        return convert(batch)
    if isinstance(batch, dict):
        return {name: converted(value, convert) for name, value in batch.items()}
    if isinstance(batch, tuple | list):
        return type(batch)(converted(value, convert) for value in batch)
    return batch
