"""Time each kernel of a batch of live pairs on a CUDA GPU: lows of whole images, both resized.

    python benchmarks/kernels.py [--recipe even --recipe uneven] [--record kernels]

256 photographs of 500 x 375, those inside scikit-image as `gpu.py` crops them; both pictures are
brought to 192 x 192 as float32. CUPTI tells the times, through torch's profiler. Needs numba-cuda,
torch and a GPU.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import torch
from gpu import photographs
from numba import cuda
from recording import options_of, recorded
from torch.profiler import ProfilerActivity, profile

from gloam.synth.kernels.batch import launch_cuda
from gloam.synth.kernels.batch.device_memory import address_of
from gloam.synth.models import draw_table
from gloam.synth.recipes.load import load_recipe
from gloam.synth.render.on_cuda import CameraOnCuda, OutputSpec

BATCH, HEIGHT, WIDTH, SIDE = 256, 375, 500, 192
STEPS = [step.name for step in (*launch_cuda.LOWS, *launch_cuda.RESIZE)]
# Names come mangled: their length stands before them.
_KERNEL = re.compile(rf"(?<=\d)({'|'.join(STEPS)})(?=[BE])|Memcpy")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--recipe", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    torch.zeros(1, device="cuda")
    with recorded(args.record):
        camera = CameraOnCuda()
        normals = photographs(BATCH, (HEIGHT, WIDTH))
        sample = normals[0].size
        flat = cuda.to_device(np.concatenate([normal.reshape(-1) for normal in normals]))
        low = cuda.device_array(flat.shape, np.uint8)
        sizes = np.tile((HEIGHT, WIDTH), (BATCH, 1))
        places = [address_of(array) + sample * np.arange(BATCH) for array in (flat, low)]
        windows = np.zeros((BATCH, 7), np.int64)
        windows[:, 2:4] = sizes
        made = cuda.device_array((2, BATCH, 3 * SIDE * SIDE), np.float32)
        step = np.uint64(4 * 3 * SIDE * SIDE)
        first = np.uint64(address_of(made)) + np.arange(BATCH, dtype=np.uint64) * step
        formed = OutputSpec(
            first, first + np.uint64(BATCH) * step, True, 0.0, 1 / 255, size=(SIDE, SIDE)
        )
        for recipe in args.recipe or ("even", "uneven", "train"):
            camera.load(draw_table(load_recipe(recipe), 1, [str(i) for i in range(BATCH)]))
            for _ in range(4):  # compiled, prepared
                camera.launch(sizes, *places, windows=windows, formed=formed)
            cuda.synchronize()
            with profile(activities=[ProfilerActivity.CUDA]) as seen:
                for _ in range(args.rounds):
                    camera.launch(sizes, *places, windows=windows, formed=formed)
                cuda.synchronize()
                torch.cuda.synchronize()
            taken: Counter[str] = Counter()
            for event in seen.events():
                if event.device_time > 0:
                    known = _KERNEL.search(event.name)
                    taken[known[0] if known else event.name[:20]] += event.device_time / args.rounds
            steps = ", ".join(f"{name} {time:.0f}" for name, time in taken.most_common())
            print(f"{recipe}: {sum(taken.values()):,.0f} microseconds a batch: {steps}")


if __name__ == "__main__":
    main()
