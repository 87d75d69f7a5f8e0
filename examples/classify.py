"""Train a small classifier on lows of a labelled set: what the dark takes, and what training on
lows gives back.

gloam build SET --source classes=FOLDER --labels --low-codec none --val 200
python examples/classify.py SET --epochs 10
python examples/classify.py SET --epochs 10 --normals           # trained on normals, tested on both
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from gloam.errors import GloamError
from gloam.loaders import PairLoader


def network(classes: int, width: int = 24) -> nn.Sequential:
    """Four blocks of convolutions, the mean of the last, a layer."""
    layers: list[nn.Module] = []
    inner = 3
    for outer in (width, 2 * width, 4 * width, 4 * width):
        layers += [
            nn.Conv2d(inner, outer, 3, padding=1, bias=False),
            nn.BatchNorm2d(outer),
            nn.GELU(),
            nn.MaxPool2d(2),
        ]
        inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, classes))


def right(model: nn.Module, batches: PairLoader) -> tuple[float, float]:
    """The share of lows and of normals whose class is found."""
    model.eval()
    found, count = torch.zeros(2), 0
    with torch.no_grad():
        for low, normal, labels in batches:
            wanted = labels["class"].to(low.device)
            for i, images in enumerate((low, normal)):
                found[i] += (model(images).argmax(1) == wanted).sum().cpu()
            count += len(low)
    return float(found[0] / count), float(found[1] / count)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", help="Built with --labels of sources with classes.")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--normals", action="store_true", help="Train on normals.")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    options: dict[str, Any] = {"size": args.size, "labels": True, "device": args.device}
    train = PairLoader(
        args.set, batch_size=args.batch_size, crop="random-resized", seed=args.seed, **options
    )
    val = PairLoader(args.set, "val", batch_size=args.batch_size, **options)
    with open(f"{args.set}/classes.txt", encoding="utf-8") as names:
        classes = len(names.read().splitlines())
    low, _, _ = next(iter(val))
    model = network(classes).to(low.device)
    steps = args.epochs * len(train)
    optimiser = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=1e-2)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, steps)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for low, normal, labels in train:
            wanted = labels["class"].to(low.device)
            loss = F.cross_entropy(model(normal if args.normals else low), wanted)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            rate.step()
            total += float(loss.detach())
        dark, bright = right(model, val)
        print(
            f"epoch {epoch}: loss {total / len(train):.3f}, right of the validation's lows"
            f" {dark:.1%}, of its normals {bright:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"classify.py: {error}") from error
