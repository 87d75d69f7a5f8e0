"""Train a denoiser that is told how strong the noise is at each pixel: the model's noise map is an
input beside the low, as in FFDNet (Zhang et al., 2018).

python examples/noise_map.py SET --steps 2000
python examples/noise_map.py PHOTOS --recipe train       # a folder of photographs will do
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
    parser.add_argument("--batch-size", type=int, default=8)
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
        give=("noise", "clean"),
    )
    layers: list[nn.Module] = [nn.Conv2d(6, 48, 3, padding=1), nn.ReLU()]
    for _ in range(6):
        layers += [nn.Conv2d(48, 48, 3, padding=1), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Conv2d(48, 3, 3, padding=1)).to(device)
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    step = 0
    with loader:
        while step < options.steps:
            for low, _, given in loader:
                low, clean = low.to(device), given["clean"].to(device)
                sigma = given["noise"].to(device).nan_to_num(0)
                # What is left is learned in units of the noise, so that all levels count alike.
                made = low + sigma * network(torch.cat([low, sigma], 1))
                error = ((made - clean) / sigma.clamp_min(1e-3)).square().mean()
                optimiser.zero_grad()
                error.backward()
                optimiser.step()
                step += 1
                if step % 50 == 0 or step == options.steps:
                    print(f"step {step}: {float(error.detach()):.3f} of the noise variance is left")
                if step == options.steps:
                    break


if __name__ == "__main__":
    main()
