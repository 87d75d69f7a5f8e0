"""Train a network that tells from a low how many EV it was darkened by, which only a draw knows.

python examples/exposure.py SET --steps 2000
python examples/exposure.py PHOTOS --recipe even         # a folder of photographs will do
"""

from __future__ import annotations

from typing import Any

import torch
from live_pairs import DEVICE, options_of, train
from torch import nn

from gloam.errors import GloamError


def main() -> None:
    options = options_of(__doc__, batch_size=16)
    layers: list[nn.Module] = []
    for inner, outer in ((3, 24), (24, 48), (48, 96), (96, 96)):
        layers += [nn.Conv2d(inner, outer, 3, stride=2, padding=1), nn.GELU()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 1)]
    network = nn.Sequential(*layers, *head).to(DEVICE)

    def error(low: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
        # Lows differ by stops: their logarithm is nearly what is to be told.
        told = 4 + network(low.clamp_min(1e-3).log2()).flatten()
        return (told - given["ev"].to(DEVICE)).abs().mean()

    train(options, ("ev",), network, error, "{:.2f} EV off".format)


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"exposure.py: {error}") from error
