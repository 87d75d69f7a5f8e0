"""gloam within somebody else's program: it leaves the process as it is, and needs no main script of
a certain form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STATE = """
import logging, os, sys, threading
import cv2
import numpy as np
from PIL import Image

def state():
    names = ("PIL", "tifffile", "numba", "gloam")
    loggers = {name: logging.getLogger(name).level for name in names}
    libraries = cv2.getNumThreads(), Image.MAX_IMAGE_PIXELS, loggers
    return *libraries, dict(os.environ), logging.getLogger().handlers, threading.active_count()

before = state()
"""
USE = """
from pathlib import Path
from gloam.manifests.sources import Source
from gloam.synth.models import darken
from gloam.synth.building.build import build_request
from gloam.synth.recipes.load import load_recipe
from gloam.synth.building.request import Request

image = np.full((32, 32, 3), 128, np.uint8)
darken(image, "gamma", key="image")
sources = (Source(kind="folder", path=sys.argv[1], name="p"),)
build_request(Request(sources=sources, recipe=load_recipe("gamma")), Path(sys.argv[2]))
"""


def python(code: str, *arguments: object, **options: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr[-3000:]
    return str(done.stdout)


def test_importing_and_using_gloam_changes_nothing_in_the_process(photographs, tmp_path):
    python(
        f"{STATE}{USE}\nassert state() == before, (state(), before)", photographs, tmp_path / "set"
    )


def test_importing_the_loaders_sets_one_variable_of_cuda(monkeypatch):
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS", raising=False)
    code = "import gloam.loaders\nfrom gloam.loaders import pairs_in\nafter = state()"
    differ = (
        "assert after[:3] == before[:3], (before, after)\nassert set(after[3].items()) -"
        " set(before[3].items()) == "
    )
    python(f"{STATE}{code}\n{differ}{{('CUDA_DEVICE_MAX_CONNECTIONS', '32')}}")


def test_a_map_in_this_process_leaves_malloc_alone():
    code = """
import ctypes
calls = []
ctypes.CDLL = lambda *arguments: calls.append(arguments)
from gloam.engines.local import LocalEngine
assert list(LocalEngine(1).map(str, [1, 2])) == ["1", "2"]
assert not calls
"""
    python(code)


SCRIPT = """
import sys
from pathlib import Path

print("running")
{code}
"""
BUILDS = """
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.recipes.load import load_recipe
from gloam.synth.building.request import Request

sources = (Source(kind="folder", path=sys.argv[1], name="p"),)
build_request(Request(sources=sources, recipe=load_recipe("gamma")), Path(sys.argv[2]), workers=2)
"""
LOADS = """
from gloam.loaders import TorchLoader

loader = TorchLoader(sys.argv[2], batch_size=4, size=32, workers=2, device="cpu")
print(sum(len(low) for low, normal in loader))
loader.close()
"""


@pytest.mark.slow
def test_scripts_without_a_main_guard_build_and_load(photographs, tmp_path):
    pytest.importorskip("torch")
    for name, code, last in (("build", BUILDS, "running"), ("load", LOADS, "24")):
        script = tmp_path / f"{name}.py"
        script.write_text(SCRIPT.format(code=code))
        command = [sys.executable, str(script), str(photographs), str(tmp_path / "set")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.split()[0] == "running"
        assert done.stdout.count("running") == 1
        assert done.stdout.split()[-1] == last


def test_loaders_without_torch_say_so_in_one_line(photographs, tmp_path):
    blocked = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch" or name.startswith("torch."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
def without_torch(name, package=None):
    return None if name == "torch" else found(name, package)
importlib.util.find_spec = without_torch
"""
    code = """
from gloam.errors import LoaderError
from gloam.loaders import PairLoader, TorchLoader
for loader in (TorchLoader, PairLoader):
    try:
        loader([("a.png", "b.png")], batch_size=1)
    except LoaderError as error:
        print(error)
"""
    lines = python(blocked + code).splitlines()
    assert len(lines) == 2
    assert all("pip install 'gloam[torch]'" in line for line in lines)


def test_the_command_is_a_module_too():
    done = subprocess.run(
        [sys.executable, "-m", "gloam", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("gloam, version ")


def test_a_limit_of_memory_is_no_reason_to_hang(tmp_path):
    """OpenBLAS waits for ever for threads that it cannot start."""
    limited = (
        f"ulimit -v 2000000; {sys.executable} -m gloam recipes; {sys.executable} -m gloam preview"
        f" --out {tmp_path / 's.png'}"
    )
    done = subprocess.run(
        ["bash", "-c", limited], capture_output=True, text=True, check=False, timeout=240
    )
    assert "uneven" in done.stdout
    assert (tmp_path / "s.png").is_file(), done.stderr


def test_a_folder_named_gloam_does_not_hide_the_package(tmp_path):
    (tmp_path / "gloam").mkdir()
    (tmp_path / "gloam" / "notes.txt").write_text("mine")
    script = tmp_path / "script.py"
    script.write_text(
        "import gloam\nfrom gloam.synth.models import darken\nprint(gloam.__version__)"
    )
    assert Path(script).is_file()
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
