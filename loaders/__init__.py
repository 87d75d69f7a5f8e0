"""Loaders of sets for training, with DALI or PyTorch.

`PairLoader` and `TorchLoader` are imported when first used, so that neither DALI nor torch is
loaded for anything else.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# CUDA reads it when it starts. With its default of 8 hardware queues the streams of decoding and
# training wait for each other for no reason: AlexNet trained at 13,600 lows a second with 8 and at
# 17,200 with 32 (benchmarks/results/loaders-h200.txt).
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

if TYPE_CHECKING:
    from .clips.clip_loader import ClipLoader
    from .contents import pairs_in
    from .image_loader import ImageLoader
    from .mixture import mix
    from .pair_loader import PairLoader, TorchLoader

__all__ = ["ClipLoader", "ImageLoader", "PairLoader", "TorchLoader", "mix", "pairs_in"]
_HOMES = {
    "ClipLoader": "clips.clip_loader",
    "ImageLoader": "image_loader",
    "PairLoader": "pair_loader",
    "TorchLoader": "pair_loader",
    "mix": "mixture",
    "pairs_in": "contents",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        try:
            return getattr(import_module(f".{_HOMES[name]}", __name__), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ImportError(
                f"gloam.loaders.{name} needs PyTorch: pip install 'gloam[torch]'"
            ) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
