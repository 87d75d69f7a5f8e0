"""What a recipe is worth: a network trained on its lows alone, tested on real pairs it never saw.

    python benchmarks/worth.py PHOTOGRAPHS --test LOL/eval15/low LOL/eval15/high \
        [--recipe even --recipe train ...] [--real LOL/our485/low LOL/our485/high] \
        [--seeds 3] [--steps 4000] [--record worth]
    python benchmarks/worth.py PHOTOGRAPHS --test LOW NORMAL --small     # minutes on a CPU

A residual U-Net (2 M parameters) sees a window of the low and a copy of the whole low, so that
exposure is no guess. Its lows are made live of PHOTOGRAPHS, anew in every step; those of `--real`
are a set's own. Printed are PSNR (dB) and SSIM over each `--test` set, the mean over seeds with the
bootstrap's 95 % interval over images (1,000 draws), beside a blind gain: linear light scaled until
the mean grey is .45. What the figures mean, and what not: docs/worth.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from recording import recorded
from torch import nn

import gloam
from gloam.loaders.index import pairs_in
from gloam.manifests.images.decode import decode_as_rgb
from gloam.synth.kernels.curves import LEVEL_LIGHT, linear_to_srgb
from gloam.synth.recipes.load import load_recipe

RECIPES = ("train", "even", "uneven", "upi", "gamma", "mbllen", "agllnet", "maet-gpu")
_LONGEST = 640  # pixels of a training image's longer side
_GLANCE = 64  # of the copy of the whole
_GREY = 0.45


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--test", nargs=2, action="append", required=True, type=Path)
    parser.add_argument("--real", nargs=2, type=Path)
    parser.add_argument("--recipe", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--images", type=int, default=1400, help="photographs, at most")
    parser.add_argument("--small", action="store_true", help="for a CPU, to see that it runs")
    parser.add_argument("--record", metavar="NAME", help="Also write results/NAME.txt.")
    args = parser.parse_args()
    if args.small:
        args.steps, args.batch, args.size, args.width, args.seeds = 300, 4, 96, 8, 1
        args.images = min(args.images, 100)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with recorded(args.record):
        name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
        print(f"{args.steps} steps of {args.batch}, {args.seeds} seeds, {name}")
        tests = [read_pairs(low, normal) for low, normal in args.test]
        print("| trained on | " + " | ".join(str(low) for low, _ in args.test) + " |")
        print("| --- |" + " --- |" * len(tests))
        show("no network: gain", [[scores(blind(low), normal) for low, normal in t] for t in tests])
        photographs = read_images(sorted(pairs_in(args.photographs))[: args.images])
        ways: list[tuple[str, Source]] = [
            (recipe, Synthetic(photographs, recipe, device)) for recipe in args.recipe or RECIPES
        ]
        if args.real:
            ways.append(("real pairs", Real(read_pairs(*args.real))))
        for name, source in ways:
            by_seed = []
            for seed in range(args.seeds):
                model = trained(source, seed, args, device)
                by_seed.append([judged(model, test, device) for test in tests])
            show(name, [np.mean([one[i] for one in by_seed], axis=0) for i in range(len(tests))])


# ---- pairs


def read_images(paths: Sequence[str]) -> list[np.ndarray]:
    """Photographs, uint8 RGB, at most `_LONGEST` pixels long."""
    made = []
    for path in paths:
        image = decode_as_rgb(Path(path).read_bytes())
        share = _LONGEST / max(image.shape[:2])
        if share < 1:
            size = round(image.shape[1] * share), round(image.shape[0] * share)
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        made.append(np.ascontiguousarray(image))
    return made


def read_pairs(lows: Path, normals: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Real pairs, whole."""
    return [
        (decode_as_rgb(Path(low).read_bytes()), decode_as_rgb(Path(normal).read_bytes()))
        for low, normal in pairs_in(lows, normals)
    ]


class Synthetic:
    """Pairs made live: for each step other photographs, other draws."""

    def __init__(self, photographs: list[np.ndarray], recipe: str, device: torch.device) -> None:
        self.recipe, self.device = load_recipe(recipe), device
        on_gpu = device.type == "cuda"
        self.images = [torch.from_numpy(p).to(device) if on_gpu else p for p in photographs]

    def pairs(self, rng: np.random.Generator, step: int, count: int) -> Iterator[tuple]:
        chosen = [self.images[i] for i in rng.integers(0, len(self.images), count)]
        keys = [f"{step}-{i}" for i in range(count)]
        seed = int(rng.integers(2**31))
        lows = gloam.darken_batch(chosen, self.recipe, seed=seed, keys=keys)
        yield from zip(map(floats, lows), map(floats, chosen), strict=True)


