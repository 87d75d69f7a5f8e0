"""Lows of a CUDA GPU, a batch at a time: equality with the CPU's over 1,000 photographs of any
sizes, and images a second at 500 x 375, whole model, draws given.

    python benchmarks/gpu.py [--images 1000] [--batch 256] [--record gpu]

The photographs are those inside scikit-image, cropped, turned and scaled at random to sizes between
64 and 640; each is darkened by one of six recipes, half of them with every degradation. What is
timed is from normals, packed draws and sizes in device memory to lows there: illumination and
tables included, copies not. Beside it stand the whole of `CameraOnCuda.render`, copies and packing
included, and one CPU core. Needs numba-cuda and a GPU.
"""

from __future__ import annotations

import time

import numpy as np
import skimage.data
from numba import cuda
from PIL import Image
from recording import options_of, recorded

from gloam.synth.draws.record import CameraDraw
from gloam.synth.draws.table import table_of_records
from gloam.synth.kernels.batch.device_memory import address_of
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.on_cuda import CameraOnCuda

RECIPES = ("even", "uneven", "night-lights", "extreme", "maet-cpu", "maet-gpu")
TIMED = RECIPES[:4]
DEGRADED = (
    "degradations.motion.length=uniform(1, 9)",
    "degradations.defocus.radius=uniform(0.5, 2)",
    "degradations.banding.depth=0.3",
    "degradations.fixed_pattern.columns=2",
    "degradations.fixed_pattern.hot_share=1e-3",
    "degradations.fixed_pattern.hot=300",
    "degradations.jpeg.quality=uniform(20, 98)",
)
"""Beside them: each recipe again, with all that may befall its lows."""


def photographs(count: int, size: tuple[int, int] | None = None) -> list[np.ndarray]:
    """Crops of colour photographs, all different, of one size or of many."""
    originals = [
        getattr(skimage.data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")
    ]
    rng = np.random.default_rng(0)
    made = []
    for i in range(count):
        image = originals[i % len(originals)][..., :3]
        height, width = size or ((375, 500) if i % 2 else rng.integers(64, 640, 2).tolist())
        share = rng.uniform(0.4, 1)
        h, w = int(image.shape[0] * share), int(image.shape[1] * share)
        y, x = rng.integers(0, image.shape[0] - h + 1), rng.integers(0, image.shape[1] - w + 1)
        crop = Image.fromarray(image[y : y + h, x : x + w]).resize(
            (width, height), Image.Resampling.BICUBIC
        )
        made.append(np.ascontiguousarray(np.rot90(np.asarray(crop), 2 * rng.integers(0, 2))))
    return made


def drawn_for(i: int, recipe: str, *overrides: str) -> CameraDraw:
    """The draw of an image."""
    one = draw(load_recipe(recipe, overrides), 1, str(i))
    assert isinstance(one, CameraDraw)
    return one


def equality(camera: CameraOnCuda, count: int, batch: int) -> None:
    """Compare the lows of both."""
    everything = photographs(count)
    different = samples = largest = images = 0
    for first in range(0, count, batch):
        normals = everything[first : first + batch]
        draws = [
            drawn_for(first + i, RECIPES[i % len(RECIPES)], *(DEGRADED if i // 8 % 2 else ()))
            for i in range(len(normals))
        ]
        lows = camera.render(normals, table_of_records(draws))
        for low, normal, one in zip(lows, normals, draws, strict=True):
            apart = np.abs(low.astype(int) - render(normal, one))
            different += int(np.count_nonzero(apart))
            images += bool(apart.any())
            largest = max(largest, int(apart.max()))
            samples += apart.size
    print(
        f"{count} photographs, {samples:,} samples: {different} differ (in {images} images),"
        f" by {largest} levels at most"
    )


def speed(camera: CameraOnCuda, recipe: str, batch: int, rounds: int = 10) -> None:
    """Time a batch of one recipe."""
    normals = photographs(batch, (375, 500))
    draws = [drawn_for(i, recipe) for i in range(batch)]
    sample = normals[0].size
    flat = cuda.to_device(np.concatenate([normal.reshape(-1) for normal in normals]))
    low = cuda.device_array(flat.shape, np.uint8)
    sizes = np.tile((375, 500), (batch, 1))
    places = [address_of(array) + sample * np.arange(batch) for array in (flat, low)]
    camera.load(table_of_records(draws))
    for _ in range(3):  # compiled, prepared
        camera.launch(sizes, *places)
    cuda.synchronize()
    begin, end = cuda.event(), cuda.event()
    begin.record()
    start = time.perf_counter()
    for _ in range(rounds):
        camera.launch(sizes, *places)
    asked = (time.perf_counter() - start) / rounds
    end.record()
    end.synchronize()
    device = cuda.event_elapsed_time(begin, end) / 1e3 / rounds
    camera.render(normals, table_of_records(draws))
    start = time.perf_counter()
    camera.render(normals, table_of_records(draws))
    whole = time.perf_counter() - start
    start = time.perf_counter()
    for normal, one in zip(normals[:10], draws, strict=False):
        render(normal, one)
    cpu = (time.perf_counter() - start) / 10
    print(
        f"{recipe:13} {batch / device:8,.0f} images a second on the GPU ({asked * 1e3:.2f} ms to"
        f" launch a batch of {batch}); {batch / whole:,.0f} with packing and copies; one CPU core"
        f" {1 / cpu:,.0f}"
    )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    with recorded(args.record):
        camera = CameraOnCuda()
        equality(camera, args.images, args.batch)
        for recipe in TIMED:
            speed(camera, recipe, args.batch)


if __name__ == "__main__":
    main()
