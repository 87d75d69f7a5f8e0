"""Self-test: make known lows on this machine and compare their bits.

It runs in `gloam doctor`, and when a process first makes lows by kernels that have not passed it:
once for the CPU, once for each kind of GPU.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_name

from ...engines.process import is_own_process
from ...errors import GloamWarning
from ..camera.recipe import CameraRecipe
from ..draws.camera import draw_camera
from ..draws.table import DrawTable, table_of
from ..kernels.arrays import Pixels
from ..kernels.compiling.cache_folders import places
from ..kernels.numbers.elementary import is_joined
from ..parameters.keyed_random import KeyedRandom
from .on_cpu import render_window

Render = Callable[[Sequence[Pixels], DrawTable], list[Pixels]]
RECIPES: tuple[dict[str, Any], ...] = (
    {
        "exposure": {"ev": 3},
        "illumination": {"smooth": {"sigma_ev": 0.7}, "vignette": {"ev": 0.5}},
        "camera": {"iso": 6400, "matrix": "random"},
        "white_balance": {"red": 2.1, "blue": 1.7, "error_ev": 0.1},
        "isp": {"contrast": 1.3, "chroma": {"strength": 0.5}},
    },
    {
        "exposure": {"ev": 4},
        "highlights": {"ev": 1},
        "illumination": {
            "lights": {"count": 2, "ev": 3, "warmth_ev": 1},
            "scene": {"strength": 0.3},
        },
        "camera": {"name": "canon-5d4", "iso": 1600},
        "isp": {"demosaic": "malvar"},
    },
)
"""Recipes of the known lows: all that is common, in both ways of demosaicking."""
KNOWN = ("06a9292cab494645", "63b4de1dfd9795cf")
"""SHA-256 of their samples, the first 16 digits: the same on every machine."""


def known_lows() -> tuple[list[Pixels], list[DrawTable]]:
    """Return the normals of the known lows, and the draws of each."""
    y, x, channel = np.ogrid[0:61, 0:83, 0:3]
    normal = ((x * (y + 7) * (channel + 3) + 5 * y * y) % 251).astype(np.uint8)
    tables = []
    for number, recipe in enumerate(RECIPES):
        drawn = draw_camera(CameraRecipe.model_validate(recipe), KeyedRandom(number, ["known"]))
        tables.append(table_of(drawn))
    return [normal] * len(tables), tables


def cpu_fault(known: Sequence[str] = KNOWN) -> str:
    """Make the known lows on the CPU; returns what is wrong with them, in a line, or ""."""
    lows = [render_window(normal, table, 0) for normal, table in zip(*known_lows(), strict=True)]
    return _fault("CPU", lows, known, is_joined())


def gpu_fault(render: Render) -> str:
    """Make the known lows by a GPU's function of normals and draws; see `cpu_fault`."""
    lows = [render([normal], table)[0] for normal, table in zip(*known_lows(), strict=True)]
    return _fault("GPU", lows, KNOWN, joined=False)


def check_once(gpu: str = "", render: Render | None = None) -> None:
    """Warn if this machine's kernels make other lows, unless they have been tested before.

    Kernels that pass are marked beside their machine code, for this CPU and these compilers.

    gpu: name of the GPU to test; "" tests the CPU. render: function of normals and their draw
    table, makes lows on that GPU.
    """
    if gpu in _tested:
        return
    _tested.add(gpu)  # before lows are made, which ask for it
    versions = [_version(name) for name in ("numba", "llvmlite", "numba-cuda")]
    folder, machine = places().writable, [gpu or get_host_cpu_name(), *versions]
    tested = None if folder is None else folder / f"tested-{_hash('/'.join(machine).encode())}"
    if tested is not None and tested.exists():
        return
    fault = cpu_fault() if render is None else gpu_fault(render)
    if fault and is_own_process():
        print(f"gloam: {fault}", file=sys.stderr)
    elif fault:
        warnings.warn(fault, GloamWarning, stacklevel=3)
    elif tested is not None:
        with suppress(OSError):
            tested.touch()


_tested: set[str] = set()


def _fault(device: str, lows: Sequence[Pixels], known: Sequence[str], joined: bool) -> str:
    made = [_hash(np.ascontiguousarray(low)) for low in lows]
    differ = sum(low != one for low, one in zip(made, known, strict=True))
    if not differ and not joined:
        return ""
    perhaps = "" if joined else "perhaps "
    return (
        f"{differ} of {len(known)} known lows differ on this {device}: {perhaps}its compiler joins"
        " multiplications and additions, so that lows made here are not those of other machines"
        f" (numba {_version('numba')}, llvmlite {_version('llvmlite')}); install the versions of"
        " gloam's constraints.txt"
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def _hash(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
