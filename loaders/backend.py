"""Who decodes and makes batches: NVIDIA DALI, or torch's DataLoader with worker processes."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..errors import LoaderError
from .devices import find_device

_CLASSES = {  # imported when they are first used: neither DALI nor torch need be there
    ("PairLoader", "dali"): "dali.pairs.DaliPairs",
    ("PairLoader", "torch"): "torch_loader.TorchLoader",
    ("MixedLoader", "dali"): "mixtures.dali_mixture.MixedDali",
    ("MixedLoader", "torch"): "mixtures.torch_mixture.MixedTorch",
    ("ImageLoader", "dali"): "dali.images.DaliImages",
    ("ImageLoader", "torch"): "torch_images.TorchImages",
}


def choose_backend(given: Mapping[str, Any]) -> str:
    """Return "dali" or "torch", as the options of a loader ask for.

    "auto" takes DALI where it is installed and knows the device, or an option needs it.
    """
    asked = given.get("backend", "auto")
    if asked != "auto":
        return "torch" if asked == "torch" else "dali"
    if given.get("decoder") in ("opencv", "pillow"):
        return "torch"
    if given.get("reader", "auto") != "auto" or given.get("resident", False):
        return "dali"
    kind = find_device(given.get("device", "auto")).kind
    if not is_installed() or kind == "mps":
        return "torch"
    # Maps of a CPU keep the interpreter busy: processes make them side by side, threads do not.
    return "torch" if given.get("give") and kind == "cpu" else "dali"


def class_of(loader: str, given: Mapping[str, Any]) -> Any:
    """Return the class of a loader for the backend that its options ask for."""
    backend = choose_backend(given)
    if loader == "MixedLoader" and given.get("backend", "auto") == "auto" and backend == "dali":
        on_gpu = find_device(given.get("device", "auto")).kind == "gpu"
        known = set(given.get("give") or ()) <= {"component"}
        backend = "dali" if on_gpu and known else "torch"
    module, _, name = _CLASSES[loader, backend].rpartition(".")
    return getattr(import_module(f".{module}", __package__), name)


def check_backend(given: Mapping[str, Any], backend: str) -> None:
    """Refuse a `backend` option other than the one of the loader's class.

    Raises LoaderError.
    """
    asked = given.get("backend", "auto")
    if asked not in ("auto", backend):
        raise LoaderError(
            f"backend {asked!r}: this loader has backend={backend!r}; take PairLoader"
        )


def is_installed() -> bool:
    """Return whether DALI is there."""
    return (
        importlib.util.find_spec("nvidia") is not None
        and importlib.util.find_spec("nvidia.dali") is not None
    )
