"""Where batches are wanted: one spelling of devices for every loader."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import Any

from ..errors import LoaderError

_SPELLED = re.compile(r"(auto|cpu|gpu|cuda|mps)(?::(\d+))?\Z")


@dataclass(frozen=True)
class Device:
    """A device.

    Attributes
    ----------
    kind : str
        "cpu", "gpu" (CUDA's) or "mps" (Apple's).
    number : int, optional
        Which GPU; None takes torch's current one when the first batch is made, as a training script
        may set it until then.
    """

    kind: str
    number: int | None = None

    def current(self) -> int:
        """Return the number of the GPU, as it stands now."""
        if self.number is not None:
            return self.number
        import torch

        return torch.cuda.current_device()


def find_device(device: Any, number: int | None = None) -> Device:
    """Read "auto", "cpu", "gpu" or "cuda", "cuda:1", a number, or a torch.device.

    "auto" is a GPU if torch sees one, and the CPU otherwise.

    Raises
    ------
    LoaderError
        When it is none of these, or two different numbers were given.
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
    own = int(match[2]) if match[2] else None
    if own is not None and number not in (None, own):
        raise LoaderError(
            f"device {device!r} and device_id {number}: are two different GPUs; give one of the two"
        )
    if kind == "auto":
        kind = _seen_by_torch()
    return Device(kind, (number if own is None else own) if kind == "gpu" else None)


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
