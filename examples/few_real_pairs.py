"""Train on few real pairs and many synthetic ones, in one of four ways, and enhance a test set.

python examples/few_real_pairs.py SET LOW NORMAL TEST_LOW --way mixed --out outputs/mixed
gloam judge outputs/* --low TEST_LOW --normal TEST_NORMAL --out judged.html
"""

import argparse
from itertools import chain, islice, repeat
from pathlib import Path

import torch
from enhance import enhance_files
from train import UNet

import gloam
from gloam.errors import GloamError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("photos", type=Path, help="a set of gloam's, or a folder of photographs")
    parser.add_argument("low", type=Path, help="real lows to train on")
    parser.add_argument("normal", type=Path, help="their normals, with equal names")
    parser.add_argument("test", type=Path, help="real lows to enhance")
    ways = ["real", "synthetic", "after", "mixed"]
    said = "one alone, synthetic for half of the steps and real after it, or both in every batch"
    parser.add_argument("--way", choices=ways, default="mixed", help=said)
    parser.add_argument("--recipe", default="train", help="of synthetic lows (%(default)s)")
    parser.add_argument("--steps", type=int, default=4000, help="batches (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of network and loader (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the enhanced lows")
    args = parser.parse_args()
    first, then = {0: 1, args.steps // 2: 0}, {0: 0, args.steps // 2: 1}
    weights = {"real": (0, 1), "synthetic": (1, 0), "after": (first, then), "mixed": (1, 1)}
    gloam.pairs_in(args.test)  # a wrong folder is told now, not after training
    is_set = (args.photos / "set.json").exists()
    photos = args.photos if is_set else gloam.pairs_in(args.photos)
    lows = {"live": True, "recipe": args.recipe, "weight": weights[args.way][0]}
    real = gloam.pairs_in(args.low, args.normal), weights[args.way][1]
    data = gloam.mix({"synthetic": {"data": photos, **lows}, "real": real})
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(args.seed)
    model = UNet().to(device)
    optimiser = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=args.steps)
    options = {"size": 192, "augment": True, "last_batch": "partial", "seed": args.seed}
    with gloam.PairLoader(data, batch_size=8, **options) as loader:
        batches = chain.from_iterable(repeat(loader))
        for step, (low, normal) in enumerate(islice(batches, args.steps), 1):
            loss = (model(low.to(device)) - normal.to(device)).abs().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            if step % 100 == 0 or step == args.steps:
                print(f"step {step} of {args.steps}: mean error {float(loss.detach()):.3f}")
    enhance_files(model.eval(), [args.test], args.out, device)


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"few_real_pairs.py: {error}") from error
