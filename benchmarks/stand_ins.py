"""Dark pairs of somebody else's making, for `worth.py` where there are no real ones.

    python benchmarks/stand_ins.py PHOTOGRAPHS FOLDER

A quarter of the photographs become test pairs of five kinds, FOLDER/{even,uneven,noisy,smooth,lol}/
{low,normal}; the others are copied to FOLDER/train, to train on. Nothing of gloam makes the lows,
and none of its numbers: a power of the encoded picture, a gain in linear light, casts of each
channel, noise in the encoded picture that grows with it, of which a part is common to the channels
and neighbours share some. "even" has LOL's darkness, ratio and noise (its medians, notes of LOL's
485 training pairs); "uneven" gradients, falloff and one to three warm or cold lights where pictures
are bright; "noisy" two to three times the noise, behind JPEG of quality 85 to 96; "smooth" is
"even" of pictures whose middle is enlarged twice: rooms and things at close range, as LOL has them,
have few fine textures, and what SSIM sees there is how noise was taken away; its noise is nearly
white, and that of red and blue larger, as LOL's are; "lol" has of LOL what is known of it besides:
a weaker contrast, a field of .2 EV, and how channels' noise differs and goes together.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.float64]
SUFFIXES = (".jpg", ".jpeg", ".png")
KINDS = ("even", "uneven", "noisy", "smooth", "lol")


def to_linear(x: Image) -> Image:
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def to_encoded(x: Image) -> Image:
    return np.where(x <= 0.0031308, x * 12.92, 1.055 * np.maximum(x, 1e-9) ** (1 / 2.4) - 0.055)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("photographs", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    files = sorted(p for p in args.photographs.rglob("*") if p.suffix.lower() in SUFFIXES)
    train = args.folder / "train"
    train.mkdir(parents=True)
    for i, path in enumerate(path for n, path in enumerate(files) if n % 4):
        (train / f"{i:04d}{path.suffix}").write_bytes(path.read_bytes())
    rng = np.random.default_rng(5)
    for kind in KINDS:
        places = [args.folder / kind / role for role in ("low", "normal")]
        for place in places:
            place.mkdir(parents=True)
        for i, path in enumerate(files[::4]):
            normal = cv2.imread(str(path))[..., ::-1]
            if min(normal.shape[:2]) >= 64:
                normal = enlarged(normal) if kind in ("smooth", "lol") else normal
                low = like_lol(normal, rng) if kind == "lol" else low_of(normal, kind, rng)
                for place, image in zip(places, (low, normal), strict=True):
                    cv2.imwrite(str(place / f"{i:04d}.png"), image[..., ::-1])


def enlarged(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the middle of a picture at twice its size."""
    height, width = image.shape[:2]
    part = image[height // 4 : height // 4 + height // 2, width // 4 : width // 4 + width // 2]
    part = np.ascontiguousarray(part)
    twice = part.shape[1] * 2, part.shape[0] * 2
    return np.asarray(cv2.resize(part, twice, interpolation=cv2.INTER_CUBIC), np.uint8)


def low_of(normal: npt.NDArray[np.uint8], kind: str, rng: np.random.Generator) -> Image:
    """Return a low, uint8 RGB (H, W, 3)."""
    x = normal / 255.0
    low = to_linear(x ** np.clip(rng.normal(1.5, 0.15), 1.2, 1.85))
    uneven, smooth = kind == "uneven", kind == "smooth"
    mean = 5.9 if smooth else 6.4
    ev = (
        np.clip(rng.normal(5.4, 1), 3, 8)
        if uneven
        else np.clip(rng.normal(mean, 1.2), mean - 2.4, 9)
    )
    same = np.median(to_linear(x)) / max(np.median(low), 1e-6)
    low = low * same * 2.0**-ev
    low = low * 2.0 ** rng.normal(0, 0.2, 3)
    if uneven:
        low = low * field_of(x, rng)
    y = to_encoded(np.clip(low, 0, 1))
    noisy = kind == "noisy"
    sigma = rng.uniform(1.5, 4) / 255 if noisy else 1.15 / 255 * np.exp(rng.normal(0, 0.4))
    height, width = x.shape[:2]
    common, own = rng.normal(size=(height, width, 1)), rng.normal(size=(height, width, 3))
    noise = cv2.GaussianBlur(0.57 * common + 0.82 * own, (0, 0), 0.35 if smooth else 0.55)
    noise /= noise.std()
    noise *= np.array([1.45, 0.82, 1.1]) if smooth else 1.0
    y = y + sigma * (0.6 + 0.9 * np.sqrt(np.clip(y, 0, 1) / 0.1)).clip(0, 3) * noise
    levels = np.clip(np.rint(y * 255), 0, 255).astype(np.uint8)
    if noisy:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(85, 97))]
        levels = cv2.imdecode(cv2.imencode(".jpg", levels[..., ::-1], quality)[1], 1)[..., ::-1]
    return levels


def like_lol(normal: npt.NDArray[np.uint8], rng: np.random.Generator) -> Image:
    """Return a low of kind "lol"."""
    x = normal / 255.0
    height, width = x.shape[:2]
    low = to_linear(x ** np.clip(rng.normal(1.25, 0.12), 1, 1.6))
    same = np.median(to_linear(x)) / max(np.median(low), 1e-6)
    low = (
        low * same * 2.0 ** -np.clip(rng.normal(5.75, 1.25), 3.3, 9) * 2.0 ** rng.normal(0, 0.2, 3)
    )
    grid = cv2.resize(rng.normal(0, 1, (4, 4)), (width, height), interpolation=cv2.INTER_CUBIC)
    low = low * 2.0 ** (rng.uniform(0, 0.45) * (grid - grid.mean()))[..., None]
    y = to_encoded(np.clip(low, 0, 1))
    noise = 0.5 * rng.normal(size=(height, width, 1)) + 0.87 * rng.normal(size=(height, width, 3))
    noise *= np.array([1.75, 1.0, 1.3])
    sigma = 1.25 / 255 * np.exp(rng.normal(0, 0.45))
    y = y + sigma * (0.5 + 0.6 * np.sqrt(np.clip(y, 0, 1) / 0.1)).clip(0, 3) * noise
    return np.clip(np.rint(y * 255), 0, 255).astype(np.uint8)


def field_of(x: Image, rng: np.random.Generator) -> Image:
    """Return factors on the light of a picture (H, W, 3)."""
    height, width = x.shape[:2]
    longer = max(height, width)
    rows, columns = np.mgrid[:height, :width]
    down, across = rows / longer - height / 2 / longer, columns / longer - width / 2 / longer
    angle = rng.uniform(0, 6.28)
    slope = (np.cos(angle) * across + np.sin(angle) * down) * rng.uniform(0, 5)
    slope = slope - rng.uniform(0, 2) * (across**2 + down**2) * 2
    bright = cv2.GaussianBlur(to_linear(x).mean(2), (0, 0), longer / 20) ** 2
    light = np.zeros((height, width, 3))
    for _ in range(rng.integers(1, 4)):
        y, at = divmod(rng.choice(height * width, p=(bright / bright.sum()).ravel()), width)
        distance = ((rows - y) ** 2 + (columns - at) ** 2) / longer**2
        spot = 2.0 ** rng.uniform(1, 3.5) * np.exp(-distance / 2 / rng.uniform(0.08, 0.3) ** 2)
        light += spot[..., None] * np.array([1.0, 0.9, 0.75]) ** rng.uniform(-0.3, 1)
    return 2.0 ** slope[..., None] * (1 + light) / (1 + light).mean() ** 0.5


if __name__ == "__main__":
    main()
