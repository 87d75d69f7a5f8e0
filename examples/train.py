"""Train a small U-Net to brighten lows: one GPU, several (torchrun), or the CPU; bf16; checkpoints
from which it goes on exactly.

python examples/train.py SET --epochs 10
python examples/train.py SET --live --recipe train        # new noise in every epoch
python examples/train.py LOW_DIR NORMAL_DIR --val LOW_DIR NORMAL_DIR        # real pairs
torchrun --nproc-per-node 4 examples/train.py SET --epochs 10
python examples/train.py SET --epochs 20 --resume        # goes on from unet.pt

It trains on windows of the pictures as they are, so on the noise as it is, and measures whole
pictures as examples/enhance.py does. A window does not show how dark the whole picture is; where
exposures vary much, give a network a small copy of the whole besides (benchmarks/worth.py does).
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

from gloam import open_set
from gloam.errors import GloamError
from gloam.loaders import PairLoader, pairs_in


def block(inner: int, outer: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, padding=1),
        nn.GELU(),
        nn.Conv2d(outer, outer, 3, padding=1),
        nn.GELU(),
    )


class UNet(nn.Module):
    """Four levels; predicts what is to be added to the square root of the low. Images may have any
    size: right and lower edges are mirrored up to a multiple of 8."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *sizes[:-1]], sizes, strict=True))
        self.up = nn.ModuleList(
            block(a + b, b) for a, b in zip(sizes[:0:-1], sizes[-2::-1], strict=True)
        )
        self.last = nn.Conv2d(width, 3, 1)

    def forward(self, low: torch.Tensor) -> torch.Tensor:
        height, width = low.shape[2:]
        x, kept = low.clamp(1e-4, 1).sqrt(), []
        start = x = F.pad(x, (0, -width % 8, 0, -height % 8), "reflect")
        for level, layer in enumerate(self.down):
            x = layer(x if level == 0 else F.avg_pool2d(x, 2))
            kept.append(x)
        for layer, skip in zip(self.up, kept[-2::-1], strict=True):
            x = layer(torch.cat([F.interpolate(x, scale_factor=2.0), skip], 1))
        return (start + self.last(x))[:, :, :height, :width]


def psnr(made: torch.Tensor, normal: torch.Tensor) -> torch.Tensor:
    """dB of each image."""
    return -10 * ((made - normal) ** 2).mean((1, 2, 3)).clamp_min(1e-10).log10()


