"""Train on few real pairs and many synthetic ones, in one of four ways, and enhance a test set.

python examples/few_real_pairs.py PHOTOS LOW NORMAL TEST_LOW --way mixed --out outputs/mixed
gloam judge outputs/* --low TEST_LOW --normal TEST_NORMAL --out judged.html
"""

import argparse
from itertools import chain, islice, repeat
from pathlib import Path

import torch
from enhance import enhance_files
from train import UNet

import gloam


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("photos", "low", "normal", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--way", choices=["real", "synthetic", "after", "mixed"], default="mixed")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    first, then = {0: 1, args.steps // 2: 0}, {0: 0, args.steps // 2: 1}
    weights = {"real": (0, 1), "synthetic": (1, 0), "after": (first, then), "mixed": (1, 1)}
    photos, pairs = gloam.pairs_in(args.photos), gloam.pairs_in(args.low, args.normal)
    synthetic = {"data": photos, "recipe": "train", "weight": weights[args.way][0]}
    data = gloam.mix({"synthetic": synthetic, "real": (pairs, weights[args.way][1])})
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    model = UNet().to(device)
    optimiser = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=args.steps)
    with gloam.PairLoader(data, batch_size=8, size=192, augment=True, seed=0) as loader:
        for low, normal in islice(chain.from_iterable(repeat(loader)), args.steps):
            loss = (model(low.to(device)) - normal.to(device)).abs().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    enhance_files(model.eval(), [args.test], args.out, device)


if __name__ == "__main__":
    main()
