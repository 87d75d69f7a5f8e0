"""Measure what a recipe is worth: a network trained on its lows, judged on unseen real pairs.

    python benchmarks/worth.py PHOTOGRAPHS --recipe even --real LOL/our485/low LOL/our485/high \
        [--test LOL/eval15/low LOL/eval15/high] [--counts 0 15 60] [--held 15] [--seeds 3] \
        [--steps 4000] [--record worth]
    python benchmarks/worth.py PHOTOGRAPHS --real LOW NORMAL --small     # minutes on a CPU

A residual U-Net (2 M parameters) sees a window of the low and a copy of the whole low, so that
exposure is no guess. Lows of recipes are made live of PHOTOGRAPHS, anew in every step. Of `--real`
`--held` scenes are for judging, the others for training (scenes are told by perceptual hashes);
`--counts` says how many of these pairs are trained on: 0 (the recipe alone), and else alone, after
the recipe's (half of the steps each), and mixed with them in every batch, half each. Where
`--counts` is 0 alone, all real pairs are for judging. The scenes held back and the pairs trained on
are spread evenly over the files.

A row has, over the scenes held back and over each `--test` set: PSNR in dB, PSNR once one gain in
linear light is fitted to the normal, SSIM, and LPIPS (AlexNet) where `lpips` is installed; the mean
over seeds with the bootstrap's 95 % interval over scenes, by the code of `gloam judge`. Beside it
the low as it is, and a blind gain: linear light scaled until the mean grey is .45. What the figures
mean, and what not: docs/worth.md.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from recording import options_of, recorded
from torch import nn

import gloam
from gloam.loaders.contents import pairs_in
from gloam.loaders.judging import metrics
from gloam.loaders.judging.metrics import perceptual_measures
from gloam.loaders.judging.results import interval
from gloam.manifests.images.decode import decode_as_rgb
from gloam.manifests.selection.duplicates import look_at, number_scenes
from gloam.synth.recipes.load import load_recipe

RECIPES = ("train", "even", "uneven-broad", "upi", "gamma", "mbllen", "agllnet", "maet-gpu")
Pair = tuple[np.ndarray, np.ndarray]
_LONGEST = 640  # pixels of a training image's longer side
_GLANCE = 64  # of the copy of the whole


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--real", nargs=2, type=Path, required=True)
    parser.add_argument("--test", nargs=2, action="append", default=[], type=Path)
    parser.add_argument("--recipe", action="append", default=[])
    parser.add_argument("--counts", nargs="+", type=int, default=[0], help="real pairs trained on")
    parser.add_argument("--held", type=int, default=15, help="scenes of --real for judging")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--images", type=int, default=1400, help="photographs, at most")
    parser.add_argument("--small", action="store_true", help="for a CPU, to see that it runs")
    args = parser.parse_args()
    if args.small:
        args.steps, args.batch, args.size, args.width, args.seeds = 300, 4, 96, 8, 1
        args.images = min(args.images, 100)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with recorded(args.record):
        name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
        real = read_pairs(*args.real)
        scenes = scenes_of(real)
        order = sorted(set(scenes))
        held = spread(order, args.held if any(args.counts) else len(order))
        train = [pair for pair, scene in zip(real, scenes, strict=True) if scene not in held]
        judged_on = [pair for pair, scene in zip(real, scenes, strict=True) if scene in held]
        if max(args.counts) > len(train):
            raise SystemExit(f"--counts: there are {len(train)} real pairs to train on")
        judges = [Judge("scenes held back", judged_on)]
        judges += [Judge(str(low), read_pairs(low, normal)) for low, normal in args.test]
        photographs = read_images(sorted(pairs_in(args.photographs))[: args.images])
        print(
            f"{args.steps} steps of {args.batch}, {args.seeds} seeds, {name};"
            f" {len(photographs)} photographs, {len(train)} real pairs to train on"
        )
        for judge in judges:
            print(f"{judge.name}: {len(judge.pairs)} pairs of {len(set(judge.scenes))} scenes")
            for way, made in {"the low as it is": as_it_is, "blind gain": blind}.items():
                judge.show(way, [[judge.scores(made(low), normal) for low, normal in judge.pairs]])
        for way, source in ways(args, train, photographs, device):
            models = [trained(source, seed, args, device) for seed in range(args.seeds)]
            for judge in judges:
                judge.show(way, [judge.judged(model, device) for model in models])


def ways(
    args: argparse.Namespace, real: list[Pair], photographs: list[np.ndarray], device: torch.device
) -> Iterator[tuple[str, Source]]:
    """Name what is trained on, and give it: pairs for a step."""
    made = {name: Synthetic(photographs, name, device).pairs for name in args.recipe or RECIPES}
    for count in args.counts:
        if not count:
            yield from made.items()
            continue
        few = Real(spread(real, count)).pairs
        yield f"{count} real", few
        for name, synthetic in made.items():
            half = args.steps // 2
            yield f"{name}, then {count} real", functools.partial(one_after, synthetic, few, half)
            yield f"{name} and {count} real", functools.partial(mixed, synthetic, few)


# ---- pairs


def spread(items: Sequence, count: int) -> list:
    """Take `count` of the items, evenly: neighbours are of one scene, or of one kind."""
    return [items[i * len(items) // count] for i in range(count)]


def read_images(paths: Sequence[str]) -> list[np.ndarray]:
    """Read photographs, uint8 RGB, at most `_LONGEST` pixels long."""
    images = []
    for path in paths:
        image = decode_as_rgb(Path(path).read_bytes())
        share = _LONGEST / max(image.shape[:2])
        if share < 1:
            size = round(image.shape[1] * share), round(image.shape[0] * share)
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        images.append(np.ascontiguousarray(image))
    return images


def read_pairs(lows: Path, normals: Path) -> list[Pair]:
    """Read real pairs, whole."""
    return [
        (decode_as_rgb(Path(low).read_bytes()), decode_as_rgb(Path(normal).read_bytes()))
        for low, normal in pairs_in(lows, normals)
    ]


def scenes_of(pairs: Sequence[Pair]) -> list[int]:
    """Number the scene of each pair; normals that look alike are of one."""
    return number_scenes([look_at(normal) for _, normal in pairs])


Source = Callable[[np.random.Generator, int, int], Iterator[tuple[torch.Tensor, torch.Tensor]]]


class Synthetic:
    """Make pairs live: for each step other photographs, other draws."""

    def __init__(self, photographs: list[np.ndarray], recipe: str, device: torch.device) -> None:
        self.recipe = load_recipe(recipe)
        on_gpu = device.type == "cuda"
        self.images = [torch.from_numpy(p).to(device) if on_gpu else p for p in photographs]

    def pairs(self, rng: np.random.Generator, step: int, count: int) -> Iterator[tuple]:
        chosen = [self.images[i] for i in rng.integers(0, len(self.images), count)]
        keys = [f"{step}-{i}" for i in range(count)]
        seed = int(rng.integers(2**31))
        lows = gloam.darken_batch(chosen, self.recipe, seed=seed, keys=keys)
        yield from zip(map(floats, lows), map(floats, chosen), strict=True)


class Real:
    """Give real pairs, by chance."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.kept = [(floats(low), floats(normal)) for low, normal in pairs]

    def pairs(self, rng: np.random.Generator, step: int, count: int) -> Iterator[tuple]:
        yield from (self.kept[i] for i in rng.integers(0, len(self.kept), count))


