"""Train a network that tells from a low how many EV it was darkened by, which only a draw knows.

python examples/exposure.py SET --steps 2000
python examples/exposure.py PHOTOS --recipe even         # a folder of photographs will do
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn

from gloam.loaders import PairLoader, pairs_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--recipe", default=None)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = options.data if (options.data / "set.json").exists() else pairs_in(options.data)
    loader = PairLoader(
        data,
        live=True,
        recipe=options.recipe,
        batch_size=options.batch_size,
        size=options.size,
        augment=True,
        workers=options.workers,
        give=("ev",),
    )
    layers: list[nn.Module] = []
    for inner, outer in ((3, 24), (24, 48), (48, 96), (96, 96)):
        layers += [nn.Conv2d(inner, outer, 3, stride=2, padding=1), nn.GELU()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 1)]
    network = nn.Sequential(*layers, *head).to(device)
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    step, mean = 0, 0.0
    with loader:
        while step < options.steps:
            for low, _, given in loader:
                # Lows differ by stops: their logarithm is nearly what is to be told.
                told = 4 + network(low.to(device).clamp_min(1e-3).log2()).flatten()
                error = (told - given["ev"].to(device)).abs().mean()
                optimiser.zero_grad()
                error.backward()
                optimiser.step()
                step += 1
                mean += (float(error.detach()) - mean) / min(step, 50)
                if step % 50 == 0 or step == options.steps:
                    print(f"step {step}: {mean:.2f} EV off")
                if step == options.steps:
                    break


if __name__ == "__main__":
    main()
