"""Fixtures for all tests: photographs that are made here, real ones where GLOAM_PHOTOS names a
folder of them, and real pairs where GLOAM_REAL does."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

from gloam.engines.process import prepare_workers
from gloam.synth.building import WARM

from .object_store import bucket, server, through  # noqa: F401

# Background jobs of a shell without job control ignore it, and so would the commands under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test depends on time: the machine may be busy with something else.
settings.register_profile("gloam", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gloam")


_TOGETHER = {
    "/test_ray.py": "ray",
    "/loaders/test_labels.py": "labels",
    "/publishing/test_publish.py": "published",
    "/render/test_batch_plan.py": "steps",
    "/studio/test_page.py": "page",
}
_LONGEST = (  # which a process would still be at when the others have ended
    "/compiling/test_compile.py",
    "/render/test_on_cuda.py",
    "/fuzz/test_forged_sets.py",
    "/serving/test_triton.py",
)
_FOR_WORKERS = (
    "gloam.loaders.workers",
    "gloam.loaders.clips.video_processes",
    "av",
    WARM,
)
_MEMORY = 4 << 30  # bytes of the machine's for each process of tests beyond one a core


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Take three processes for two cores where memory suffices, as some tests wait for others.

    With four the cores have no more to do, and what each imports and compiles is done once more.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # there is none, or it is "max"
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(cores, min(3 * cores // 2, memory // _MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file or two go to one process where they share what is dear.

    Those of Ray, as two clusters of one machine end each other's workers; those whose fixtures
    take long: sets, a browser, the twin of the GPU's kernels, which each process compiles for a
    minute; and those that call parts of kernels, which each process compiles for itself. A mark
    xdist_group would say it, but pytest 9.2 does not show its --dist=loadgroup the names that it
    looks for.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, _ = nodeid.partition("::")
            names = (name for end, name in _TOGETHER.items() if file.endswith(end))
            return next(names, file if "/synth/kernels/" in file else nodeid)

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but the first case of each test slow: `make test-fast` runs one of a kind.

    The longest tests come first.
    """
    seen: set[str] = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in seen:
            item.add_marker("slow")
        seen.add(test)
    items.sort(key=lambda item: not item.path.as_posix().endswith(_LONGEST))


@pytest.fixture(scope="session", autouse=True)
def worker_server() -> None:
    """Have the server that workers are forked from import what those of any test need.

    It imports what the first test asks for and nothing later; each worker would import torch then.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:  # for a few tests alone it does not pay
        prepare_workers(_FOR_WORKERS, 2)


@cache
def has_gpu() -> bool:
    """Ask the driver for a GPU from outside, as CUDA is not to begin in this process."""
    try:
        return not subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode
    except OSError:
        return False


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("gpu") and not has_gpu():
        pytest.skip("no CUDA GPU")


def picture(seed: int, width: int, height: int) -> np.ndarray:
    """A colourful, sharp, well exposed picture, different for each seed."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    layers = []
    for _ in range(3):
        fx, fy, phase = rng.uniform([1, 1, 0], [9, 9, 6])
        layers.append(0.5 + 0.35 * np.sin(fx * x / width * 6 + fy * y / height * 6 + phase))
    image = np.stack(layers, axis=2)
    for _ in range(25):
        top, left = rng.integers(0, height), rng.integers(0, width)
        image[top : top + height // 6, left : left + width // 6] = rng.uniform(0.2, 0.95, 3)
    image += rng.normal(0, 0.02, image.shape)
    return (image.clip(0, 1) * 255).astype(np.uint8)


def make_photographs(folder: Path, count: int, first: int = 0) -> Path:
    """A folder of JPEGs and a few PNGs of different sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(first, first + count):
        image = Image.fromarray(picture(i, 160 + 7 * (i % 9), 140 + 5 * (i % 7)))
        if i % 10 == 9:
            image.save(folder / f"Photo {i}.png")
        else:
            image.save(folder / f"photo-{i}.jpg", quality=90)
    return folder


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 24 photographs."""
    return make_photographs(tmp_path_factory.mktemp("photographs"), 24)


@pytest.fixture(scope="session")
def real_photos() -> Path:
    """The folder of real photographs that GLOAM_PHOTOS names."""
    return _named_folder("GLOAM_PHOTOS", "photographs")


@pytest.fixture(scope="session")
def real_pairs() -> Path:
    """The folder of real pairs that GLOAM_REAL names."""
    return _named_folder("GLOAM_REAL", "real pairs")


def _named_folder(variable: str, what: str) -> Path:
    folder = os.environ.get(variable)
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"{variable} names no folder of {what}")
    return Path(folder)
