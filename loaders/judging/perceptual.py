"""LPIPS and NIQE, by libraries that keep them well, where those and their weights are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import first_line
from .metrics import Image

Measure = Callable[[Image, Image], float]

ABOUT = {
    "LPIPS": "LPIPS (AlexNet, version 0.1, images scaled to -1 to 1) of `lpips`: lower is better.",
    "NIQE": "NIQE of `pyiqa`, its defaults; it knows no normal: lower is better.",
}
"""How each is measured."""


def perceptual_measures() -> tuple[dict[str, Measure], list[str]]:
    """Return what can be measured on this machine by name, and why the rest cannot."""
    found: dict[str, Measure] = {}
    lacking = []
    for name, make, package in (("LPIPS", _lpips, "lpips"), ("NIQE", _niqe, "pyiqa")):
        try:
            found[name] = make()
        except Exception as error:  # not installed, or no weights: each library has its own
            needs = f"it needs pip install {package}, and its weights"
            lacking.append(f"{name} is not measured: {needs} ({first_line(error)})")
    return found, lacking


def _lpips() -> Measure:
    import lpips

    network = lpips.LPIPS(net="alex", verbose=False)
    return _without_gradients(lambda made, normal: network(made, normal, normalize=True))


def _niqe() -> Measure:
    import pyiqa

    network = pyiqa.create_metric("niqe", device="cpu")
    return _without_gradients(lambda made, _: network(made))


def _without_gradients(network: Callable[[Any, Any], Any]) -> Measure:
    import torch

    def measure(made: Image, normal: Image) -> float:
        with torch.inference_mode():
            return float(network(_tensor(made), _tensor(normal)))

    return measure


def _tensor(image: Image) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))[None]).float()
