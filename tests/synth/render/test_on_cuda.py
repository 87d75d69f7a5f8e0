"""Lows of a GPU have the bytes of those of the CPU: where there is one, they are compared
(benchmarks/gpu.py does it for 1,000 photographs); where there is none, the kernels are compiled."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gloam.errors import ConfigError
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe, shipped_recipes
from gloam.synth.renderers import render_batch

from .test_kernel_args import RECIPES

pytest.importorskip("numba_cuda")
import numba
from numba import cuda

GPU = cuda.is_available()


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")
def test_the_gpu_makes_the_same_bytes(photograph):
    shipped = [load_recipe(name) for name in sorted(shipped_recipes())]
    # Beside them those of the digests, which have every parameter between them.
    draws = [draw(recipe, 0, str(i)) for i, recipe in enumerate([*shipped, *RECIPES.values()])]
    normals = [np.ascontiguousarray(photograph[i:, i:]) for i in range(len(draws))]
    lows = render_batch(normals, draws, "cuda")
    for low, normal, drawn in zip(lows, normals, draws, strict=True):
        assert (low == render(normal, drawn)).all()


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")
def test_refined_roots_and_reciprocals_are_those_of_the_compiler():
    """Try all float32 of two octaves, of which those of the others are copies."""
    import math

    from gloam.synth.kernels.compiling import for_cuda

    root_of, reciprocal_of = for_cuda._sqrt, for_cuda.reciprocal

    @cuda.jit(lto=False)
    def compare(bits, differ):
        x = np.uint32(bits + cuda.grid(1)).view(np.float32)
        if root_of(x) != math.sqrt(x):
            cuda.atomic.add(differ, 0, 1)
        if reciprocal_of(x) != np.float32(1) / x:
            cuda.atomic.add(differ, 1, 1)

    differ = cuda.to_device(np.zeros(2, np.int64))
    with for_cuda.plain_arithmetic():
        for exponent in (127, 128):
            compare[(1 << 23) // 256, 256](np.int64(exponent << 23), differ)
    assert differ.copy_to_host().tolist() == [0, 0]


@pytest.mark.skipif(GPU, reason="there is a CUDA GPU")
def test_without_a_gpu_one_is_told_so():
    with pytest.raises(ConfigError, match="device cuda: no GPU found; it needs an NVIDIA GPU"):
        render_batch([], [], "cuda")


@pytest.mark.slow
def test_every_kernel_compiles_to_ptx_without_joining_multiplications_and_additions():
    """All that `fma` asks for, and roots, and none besides: fields and tables ask for none."""
    pytest.importorskip("nvidia.cuda_nvcc", reason="NVIDIA's compiler is not installed")
    from gloam.synth.kernels.batch import launch_cuda as steps

    from .ptx import BATCH, FORMS, MAPS, RESIZING, ptx_of

    kernels = [(step, [BATCH]) for step in steps.LOWS]
    kernels += [(step, [BATCH, MAPS]) for step in steps.MAPS]
    kernels += [(step, [BATCH, FORMS]) for step in steps.FLIP]
    kernels += [(step, [BATCH, FORMS, RESIZING]) for step in steps.RESIZE]
    joined, refined = {}, set()
    for (name, step), arguments in kernels:
        text = ptx_of(step, numba.types.Tuple(arguments), numba.int64)
        assert ".target sm_90" in text
        entry = text[text.index(".visible .entry") :]
        joined[name] = len(re.findall(r"\bfma\.rn", entry))
        if "rcp.approx" in entry:
            refined.add(name)
        assert not re.findall(r"\b(?:div|sqrt)\.(?:approx|full)[.a-z0-9]*", entry), name
    asked = {
        "mosaics",
        "curved_mosaics",
        "grainy_mosaics",
        "spreads",
        "emitter_spreads",
        "patterns",
        "rows",
        "gaussians",
        "quads",
        "curved_quads",
        "grainy_quads",
        "sites",
        "blurs",
        "merges",
        "resize_flipped",
        "channels",
        "site_means",  # the root that lightness is
        "moments",
        "maps",
    }
    asked |= {"samples", "transforms", "quantisations", "restorations", "returns", "decodes"}
    assert {name for name, count in joined.items() if count} == asked
    # Reciprocals, which `reciprocal` makes exact.
    assert refined == {
        *("quads", "curved_quads", "grainy_quads", "sites", "emitter_spreads", "maps")
    }
