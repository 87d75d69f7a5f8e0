"""Live pairs with what their draws know, and a network trained on them: what `exposure.py` and
`noise_map.py` have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gloam.errors import GloamError
from gloam.loaders import PairLoader, pairs_in

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def options_of(doc: str | None, batch_size: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(doc).split("\n\n")[0])
    parser.add_argument("data", type=Path, help="a set, or a folder of photographs")
    parser.add_argument("--recipe", help="name or file; by default a set's own, or uneven")
    parser.add_argument("--steps", type=int, default=2000, help="batches (%(default)s)")
    parser.add_argument("--size", type=int, default=128, help="windows, pixels (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=batch_size, help="(%(default)s)")
    parser.add_argument("--workers", type=int, help="processes that make batches")
    return parser.parse_args()


def train(
    options: argparse.Namespace,
    extras: tuple[str, ...],
    network: nn.Module,
    loss_of: Callable[[torch.Tensor, dict[str, Any]], torch.Tensor],
    say: Callable[[float], str],
) -> None:
    """Train a network by the loss of a low and what is given beside it, in steps of Adam."""
    try:
        loader = PairLoader(
            options.data if (options.data / "set.json").exists() else pairs_in(options.data),
            live=True,
            recipe=options.recipe,
            batch_size=options.batch_size,
            size=options.size,
            augment=True,
            workers=options.workers,
            extras=extras,
        )
    except GloamError as error:
        raise SystemExit(str(error)) from error
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    step, mean = 0, 0.0
    with loader:
        while step < options.steps:
            for low, _, given in loader:
                loss = loss_of(low.to(DEVICE), given)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                step += 1
                mean += (float(loss.detach()) - mean) / min(step, 50)
                if step % 50 == 0 or step == options.steps:
                    print(f"step {step}: {say(mean)}")
                if step == options.steps:
                    break
