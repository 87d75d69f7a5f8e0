"""Compiled code that processes find."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Functions for kernels have no cache of their own: called from Python they are compiled anew.
SCRIPT = """
import gc
import numpy as np
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

import gloam
from gloam.synth.kernels.png.file import encode_png
from gloam.synth.kernels.resize import resize_taps
from gloam.synth.recipes.load import shipped_recipes

pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
for recipe in shipped_recipes():
    encode_png(gloam.darken(pixels, recipe, key="a"))
resize_taps(60, 20)
for each in gc.get_objects():
    if isinstance(each, Dispatcher) and each.overloads and isinstance(each._cache, NullCache):
        print(each.py_func)
"""


@pytest.mark.slow
def test_a_second_process_compiles_nothing():
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
        )
    assert found.stdout == ""
