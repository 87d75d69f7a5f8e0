"""Lows of a GPU have the bytes of those of the CPU. Runs where there is one; benchmarks/gpu.py does
it for 1,000 images."""

from __future__ import annotations

import pytest

from gloam.synth.camera.render import render_camera
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe

pytest.importorskip("numba_cuda")
from numba import cuda

if not cuda.is_available():
    pytest.skip("no CUDA GPU", allow_module_level=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recipe", ["even", "uneven", "night-lights", "extreme", "maet-gpu"])
def test_the_gpu_makes_the_same_bytes(photograph, recipe):
    from gloam.synth.camera.render_cuda import render_on_gpu

    drawn = draw(load_recipe(recipe), 0, "k")
    assert (render_on_gpu(photograph, drawn) == render_camera(photograph, drawn)).all()
