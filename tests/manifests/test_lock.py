"""One process at a time on one output; the system itself forgets the lock of a process that is gone."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gloam.manifests.errors import SetError
from gloam.manifests.lock import exclusive

HOLD = """
import sys
from pathlib import Path
from gloam.manifests.lock import exclusive

with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
print("free", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is told a line, and lives until it is told another."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_a_second_process_is_refused_and_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    with holder(path) as process:
        expected = rf"{tmp_path / 'set'}: process {process.pid} on {socket.gethostname()} is working on it"
        for _ in range(2):  # being refused changes nothing
            with pytest.raises(SetError, match=expected), exclusive(path):
                pytest.fail("two processes hold the lock")


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    with holder(path) as process:
        process.kill()
        process.wait()
        with exclusive(path):
            pass


def test_the_lock_is_free_after_its_block_while_the_process_lives_on(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    with holder(path) as process:
        tell(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "free\n"
        with exclusive(path):
            assert process.poll() is None


def test_another_process_is_refused_while_this_one_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    with exclusive(path):
        other = subprocess.run([sys.executable, "-c", HOLD, str(path)], input="\n\n", capture_output=True, text=True, check=False)
    assert other.returncode == 1
    assert other.stdout == ""
    assert "SetError" in other.stderr
    assert socket.gethostname() in other.stderr


def test_the_lock_is_not_held_twice_by_one_process_either(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    with exclusive(path), pytest.raises(SetError, match="is working on it"), exclusive(path):
        pytest.fail("the lock is held twice")


def test_an_exception_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    with pytest.raises(RuntimeError, match="within"), exclusive(path):
        raise RuntimeError("within")
    with exclusive(path):
        pass


def test_a_shorter_name_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    path.parent.mkdir(parents=True)
    path.write_text("process 4194304 on a-machine-with-a-very-long-name.example.org" * 3)
    with holder(path) as process:
        assert path.read_text() == f"process {process.pid} on {socket.gethostname()}"


def test_outputs_have_locks_of_their_own(tmp_path: Path) -> None:
    with holder(tmp_path / "one" / ".gloam" / "lock"), exclusive(tmp_path / "other" / ".gloam" / "lock"):
        pass
