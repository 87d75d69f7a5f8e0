"""How busy the GPU is: AlexNet trained on lows with PairLoader, with a plain DataLoader, and with
data that is there already.

    python examples/alexnet.py SET [--batch-size 256] [--steps 100] [--workers 16]

AlexNet is so fast that a loader has to be. Prints images a second and the share of time that the
GPU waited for data; the label of an image is how bright its normal is, in ten steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from gloam.errors import GloamError
from gloam.loaders import PairLoader, TorchLoader


class AlexNet(nn.Module):
    """Krizhevsky (2014), "One weird trick for parallelizing convolutional neural networks": the
    single-column version."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 64, 11, 4, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.AdaptiveAvgPool2d(6),
            nn.Flatten(),
            nn.Linear(256 * 36, 4096),
            nn.ReLU(),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Linear(4096, classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]


def endless(loader: PairLoader | TorchLoader) -> Batches:
    while True:
        yield from loader  # type: ignore[misc]


def held(batch: tuple[torch.Tensor, torch.Tensor]) -> Batches:
    """The upper bound: the same batch again and again."""
    while True:
        yield batch


def step(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    low: torch.Tensor,
    normal: torch.Tensor,
    device: torch.device,
) -> None:
    labels = (normal.mean((1, 2, 3)) * 10).long().clamp(0, 9)
    with torch.autocast(device.type, torch.bfloat16):
        loss = nn.functional.cross_entropy(model(low), labels)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


def measure(
    name: str, batches: Batches, steps: int, device: torch.device, bound: float | None
) -> float:
    """Train; print and return images a second. What is over the upper bound's time is waiting."""
    torch.manual_seed(0)
    model = AlexNet().to(device)
    optimiser = torch.optim.SGD(model.parameters(), 0.01, 0.9)

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(min(10, steps)):
        step(model, optimiser, *next(batches), device)
    wait()
    start, images = time.perf_counter(), 0
    for _ in range(steps):
        low, normal = next(batches)
        step(model, optimiser, low, normal, device)
        images += len(low)
    wait()
    speed = images / (time.perf_counter() - start)
    idle = (
        ""
        if bound is None
        else (
            f", {speed / bound:.1%} of the bound: the GPU waits {max(0.0, 1 - speed / bound):.1%}"
            " of the time"
        )
    )
    print(f"{name:34} {speed:10,.0f} images a second{idle}", flush=True)
    return speed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="*", default=[16])
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "no GPU"
    print(f"{name}, batches of {args.batch_size}, {args.size} x {args.size}")
    common = {"batch_size": args.batch_size, "size": args.size, "crop": "resize", "augment": True}
    # A model as fast as this needs the GPU's cores itself; the default leaves them a tenth of the
    # decoding.
    with PairLoader(args.set, hw_decoder_load=1.0, **common) as loader:
        batches = endless(loader)
        low, normal = (images.clone() for images in next(batches))
        bound = measure("data on the device already", held((low, normal)), args.steps, device, None)
        measure(f"PairLoader, {loader.backend.name}", batches, args.steps, device, bound)
    for workers in args.workers:
        with TorchLoader(args.set, workers=workers, **common) as plain:
            measure(
                f"DataLoader, {workers} workers",
                endless(plain),
                max(10, args.steps // 5),
                device,
                bound,
            )


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"alexnet.py: {error}") from error