def one_after(
    first: Source, second: Source, half: int, rng: np.random.Generator, step: int, count: int
) -> Iterator[tuple]:
    """Give pairs of one source, from step `half` on of the other."""
    return (first if step < half else second)(rng, step, count)


def mixed(
    first: Source, second: Source, rng: np.random.Generator, step: int, count: int
) -> Iterator[tuple]:
    """Give a batch, half of either source."""
    yield from first(rng, step, count - count // 2)
    yield from second(rng, step, count // 2)


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
    """Train on windows of a source's pairs; print the gradient that is left (docs/worth.md)."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Enhancer(args.width).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=args.steps)
    norms = []
    for step in range(args.steps):
        lows, normals, wholes = [], [], []
        for low, normal in source(rng, step, args.batch):
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
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0).detach())
        optimiser.step()
        schedule.step()
    left = torch.stack(norms[args.steps // 2 :]).median()
    print(f"seed {seed}: gradient of {left:.2f} in the second half", flush=True)
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


class Judge:
    """Scores over one set of real pairs."""

    def __init__(self, name: str, pairs: Sequence[Pair]) -> None:
        self.name, self.pairs, self.scenes = name, pairs, scenes_of(pairs)
        self.perceptual = perceptual_measures()[0].get("LPIPS")

    @torch.no_grad()
    def judged(self, model: nn.Module, device: torch.device) -> list[tuple[float, ...]]:
        """Score what a network makes of each low."""
        found = []
        for low, normal in self.pairs:
            image = floats(low).to(device)[None]
            height, width = image.shape[2:]
            padded = F.pad(image, (0, -width % 8, 0, -height % 8), mode="replicate")
            made = model(padded, glanced(image))[0, :, :height, :width].clamp(0, 1)
            found.append(self.scores(made.permute(1, 2, 0).cpu().numpy(), normal))
        return found

    def scores(self, made: np.ndarray, normal: np.ndarray) -> tuple[float, ...]:
        """Return PSNR, PSNR after one gain, SSIM, and LPIPS if there is one."""
        target = metrics.image_of(normal)
        own = metrics.Image(made.astype(np.float64))
        aligned = metrics.one_gain(own, target)
        rest = (self.perceptual(own, target),) if self.perceptual else ()
        (psnr, ssim), (at_one_gain, _) = metrics.measure([own, aligned], target)
        return psnr, at_one_gain, ssim, *rest

    def show(self, way: str, seeds: Sequence[Sequence[tuple[float, ...]]]) -> None:
        """Print a row: means, and the bootstrap's interval over scenes."""
        values = np.mean(seeds, axis=0)
        low, high = interval(values, np.array(self.scenes))
        names = ("dB", "dB after one gain", "SSIM", "LPIPS")
        cells = [
            f"{mean:.{digits}f} {name} ({first:.{digits}f} to {last:.{digits}f})"
            for mean, first, last, name, digits in zip(
                values.mean(axis=0), low, high, names, (2, 2, 3, 3), strict=False
            )
        ]
        spread = " ".join(f"{np.mean(one, axis=0)[0]:.2f}" for one in seeds)
        print(f"| {way} | {self.name} | " + " | ".join(cells) + f" | {spread} |", flush=True)


def as_it_is(low: np.ndarray) -> np.ndarray:
    return low / 255


def blind(low: np.ndarray) -> np.ndarray:
    return metrics.blind_gain(metrics.image_of(low)).part()


if __name__ == "__main__":
    main()