def ssim(made: torch.Tensor, normal: torch.Tensor) -> torch.Tensor:
    """Compute it of each image: Wang et al. (2004), 11 x 11 Gaussian window of sigma 1.5, over the
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
    """Mean PSNR and SSIM over the whole validation pairs of all ranks, and how many those are."""
    model.eval()
    sums = torch.zeros(3, device=device, dtype=torch.float64)
    for low, normal in loader:
        low, normal = low.to(device), normal.to(device)
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
    try:
        model.load_state_dict(saved["model"])
    except RuntimeError as error:
        raise SystemExit(f"{path}: holds another network; was --width another?") from error
    if rank >= len(saved["loaders"]):
        raise SystemExit(f"{path}: is of {len(saved['loaders'])} processes; start as many")
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


def source_of(paths: list[str]) -> tuple[Any, int, int]:
    """Return what a loader takes, and its pairs for training and for validation: a set, two folders
    of real pairs, or one folder of photographs to darken."""
    if len(paths) == 1 and (not Path(paths[0]).is_dir() or (Path(paths[0]) / "set.json").exists()):
        found = open_set(paths[0])
        return found, found.counts["train"], found.counts.get("val", 0)
    pairs = pairs_in(*paths)
    return pairs, len(pairs), len(pairs)


def validation(args: argparse.Namespace) -> PairLoader | None:
    """Load whole pairs, decoded as examples/enhance.py does; None where there are none."""
    data, _, pairs = source_of(args.val or args.data)
    if not pairs or (isinstance(data, list) and not args.val):
        return None
    return PairLoader(data, "val", batch_size=1, last_batch="partial", device="cpu")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "data",
        nargs="+",
        help="a set; or folders of real lows and of their normals; or, with --live, of photographs",
    )
    parser.add_argument(
        "--val",
        nargs="+",
        help="measure on these instead: a set's val pairs, or LOW_DIR NORMAL_DIR",
    )
    parser.add_argument("--live", action="store_true", help="make lows anew in every epoch")
    parser.add_argument("--recipe", help="of live lows, such as train; by default the set's own")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank, at most")
    parser.add_argument("--size", type=int, default=192, help="side of the windows, pixels")
    parser.add_argument("--width", type=int, default=24, help="channels of the first level")
    parser.add_argument("--rate", type=float, default=1e-3, help="of learning")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, default=Path("unet.pt"))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--every", type=int, default=200, help="steps between checkpoints")
    parser.add_argument(
        "--stop-after", type=int, help="end after so many steps, as if killed (for trying resume)"
    )
    args = parser.parse_args()
    if max(len(args.data), len(args.val or [])) > 2:
        parser.error("give a set, or two folders: lows and their normals")
    if args.checkpoint.exists() and not args.resume:
        parser.error(f"{args.checkpoint} is there: --resume goes on, --checkpoint names another")
    if not args.checkpoint.absolute().parent.is_dir():
        parser.error(f"{args.checkpoint}: its folder is not there")
    try:
        run(args)
    except (GloamError, OSError) as error:
        raise SystemExit(f"train.py: {error}") from error


def run(args: argparse.Namespace) -> None:
    gpu = torch.cuda.is_available()
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if gpu else "gloo")
    rank, ranks = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    device = (
        torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if gpu else torch.device("cpu")
    )
    if gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)

    def say(text: str) -> None:
        if rank == 0:
            print(text, flush=True)

    data, pairs, _ = source_of(args.data)
    batch = min(args.batch_size, pairs // ranks)
    if not batch:
        raise SystemExit(f"{args.data[0]}: {pairs} training pairs for {ranks} processes")
    photographs = isinstance(data, list) and isinstance(data[0], str)
    live = args.live or bool(args.recipe) or photographs or None  # a set may be live by itself
    model = UNet(args.width).to(device)
    wrapped: nn.Module = DistributedDataParallel(model) if dist.is_initialized() else model
    optimiser = torch.optim.AdamW(model.parameters(), args.rate)
    val = validation(args)
    if val is None:
        say(
            "no validation pairs, so nothing is measured: --val takes a set or two folders; gloam"
            " regenerate SET NEW --val 100 splits a set anew"
        )
    with PairLoader(
        data,
        "train",
        batch_size=batch,
        size=args.size,
        crop="random",
        augment=True,
        seed=args.seed,
        live=live,
        recipe=args.recipe,
    ) as train:
        epoch = step = 0
        if args.resume and args.checkpoint.exists():
            epoch, step = load(args.checkpoint, model, optimiser, train, rank)
            say(f"{args.checkpoint}: goes on after step {step}")
        name = torch.cuda.get_device_name(device) if gpu else "CPU"
        steps = f"{len(train)} step{'s' * (len(train) > 1)} an epoch"
        say(
            f"{pairs} pairs, {steps}, each of {batch} windows of {args.size} x {args.size}, on"
            f" {ranks} x {name}; checkpoint {args.checkpoint}"
        )
        started, waited, first = time.perf_counter(), 0.0, step
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
            measured = ""
            if val is not None:
                quality, likeness, count = validate(model, val, device)
                measured = (
                    f", {count} whole validation pairs: PSNR {quality:.2f} dB, SSIM {likeness:.3f}"
                )
            say(f"epoch {epoch}, step {step}: loss {loss:.4f}{measured}")
        say(
            f"steps: {step - first}, in {time.perf_counter() - started:.1f} s, {waited:.1f} s of"
            f" them waiting for the loader\n{args.checkpoint}: the network; python"
            f" examples/enhance.py {args.checkpoint} PHOTO brightens one"
        )
    if val is not None:
        val.close()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
