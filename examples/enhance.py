"""Brighten photographs with a model that examples/train.py trained, and measure it on real pairs.

python examples/enhance.py unet.pt dark-1.jpg folder/ --out enhanced
python examples/enhance.py unet.pt --low LOL/eval15/low --normal LOL/eval15/high
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from train import UNet, psnr, ssim

from gloam.errors import GloamError, ImageRefused
from gloam.loaders import pairs_in
from gloam.manifests.images.decode import decode_as_rgb
from gloam.manifests.images.header import SUFFIXES
from gloam.manifests.images.normals import encode


def load(checkpoint: Path, device: torch.device) -> UNet:
    try:
        weights = torch.load(checkpoint, map_location="cpu", weights_only=True)["model"]
        model = UNet(weights["last.weight"].shape[1])
        model.load_state_dict(weights)
    except OSError:
        raise
    except Exception as error:  # whatever torch says of a file of another kind
        raise SystemExit(f"{checkpoint}: holds no network that examples/train.py wrote") from error
    return model.to(device).eval()


def read(path: Path, device: torch.device) -> torch.Tensor:
    """RGB, (1, 3, H, W) in [0, 1]."""
    return (
        torch.from_numpy(decode_as_rgb(path.read_bytes()).copy())
        .to(device)
        .permute(2, 0, 1)[None]
        .float()
        / 255
    )


@torch.no_grad()
def enhance(model: UNet, low: torch.Tensor) -> torch.Tensor:
    """Take a picture of any size."""
    return model(low).float().clamp(0, 1)


def photographs(paths: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Each photograph, and the name of what is made of it."""
    for path in paths:
        found = (
            sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
            if path.is_dir()
            else [path]
        )
        for photo in found:
            yield (
                photo,
                (photo.relative_to(path) if path.is_dir() else Path(photo.name)).with_suffix(
                    ".png"
                ),
            )


def enhance_files(model: UNet, paths: list[Path], out: Path, device: torch.device) -> None:
    """Photographs, and those of folders, to PNGs of equal names."""
    for photo, name in photographs(paths):
        try:
            low = read(photo, device)
        except ImageRefused as refusal:
            print(f"passed over: {photo}: {refusal}")
            continue
        made = enhance(model, low)[0].permute(1, 2, 0).mul(255).round()
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(encode(np.ascontiguousarray(made.to(torch.uint8).cpu().numpy()), "png"))
        print(target)


def measure(model: UNet, lows: Path, normals: Path, device: torch.device) -> None:
    """PSNR and SSIM of a folder of real pairs; also with the mean set to the normal's (GT-mean), as
    papers often give it: that uses the answer, which no user has."""
    rows = []
    for low_path, normal_path in pairs_in(lows, normals):
        normal = read(Path(normal_path), device)
        made = enhance(model, read(Path(low_path), device))
        levelled = (made * normal.mean() / made.mean()).clamp(0, 1)
        rows.append(
            [float(score(image, normal)) for image in (made, levelled) for score in (psnr, ssim)]
        )
        print(f"{Path(low_path).name}: PSNR {rows[-1][0]:.2f} dB, SSIM {rows[-1][1]:.3f}")
    mean = np.mean(rows, axis=0)
    print(
        f"{len(rows)} pairs: PSNR {mean[0]:.2f} dB, SSIM {mean[1]:.3f}; with the normal's mean"
        f" (GT-mean, which looks at the answer): {mean[2]:.2f} dB, {mean[3]:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("photos", type=Path, nargs="*", help="photographs, or folders of them")
    parser.add_argument(
        "--out", type=Path, default=Path("enhanced"), help="folder for what is made of them"
    )
    parser.add_argument("--low", type=Path, help="folder of real lows to measure on")
    parser.add_argument("--normal", type=Path, help="folder of their normals, with equal names")
    args = parser.parse_args()
    if bool(args.low) != bool(args.normal) or not (args.low or args.photos):
        parser.error("give photographs, or --low and --normal, or both")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load(args.checkpoint, device)
    enhance_files(model, args.photos, args.out, device)
    if args.low:
        measure(model, args.low, args.normal, device)


if __name__ == "__main__":
    try:
        main()
    except (GloamError, OSError) as error:
        raise SystemExit(f"enhance.py: {error}") from error
