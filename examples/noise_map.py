"""Train a denoiser that is told how strong the noise is at each pixel: the model's noise map is an
input beside the low, as in FFDNet (Zhang et al., 2018).

python examples/noise_map.py SET --steps 2000
python examples/noise_map.py PHOTOS --recipe train       # a folder of photographs will do
"""

from __future__ import annotations

from typing import Any

import torch
from live_pairs import DEVICE, options_of, train
from torch import nn

from gloam.errors import GloamError


def main() -> None:
    options = options_of(__doc__, batch_size=8)
    layers: list[nn.Module] = [nn.Conv2d(6, 48, 3, padding=1), nn.ReLU()]
    for _ in range(6):
        layers += [nn.Conv2d(48, 48, 3, padding=1), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Conv2d(48, 3, 3, padding=1)).to(DEVICE)

    def left(low: torch.Tensor, given: dict[str, Any]) -> torch.Tensor:
        sigma = given["noise"].to(DEVICE).nan_to_num(0)
        # What is left is learned in units of the noise, so that all levels count alike.
        made = low + sigma * network(torch.cat([low, sigma], 1))
        return ((made - given["clean"].to(DEVICE)) / sigma.clamp_min(1e-3)).square().mean()

    train(options, ("noise", "clean"), network, left, "{:.3f} of the noise variance is left".format)


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"noise_map.py: {error}") from error
