"""Lows of a CUDA GPU against the CPU's: equality over 1,000 photographs, and images a second at 500
x 375.

    python benchmarks/gpu.py [--images 1000]

The photographs are those inside scikit-image, cropped, turned and scaled at random to sizes between
64 and 640; each is darkened by one of four recipes (even, uneven, night-lights, extreme). Needs
numba-cuda and a GPU.

On one NVIDIA H200 (CPU: Intel Xeon), two runs: of 462,292,869 samples none differs. Images of 500 x
375 a second, launched one by one from Python (five launches of some 35 us each are the limit), as
one picture of a hundred, and on one CPU core:

    even           5,790   48,318    282
    uneven         5,767   48,329    278
    night-lights   5,798   47,029    241
    extreme        5,013   39,732    301
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import skimage.data
from numba import cuda
from PIL import Image

from gloam.synth.camera.draw import CameraDraw
from gloam.synth.camera.render import arguments, render_camera
from gloam.synth.camera.render_cuda import launch, on_device, render_on_gpu, workspace
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe

RECIPES = ("even", "uneven", "night-lights", "extreme")


def photographs(count: int) -> list[np.ndarray]:
    """Crops of colour photographs, all different."""
    originals = [
        getattr(skimage.data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")
    ]
    rng = np.random.default_rng(0)
    made = []
    for i in range(count):
        image = originals[i % len(originals)][..., :3]
        height, width = (375, 500) if i % 2 else rng.integers(64, 640, 2).tolist()
        share = rng.uniform(0.4, 1)
        h, w = int(image.shape[0] * share), int(image.shape[1] * share)
        y, x = rng.integers(0, image.shape[0] - h + 1), rng.integers(0, image.shape[1] - w + 1)
        crop = Image.fromarray(image[y : y + h, x : x + w]).resize(
            (width, height), Image.Resampling.BICUBIC
        )
        made.append(np.ascontiguousarray(np.rot90(np.asarray(crop), 2 * rng.integers(0, 2))))
    return made


def drawn_for(i: int) -> CameraDraw:
    one = draw(load_recipe(RECIPES[i % len(RECIPES)]), 1, str(i))
    assert isinstance(one, CameraDraw)
    return one


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=1000)
    args = parser.parse_args()
    warnings.filterwarnings(
        "ignore", ".*Grid size"
    )  # single images do not fill a GPU; that is what is measured
    print(f"GPU: {cuda.get_current_device().name}")
    different = samples = largest = images = 0
    for i, normal in enumerate(photographs(args.images)):
        one = drawn_for(i)
        apart = np.abs(render_on_gpu(normal, one).astype(int) - render_camera(normal, one))
        different += int(np.count_nonzero(apart))
        images += bool(apart.any())
        largest = max(largest, int(apart.max()))
        samples += apart.size
    print(
        f"{args.images} photographs, {samples:,} samples: {different} differ (in {images} images),"
        f" by {largest} levels at most"
    )
    speed()


def speed(rounds: int = 200) -> None:
    """Time of the kernels alone: arguments and pixels lie in device memory."""
    normal = next(p for p in photographs(8) if p.shape == (375, 500, 3))
    for name in RECIPES:
        one = draw(load_recipe(name), 1, "speed")
        assert isinstance(one, CameraDraw)
        given = arguments(normal, one)
        held, low, work = (
            on_device(given),
            cuda.device_array(normal.shape, np.uint8),
            workspace(375, 500),
        )
        rgb = cuda.to_device(normal)
        launch(rgb, held, given, low, work)
        cuda.synchronize()
        begin, end = cuda.event(), cuda.event()
        start = time.perf_counter()
        begin.record()
        for _ in range(rounds):
            launch(rgb, held, given, low, work)
        end.record()
        end.synchronize()
        wall = time.perf_counter() - start
        device = cuda.event_elapsed_time(begin, end) / 1e3
        wide = np.tile(normal, (10, 10, 1))
        many = arguments(wide, one)
        held, low, work = (
            on_device(many),
            cuda.device_array(wide.shape, np.uint8),
            workspace(*wide.shape[:2]),
        )
        rgb = cuda.to_device(wide)
        launch(rgb, held, many, low, work)
        begin.record()
        for _ in range(20):
            launch(rgb, held, many, low, work)
        end.record()
        end.synchronize()
        filled = 20 * 100 / (cuda.event_elapsed_time(begin, end) / 1e3)
        start = time.perf_counter()
        for _ in range(10):
            render_camera(normal, one)
        cpu = (time.perf_counter() - start) / 10
        print(
            f"{name:13} 500 x 375: {rounds / device:8,.0f} images a second on the GPU, launched one"
            f" by one from Python; {rounds / wall:,.0f} by the clock; {filled:,.0f} a hundred at"
            f" once; one CPU core {1 / cpu:,.0f}"
        )


if __name__ == "__main__":
    main()
