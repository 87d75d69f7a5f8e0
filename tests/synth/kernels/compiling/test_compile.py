"""Kernels that are compiled for any CPU make the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from llvmlite import binding

from gloam.synth.kernels.compiling.compile import takes_wide_vectors

SCRIPT = """
import hashlib, sys
from pathlib import Path
import numpy as np
from gloam.synth.kernels.compiling import cache_folders, compile
if len(sys.argv) > 1:  # compiled for this alone; else as it is here
    wide, folder = sys.argv[1:]
    compile.takes_wide_vectors = lambda cpu: wide == "True"
    cache_folders._folders = lambda: iter([Path(folder)])
from gloam.synth.kernels.png.file import encode_png
from gloam.synth.models import draw, render
from gloam.synth.recipes.load import load_recipe
rng = np.random.default_rng(0)
normal = np.sort(rng.integers(0, 256, (61, 83, 3), np.uint8), axis=1)
digest = hashlib.sha256()
for recipe, more in [("uneven", []), ("even", ["isp.demosaic=malvar"]), ("gamma", []),
                     ("even", ["degradations.jpeg.quality=80", "degradations.motion.length=4"])]:
    low = render(normal, draw(load_recipe(recipe, more), 1, "a"))
    digest.update(low.tobytes() + bytes(encode_png(low)))
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_a_plain_cpu_of_narrow_vectors_makes_the_same_bytes(tmp_path):
    made = set()
    for given, cpu in (([], {}), (["False", str(tmp_path)], {"NUMBA_CPU_NAME": "generic"})):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *given],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | cpu,
        )
        made.add(done.stdout)
    assert len(made) == 1
    assert len(list(tmp_path.rglob("*.nbi"))) > 10


def test_functions_for_wide_vectors_say_so():
    """The attribute comes through llvmlite, which does not know it, to LLVM's text."""
    from gloam.synth.kernels.resize import _filter

    if not takes_wide_vectors(binding.get_host_cpu_name()):
        pytest.skip("this CPU is not one of those")
    import numba

    from gloam.synth.kernels.compiling.compile import _NoAliasCompiler

    again = numba.njit(pipeline_class=_NoAliasCompiler)(_filter.py_func)
    again(4, 2)
    (text,) = again.inspect_llvm().values()
    assert '"prefer-vector-width"="512"' in text


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        ("emeraldrapids", True),
        ("icelake-server", True),
        ("znver5", True),
        ("skylake-avx512", False),
        ("cascadelake", False),
        ("znver4", False),
        ("generic", False),
        ("apple-m1", False),
    ],
)
def test_which_cpus_take_them(cpu, expected):
    assert takes_wide_vectors(cpu) is expected
