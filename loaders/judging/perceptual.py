"""LPIPS and NIQE, by libraries that keep them well, where those and their weights are there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import SourceError, first_line
from .metrics import Image

Measure = Callable[[Image, Image], float]

ABOUT = {
    "LPIPS": "LPIPS (AlexNet, version 0.1, images scaled to -1 to 1) of `lpips`: lower is better.",
    "NIQE": "NIQE of `pyiqa`, its defaults; it knows no normal: lower is better.",
}
"""How each is measured."""


def perceptual_measures() -> tuple[dict[str, Measure], list[str]]:
    """Return what can be measured on this machine by name, and why the rest cannot.

    Nothing is fetched: weights that are not at hand are asked for, in a line.
    """
    found: dict[str, Measure] = {}
    lacking = []
    for name, make, package in (("LPIPS", _lpips, "'gloam[judge]'"), ("NIQE", _niqe, "pyiqa")):
        try:
            found[name] = _named(name, make())
        except ImportError as error:
            why = f"pip install {package} ({first_line(error)})"
        except Exception as error:  # weights that are none, a package that is half there
            why = first_line(error)
        if name not in found:
            lacking.append(f"{name} is not measured: {why}")
    return found, lacking


def _lpips() -> Measure:
    import lpips
    from torchvision.models import AlexNet_Weights

    url = AlexNet_Weights.IMAGENET1K_V1.url
    with _weights(url, "checkpoints", url.rpartition("/")[2]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torchvision, at the words by which lpips asks for them
        network = lpips.LPIPS(net="alex", verbose=False)
    return lambda made, normal: float(network(_tensor(made), _tensor(normal), normalize=True))


def _niqe() -> Measure:
    import pyiqa
    from pyiqa.archs.niqe_arch import default_model_urls

    with _weights(default_model_urls["niqe"], "pyiqa", "niqe_modelparameters.mat"):
        network = pyiqa.create_metric("niqe", device="cpu")
    return lambda made, _: float(network(_tensor(made)))


@contextmanager
def _weights(url: str, *parts: str) -> Iterator[None]:
    """Read weights within, and name their file where they are not read.

    Raises FileNotFoundError where they are not there: libraries would fetch them unasked.
    """
    import torch

    path = Path(torch.hub.get_dir(), *parts)
    if not path.is_file():
        raise FileNotFoundError(f"its weights are not at hand: save {url} as {path}")
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # each library has its own
        raise ValueError(f"{path}: {first_line(error)}; save {url} anew") from error


def _named(name: str, network: Measure) -> Measure:
    import torch

    def measure(made: Image, normal: Image) -> float:
        with torch.inference_mode():
            try:
                return network(made, normal)
            except (RuntimeError, AssertionError) as error:  # of images that are too small for it
                height, width = made.samples.shape[:2]
                raise SourceError(
                    f"{name} cannot be measured of {width} x {height} pixels: {first_line(error)};"
                    " --no-perceptual leaves it out"
                ) from error

    return measure


def _tensor(image: Image) -> Any:
    import torch

    return torch.from_numpy(image.part().transpose(2, 0, 1)[None]).float().contiguous()
