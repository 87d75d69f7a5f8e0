"""Who decodes and makes batches: NVIDIA DALI, or torch's DataLoader with worker processes."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import LoaderError
from .devices import Device, find_device, has_torch
from .options import Options, make_options
from .ranks import decoder_load, usable_cores


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
    if not mixture and (given.get("reader", "auto") != "auto" or given.get("resident", False)):
        return Choice("dali", "reader= or resident= asks for it")
    kind = find_device(given.get("device", "auto")).kind
    if not is_installed():
        return Choice("torch", "DALI is not installed")
    if kind == "mps":
        return Choice("torch", "DALI does not know MPS")
    extras = set(given.get("give") or ())
    if kind != "gpu" and (mixture or extras):
        # Maps keep the interpreter busy: processes make them side by side, threads do not.
        return Choice("torch", "mixtures and give= on a CPU")
    if mixture and extras - {"component"}:
        return Choice("torch", "give= of a mixture")
    return Choice("dali", f"installed, on the {'GPU' if kind == 'gpu' else 'CPU'}")


def check_backend(given: Mapping[str, Any], backend: str) -> None:
    """Refuse a `backend` option other than the one of the loader's class.

    Raises LoaderError.
    """
    asked = given.get("backend", "auto")
    if asked not in ("auto", backend):
        raise LoaderError(
            f"backend {asked!r}: this loader has backend={backend!r}; take PairLoader"
        )


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
    options = make_options(
        {"hw_decoder_load": decoder_load(live), **given},
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
