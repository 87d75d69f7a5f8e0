"""The server that workers are forked from: where it finds modules, and when it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = """
import multiprocessing
import operator
import sys
from gloam.engines.process import prepare_workers
from gloam.engines.local import LocalEngine


def negated(tasks):
    return list(LocalEngine(2).map(operator.neg, tasks))


def in_a_child(tasks):
    sys.exit(negated(tasks) != [-1, -2])


if __name__ == "__main__":
    prepare_workers(["yaml"], 2)
    assert negated([1, 2, 3]) == [-1, -2, -3]
    child = multiprocessing.get_context("fork").Process(target=in_a_child, args=([1, 2],))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("temporary", ["short", "long" * 25])
def test_workers_take_their_modules_from_where_their_parent_does(
    tmp_path: Path, temporary: str
) -> None:
    """Not from the current folder; also in a forked child, and where a socket's path would be too
    long."""
    script, here, scratch = (
        tmp_path / "scripts" / "elsewhere.py",
        tmp_path / "here",
        tmp_path / temporary,
    )
    for folder in (script.parent, here, scratch):
        folder.mkdir()
    script.write_text(ELSEWHERE)
    (here / "yaml.py").write_text("open('imported', 'w').close()")
    (here / "gloam").mkdir()
    environment = os.environ | {"TMPDIR": str(scratch)}
    done = subprocess.run(
        [sys.executable, script],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (here / "imported").exists()


ENDING = """
import operator
from gloam.engines.process import prepare_workers
from gloam.engines.local import LocalEngine

prepare_workers(["taken_down"], 2)
assert list(LocalEngine(2).map(operator.neg, [1, 2])) == [-1, -2]
"""


def test_the_server_ends_without_taking_down_what_it_has_imported(tmp_path: Path) -> None:
    """Which takes long for torch. It has the pipe of standard output, too: `run` waits for it."""
    (tmp_path / "ending.py").write_text(ENDING)
    (tmp_path / "taken_down.py").write_text(
        "import atexit, os\nopen('imported', 'w').close()\n"
        "atexit.register(lambda: open('taken-down', 'w').close())\n"
    )
    done = subprocess.run(
        [sys.executable, "ending.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "imported").exists()
    assert not (tmp_path / "taken-down").exists()


KILLED = """
import os, pathlib, signal, time
from gloam.engines.process import prepare_workers

prepare_workers(["slow"], 2)
while not pathlib.Path("begun").exists():
    time.sleep(0.05)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_server_ends_with_its_program_while_it_still_imports(tmp_path: Path) -> None:
    """Compiling kernels there takes half a minute. `run` waits for the server's pipe."""
    (tmp_path / "killed.py").write_text(KILLED)
    (tmp_path / "slow.py").write_text(
        "import time\nopen('begun', 'w').close()\ntime.sleep(20)\nopen('imported', 'w').close()\n"
    )
    subprocess.run([sys.executable, "killed.py"], cwd=tmp_path, capture_output=True, check=False)
    assert not (tmp_path / "imported").exists()
