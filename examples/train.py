"""Train a small U-Net to brighten lows: one GPU, several (torchrun), or the CPU; bf16; checkpoints
from which it goes on exactly.

python examples/train.py SET --epochs 10
torchrun --nproc-per-node 4 examples/train.py SET --epochs 10
python examples/train.py SET --epochs 20 --checkpoint unet.pt        # again: goes on where it was
stopped
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gloam.loaders import PairLoader


def block(inner: int, outer: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, padding=1),
        nn.GELU(),
        nn.Conv2d(outer, outer, 3, padding=1),
        nn.GELU(),
    )


class UNet(nn.Module):
    """Four levels; predicts what is to be added to the square root of the low. Sides must be
    multiples of 8."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *sizes[:-1]], sizes, strict=True))
        self.up = nn.ModuleList(
            block(a + b, b) for a, b in zip(sizes[:0:-1], sizes[-2::-1], strict=True)
        )
        self.last = nn.Conv2d(width, 3, 1)

    def forward(self, low: torch.Tensor) -> torch.Tensor:
        x, kept = low.clamp(1e-4, 1).sqrt(), []
        start = x
        for level, layer in enumerate(self.down):
            x = layer(x if level == 0 else F.avg_pool2d(x, 2))
            kept.append(x)
        for layer, skip in zip(self.up, kept[-2::-1], strict=True):
            x = layer(torch.cat([F.interpolate(x, scale_factor=2.0), skip], 1))
        return start + self.last(x)


def psnr(made: torch.Tensor, normal: torch.Tensor) -> torch.Tensor:
    """dB of each image."""
    return -10 * ((made - normal) ** 2).mean((1, 2, 3)).clamp_min(1e-10).log10()


def ssim(made: torch.Tensor, normal: torch.Tensor) -> torch.Tensor:
    """Of each image: Wang et al. (2004), 11 x 11 Gaussian window of sigma 1.5, over the
    channels."""
    line = torch.exp(-((torch.arange(11, device=made.device) - 5.0) ** 2) / (2 * 1.5**2))
    window = (line[:, None] * line / line.sum() ** 2).expand(3, 1, 11, 11)

    def mean(x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, window, groups=3)

    a, b = mean(made), mean(normal)
    variances = mean(made**2) - a**2 + mean(normal**2) - b**2
    covariance = mean(made * normal) - a * b
    c1, c2 = 0.01**2, 0.03**2
    return (
        ((2 * a * b + c1) * (2 * covariance + c2)) / ((a**2 + b**2 + c1) * (variances + c2))
    ).mean((1, 2, 3))


@torch.no_grad()
def validate(
    model: nn.Module, loader: PairLoader, device: torch.device
) -> tuple[float, float, int]:
    """Mean PSNR and SSIM over the validation pairs of all ranks, and how many those are."""
    model.eval()
    sums = torch.zeros(3, device=device, dtype=torch.float64)
    for low, normal in loader:
        made = model(low).float().clamp(0, 1)
        sums += torch.stack(
            [
                psnr(made, normal).sum(),
                ssim(made, normal).sum(),
                torch.tensor(float(len(low)), device=device),
            ]
        )
    model.train()
    if dist.is_initialized():
        dist.all_reduce(sums)
    return float(sums[0] / sums[2]), float(sums[1] / sums[2]), int(sums[2])


def load(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, train: PairLoader, rank: int
) -> tuple[int, int]:
    """Take up a checkpoint: model, optimiser, and this rank's place in the epoch; returns epoch and
    step."""
    saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(saved["model"])
    optimiser.load_state_dict(saved["optimiser"])
    train.load_state_dict(saved["loaders"][rank])
    return saved["epoch"], saved["step"]


def save(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    train: PairLoader,
    epoch: int,
    step: int,
) -> None:
    """Every rank's loader state goes into one file, which appears whole or not at all."""
    states: list[Any] = [train.state_dict()]
    if dist.is_initialized():
        states = [None] * dist.get_world_size()
        dist.all_gather_object(states, train.state_dict())
    if not dist.is_initialized() or dist.get_rank() == 0:
        temporary = path.with_suffix(".tmp")
        whole = {
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "loaders": states,
            "epoch": epoch,
            "step": step,
        }
        torch.save(whole, temporary)
        os.replace(temporary, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank")
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, default=Path("unet.pt"))
    parser.add_argument("--every", type=int, default=200, help="steps between checkpoints")
    parser.add_argument(
        "--stop-after", type=int, help="end after so many steps, as if killed (for trying resume)"
    )
    args = parser.parse_args()

    gpu = torch.cuda.is_available()
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if gpu else "gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    device = (
        torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if gpu else torch.device("cpu")
    )
    if gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)

    model = UNet(args.width).to(device)
    wrapped: nn.Module = DistributedDataParallel(model) if dist.is_initialized() else model
    optimiser = torch.optim.AdamW(model.parameters(), args.rate)
    common = {"batch_size": args.batch_size, "size": args.size, "seed": args.seed}
    with (
        PairLoader(args.set, "train", augment=True, crop="random-resized", **common) as train,
        PairLoader(args.set, "val", **common) as val,
    ):
        epoch = step = 0
        if args.checkpoint.exists():
            epoch, step = load(args.checkpoint, model, optimiser, train, rank)
        started, waited = time.perf_counter(), 0.0
        while epoch < args.epochs:
            mark = time.perf_counter()
            for low, normal in train:
                waited += time.perf_counter() - mark
                with torch.autocast(device.type, torch.bfloat16, enabled=gpu):
                    loss = F.l1_loss(wrapped(low), normal)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                step += 1
                if step % args.every == 0:
                    save(args.checkpoint, model, optimiser, train, epoch, step)
                if step == args.stop_after:
                    return
                mark = time.perf_counter()
            epoch += 1
            save(args.checkpoint, model, optimiser, train, epoch, step)
            quality, likeness, pairs = validate(model, val, device)
            if rank == 0:
                print(
                    f"epoch {epoch}: loss {loss:.4f}, {pairs} validation pairs: PSNR {quality:.2f}"
                    f" dB, SSIM {likeness:.3f}",
                    flush=True,
                )
        if rank == 0:
            print(
                f"{step} steps in {time.perf_counter() - started:.1f} s, {waited:.1f} s of them in"
                " the loader"
            )
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
