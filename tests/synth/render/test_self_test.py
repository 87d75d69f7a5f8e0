"""The self-test finds a compiler that makes other lows, says so in one line, and then rests."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

from gloam.errors import GloamWarning
from gloam.synth.kernels.compiling import cache_folders
from gloam.synth.kernels.numbers.elementary import is_joined, multiply_add
from gloam.synth.models import LowMaker
from gloam.synth.render.self_test import KNOWN, check_once, cpu_fault, gpu_fault


def other_gpu(normals, table):
    """A GPU that errs in the last bit of one sample."""
    lows = [LowMaker(table).low(0, normal) for normal in normals]
    lows[0][0, 0, 0] ^= 1
    return lows


def test_this_machine_makes_the_known_lows():
    assert not cpu_fault()
    assert not gpu_fault(lambda normals, table: [LowMaker(table).low(0, normals[0])])


@pytest.mark.parametrize("known", [("0" * 16, KNOWN[1]), ("0" * 16, "1" * 16)])
def test_another_low_is_told_in_one_line(known):
    fault = cpu_fault(known)
    differ = sum(one not in KNOWN for one in known)
    assert fault.startswith(f"{differ} of 2 known lows differ on this CPU")
    assert "\n" not in fault
    assert numba.__version__ in fault


def test_one_other_bit_of_a_gpu_is_found():
    assert gpu_fault(other_gpu).startswith("2 of 2 known lows differ on this GPU")


def test_a_compiler_that_joins_is_told_from_one_that_does_not():
    joining = numba.njit(fastmath={"contract"})(multiply_add.py_func)
    if not is_joined(joining):
        pytest.skip("this CPU has no instruction for both")
    assert not is_joined()


def test_what_passed_is_not_tested_again(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folders, "_folders", lambda: iter([tmp_path]))
    cache_folders.places.cache_clear()
    try:
        with pytest.warns(GloamWarning, match="differ on this GPU"):
            check_once("erring", other_gpu)
        check_once("erring", other_gpu)  # one line a process
        before = set(tmp_path.rglob("tested-*"))  # of the CPU, which made those lows
        check_once("right", lambda normals, table: [LowMaker(table).low(0, normals[0])])
        assert len(set(tmp_path.rglob("tested-*")) - before) == 1
    finally:
        cache_folders.places.cache_clear()


def test_a_process_that_darkens_tests_itself():
    code = """
import numpy as np, gloam
from gloam.synth.kernels.compiling.cache_folders import places
for old in places().writable.glob("tested-*"):
    old.unlink()
gloam.darken(np.full((16, 16, 3), 128, np.uint8), "even", key="a")
print(len(list(places().writable.glob("tested-*"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