class Real:
    """Pairs of a set of real ones."""

    def __init__(self, pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.held = pairs

    def pairs(self, rng: np.random.Generator, step: int, count: int) -> Iterator[tuple]:
        for i in rng.integers(0, len(self.held), count):
            yield tuple(map(floats, self.held[i]))


Source = Synthetic | Real


def floats(image: np.ndarray | torch.Tensor) -> torch.Tensor:
    """(3, H, W) in [0, 1]."""
    tensor = image if isinstance(image, torch.Tensor) else torch.tensor(image)
    return tensor.permute(2, 0, 1).float() / 255


# ---- the network


def block(inner: int, outer: int) -> nn.Sequential:
    first, second = (nn.Conv2d(a, outer, 3, padding=1) for a in (inner, outer))
    return nn.Sequential(first, nn.GELU(), second, nn.GELU())


class Enhancer(nn.Module):
    """A U-Net of four levels over a window; a small copy of the whole tells it where it is."""

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([6, *sizes[:-1]], sizes, strict=True))
        self.up = nn.ModuleList(
            block(a + b, b) for a, b in zip(sizes[:0:-1], sizes[-2::-1], strict=True)
        )
        self.glance = nn.Sequential(
            block(6, width), nn.AvgPool2d(4), block(width, 2 * width), nn.AvgPool2d(4),
            block(2 * width, 4 * width), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(4 * width, 8 * width),
        )  # fmt: skip
        self.gain = nn.Linear(8 * width, 3)
        self.last = nn.Conv2d(width, 3, 1)

    def forward(self, low: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        told = self.glance(both(whole))
        x, kept = both(low), []
        # Where it starts: a power of the low that the whole picture chooses.
        start = low.clamp(1e-4, 1) ** torch.sigmoid(self.gain(told))[..., None, None]
        for level, layer in enumerate(self.down):
            x = layer(x if level == 0 else F.avg_pool2d(x, 2))
            kept.append(x)
        x = x + told[..., None, None]
        for layer, skip in zip(self.up, kept[-2::-1], strict=True):
            x = layer(torch.cat([F.interpolate(x, scale_factor=2.0), skip], 1))
        return start + self.last(x)


def both(image: torch.Tensor) -> torch.Tensor:
    """An image and its fourth root, in which the dark can be told apart."""
    return torch.cat([image, image.clamp(1e-4, 1) ** 0.25], 1)


def glanced(image: torch.Tensor) -> torch.Tensor:
    return F.interpolate(image, (_GLANCE, _GLANCE), mode="area")


def trained(source: Source, seed: int, args: argparse.Namespace, device: torch.device) -> nn.Module:
    """Train on windows of a source's pairs."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Enhancer(args.width).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=args.steps)
    for step in range(args.steps):
        lows, normals, wholes = [], [], []
        for low, normal in source.pairs(rng, step, args.batch):
            low, normal = (one.to(device, non_blocking=True) for one in (low, normal))
            wholes.append(glanced(low[None])[0])
            part, target = window(low, normal, args.size, rng)
            lows.append(part)
            normals.append(target)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            made = model(torch.stack(lows), torch.stack(wholes))
        loss = (made.float() - torch.stack(normals)).abs().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


def window(
    low: torch.Tensor, normal: torch.Tensor, size: int, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same random window of both, flipped alike; small pictures are repeated at their edges."""
    pair = torch.cat([low, normal])[None]
    lack = [max(0, size - side) for side in pair.shape[2:]]
    if any(lack):
        pair = F.pad(pair, (0, lack[1], 0, lack[0]), mode="replicate")
    top, left = (int(rng.integers(side - size + 1)) for side in pair.shape[2:])
    pair = pair[0, :, top : top + size, left : left + size]
    flips = [axis for axis in (1, 2) if rng.random() < 0.5]
    pair = pair.flip(flips)
    return pair[:3], pair[3:]


# ---- judging


@torch.no_grad()
def judged(
    model: nn.Module, pairs: Sequence[tuple[np.ndarray, np.ndarray]], device: torch.device
) -> np.ndarray:
    """PSNR and SSIM of each pair."""
    found = []
    for low, normal in pairs:
        image = floats(low).to(device)[None]
        height, width = image.shape[2:]
        padded = F.pad(image, (0, -width % 8, 0, -height % 8), mode="replicate")
        made = model(padded, glanced(image))[0, :, :height, :width].clamp(0, 1)
        found.append(scores(made.permute(1, 2, 0).cpu().numpy(), normal))
    return np.array(found)


def blind(low: np.ndarray) -> np.ndarray:
    """A low whose linear light is scaled until its mean grey, sRGB, is .45."""
    light, least, most = LEVEL_LIGHT[low], 1.0, 4096.0
    for _ in range(30):
        gain = math.sqrt(least * most)
        bright = float(np.mean(linear_to_srgb(np.minimum(light * gain, 1)))) > _GREY
        least, most = (least, gain) if bright else (gain, most)
    return np.asarray(linear_to_srgb(np.minimum(light * most, 1)))


def scores(made: np.ndarray, normal: np.ndarray) -> tuple[float, float]:
    """PSNR in dB, and SSIM by Wang et al. (2004): 11 x 11 Gaussian window, sigma 1.5, RGB."""
    a, b = made.astype(np.float64), normal.astype(np.float64) / 255

    def mean(x: np.ndarray) -> np.ndarray:
        return cv2.GaussianBlur(x, (11, 11), 1.5)[5:-5, 5:-5]

    one, two = mean(a), mean(b)
    variances = mean(a * a) - one * one, mean(b * b) - two * two
    covariance = mean(a * b) - one * two
    first, second = 0.01**2, 0.03**2
    ssim = ((2 * one * two + first) * (2 * covariance + second)) / (
        (one * one + two * two + first) * (variances[0] + variances[1] + second)
    )
    return -10 * math.log10(max(float(((a - b) ** 2).mean()), 1e-10)), float(ssim.mean())


def show(name: str, tests: Sequence[Sequence[tuple[float, float]]]) -> None:
    """Print a row: means, and the bootstrap's interval over images."""
    rng = np.random.default_rng(0)
    cells = []
    for found in tests:
        values = np.asarray(found)
        draws = values[rng.integers(0, len(values), (1000, len(values)))].mean(axis=1)
        (low_db, low_ssim), (high_db, high_ssim) = np.percentile(draws, (2.5, 97.5), axis=0)
        db, ssim = values.mean(axis=0)
        cells.append(
            f"{db:.2f} ({low_db:.1f} to {high_db:.1f}) / {ssim:.3f} ({low_ssim:.2f} to"
            f" {high_ssim:.2f})"
        )
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
