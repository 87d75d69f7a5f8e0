"""Who decodes and makes batches: NVIDIA DALI, or torch's DataLoader; for which device."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..errors import LoaderError
from .options import Options, make_options
from .ranks import local_ranks, usable_cores

_MANY_GPUS = 4  # of a host: see `options.ImageOptions.hw_decoder_load`
_SPELLED = re.compile(r"(auto|cpu|gpu|cuda|mps)(?::(\d+))?\Z")


class Choice(NamedTuple):
    """A backend, and why it was chosen, in words."""

    backend: str
    why: str

    def __str__(self) -> str:
        return f"{self.backend} ({self.why})"


def choose_backend(given: Mapping[str, Any], mixture: bool = False) -> Choice:
    """Return "dali" or "torch", as the options of a loader ask for: the rule of "auto".

    mixture: whether several sources are mixed, or one is by a schedule.
    """
    asked = given.get("backend", "auto")
    if asked != "auto":
        return Choice("torch" if asked == "torch" else "dali", "as asked")
    if given.get("decoder") in ("opencv", "pillow"):
        return Choice("torch", "decoder= asks for it")
    if not mixture and given.get("resident", False):
        return Choice("dali", "resident= asks for it")
    kind = find_device(given.get("device", "auto")).kind
    if not is_installed():
        return Choice("torch", "DALI is not installed")
    if kind == "mps":
        return Choice("torch", "DALI does not know MPS")
    extras = set(given.get("extras") or ())
    if kind != "gpu" and (mixture or extras):
        # Maps keep the interpreter busy: processes make them side by side, threads do not.
        return Choice("torch", "mixtures and extras= on a CPU")
    if mixture and extras - {"component"}:
        return Choice("torch", "extras= of a mixture")
    return Choice("dali", f"installed, on the {'GPU' if kind == 'gpu' else 'CPU'}")


def options_for(
    backend: str, given: Mapping[str, Any], training: bool, live: bool
) -> tuple[Options, Device]:
    """Find the device, and validate the options that were given.

    training: whether it shuffles and drops, by default.
    live: whether a GPU's hardware is to decode everything.

    Raises LoaderError when there is no such device, or an option is wrong.
    """
    device = given.get("device", "auto")
    wanted, workers = find_device(device), given.get("workers")
    if not has_torch():
        raise LoaderError("batches are torch tensors: pip install 'gloam[torch]'")
    if backend == "dali":
        if not is_installed():
            raise LoaderError(
                "backend='dali' needs NVIDIA DALI, which runs on Linux: pip install"
                " nvidia-dali-cuda120; backend='torch' does not"
            )
        if wanted.kind == "mps" and device == "auto":
            wanted = find_device("cpu")
        if wanted.kind == "mps":
            raise LoaderError(
                "device 'mps': DALI knows CUDA's GPUs alone; take device='cpu' or backend='torch'"
            )
        workers = workers or None
        given = {name: value for name, value in given.items() if value is not None}
    # Cores decode a little differently from hardware: a live low is to be a function of its key.
    load = 1.0 if live or local_ranks() >= _MANY_GPUS else 0.9
    options = make_options(
        {"hw_decoder_load": load, **given},
        training,
        device="gpu" if wanted.kind == "gpu" else "cpu",
        workers=usable_cores() if workers is None else workers,
    )
    return options, wanted


def is_installed() -> bool:
    """Return whether DALI is there."""
    return (
        importlib.util.find_spec("nvidia") is not None
        and importlib.util.find_spec("nvidia.dali") is not None
    )


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

    def as_torch(self) -> Any:
        """Return it as torch has it."""
        import torch

        on_gpu = self.kind == "gpu"
        return torch.device("cuda", self.current()) if on_gpu else torch.device(self.kind)


def find_device(device: Any) -> Device:
    """Read "auto", "cpu", "gpu" or "cuda", "cuda:1", a number, or a torch.device.

    "auto" is a GPU if torch sees one, and the CPU otherwise.

    Raises LoaderError when it is none of these.
    """
    text = f"gpu:{device}" if type(device) is int else str(device)
    match = _SPELLED.match(text)
    if not match or (match[2] and match[1] in ("auto", "mps")):
        raise LoaderError(
            f"device {device!r}: must be 'auto', 'cpu', 'cuda' (or 'gpu'), 'cuda:1', 'mps' or a"
            " torch.device"
        )
    kind = "gpu" if match[1] == "cuda" else match[1]
    if kind == "auto":
        kind = _device_of_torch()
    return Device(kind, int(match[2]) if match[2] and kind == "gpu" else None)


def _device_of_torch() -> str:
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
        made = (converted(value, convert) for value in batch)
        return type(batch)(*made) if hasattr(batch, "_fields") else type(batch)(made)
    return batch
