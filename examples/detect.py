"""Train torchvision's SSDlite on lows of a labelled set: boxes come with them, moved as they are.

gloam build SET --source voc=VOCdevkit/VOC2012@trainval --labels
python examples/detect.py SET --steps 200                        # needs torchvision
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import nn

from gloam.errors import GloamError
from gloam.loaders import PairLoader


def targets_of(labels: dict[str, Any], device: torch.device) -> list[dict[str, torch.Tensor]]:
    """Return what torchvision's detectors train on: class 0 is background, crowds are left out."""
    columns = zip(labels["boxes"], labels["classes"], labels["crowd"], strict=True)
    return [
        {"boxes": boxes[~crowd].to(device), "labels": classes[~crowd].to(device) + 1}
        for boxes, classes, crowd in columns
    ]


def detector(classes: int) -> nn.Module:
    """SSDlite with MobileNetV3, from nothing."""
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large

    model: nn.Module = ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=classes + 1
    )
    return model


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", help="Built with --labels of sources with boxes.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train = PairLoader(
        args.set,
        batch_size=args.batch_size,
        size=320,
        crop="random-resized",
        seed=args.seed,
        labels=True,
        device=args.device,
    )
    with open(f"{args.set}/classes.txt", encoding="utf-8") as names:
        model = detector(len(names.read().splitlines()))
    step, recent = 0, []
    optimiser: Any = None
    while step < args.steps:
        for low, _, labels in train:
            if optimiser is None:
                model = model.to(low.device).train()
                optimiser = torch.optim.AdamW(model.parameters(), args.rate, weight_decay=1e-4)
            # A detector sees better with the square root of the light.
            images = list(low.clamp(0, 1).sqrt())
            losses = model(images, targets_of(labels, low.device))
            loss = sum(losses.values())
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            recent.append(float(loss.detach()))
            step += 1
            if step % 20 == 0 or step == args.steps:
                mean = sum(recent[-20:]) / len(recent[-20:])
                print(f"step {step}: loss {mean:.3f}", flush=True)
            if step == args.steps:
                break


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"detect.py: {error}") from error
