"""Train on few real pairs and many synthetic ones, in one of four ways, and enhance a test set.

python examples/few_real_pairs.py PHOTOS LOW NORMAL TEST_LOW --way mixed --out outputs/mixed
gloam judge outputs/* --low TEST_LOW --normal TEST_NORMAL --out judged.html
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from enhance import enhance, read
from train import UNet

import gloam
from gloam.manifests.images.encode import encode


def mixture(way: str, photos: Path, pairs: list, half: int) -> Any:
    """Real pairs alone, synthetic ones alone, real after synthetic ones, or both in every batch."""
    weights = {
        "real": (0, 1),
        "synthetic": (1, 0),
        "after": ({0: 1, half: 0}, {0: 0, half: 1}),
        "mixed": (1, 1),
    }[way]
    lived = {"data": gloam.pairs_in(photos), "live": True, "recipe": "train", "weight": weights[0]}
    parts = {"synthetic": lived, "real": {"data": pairs, "weight": weights[1]}}
    return gloam.mix({name: part for name, part in parts.items() if part["weight"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name in ("photos", "low", "normal", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--way", choices=["real", "synthetic", "after", "mixed"], default="mixed")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    model, step = UNet().to(device), 0
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=args.steps)
    data = mixture(args.way, args.photos, gloam.pairs_in(args.low, args.normal), args.steps // 2)
    with gloam.PairLoader(data, batch_size=8, size=args.size, augment=True) as loader:
        while step < args.steps:
            for low, normal in loader:
                loss = (model(low.to(device)) - normal.to(device)).abs().mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                step += 1
                if step == args.steps:
                    break
    args.out.mkdir(parents=True, exist_ok=True)
    for path in gloam.pairs_in(args.test):
        made = enhance(model.eval(), read(Path(path), device))[0]
        pixels = (made.permute(1, 2, 0) * 255).round().byte().cpu().numpy()
        (args.out / f"{Path(path).stem}.png").write_bytes(encode(pixels, "png"))


if __name__ == "__main__":
    main()
