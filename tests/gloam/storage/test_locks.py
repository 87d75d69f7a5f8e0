"""One process at a time on one output; the system itself forgets the lock of a process that is
gone."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gloam.errors import GloamWarning, SetError
from gloam.storage import locks as lock
from gloam.storage.locks import exclusive

HOLD = """
import sys
from pathlib import Path
from gloam.storage.locks import exclusive

with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
print("free", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is told a line, and lives until it is told
    another."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
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
        expected = (
            rf"{tmp_path / 'set'}: process {process.pid} on {socket.gethostname()} is working on it"
        )
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
        other = subprocess.run(
            [sys.executable, "-c", HOLD, str(path)],
            input="\n\n",
            capture_output=True,
            text=True,
            check=False,
        )
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
    with (
        holder(tmp_path / "one" / ".gloam" / "lock"),
        exclusive(tmp_path / "other" / ".gloam" / "lock"),
    ):
        pass


@pytest.mark.parametrize("kind", ["link", "hard link", "link to nothing", "pipe", "folder"])
def test_a_lock_that_is_not_a_file_of_its_own_is_refused_and_left_as_it_is(
    tmp_path: Path, kind: str
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "set" / ".gloam" / "lock"
    victim.write_text("precious")
    path.parent.mkdir(parents=True)
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "hard link":
        path.hardlink_to(victim)
    elif kind == "link to nothing":
        path.symlink_to(tmp_path / "new")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(SetError, match=rf"{path}: is a link, or no file"), exclusive(path):
        pytest.fail("it is held")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "new").exists()


def test_a_lock_in_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / ".gloam").symlink_to(tmp_path / "victim")
    with (
        pytest.raises(SetError, match="is a link, or no file"),
        exclusive(tmp_path / "set" / ".gloam" / "lock"),
    ):
        pytest.fail("it is held")
    assert not list((tmp_path / "victim").iterdir())


# File systems without locks


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse locks, like Lustre mounted without `-o flock`."""

    def flock(*arguments: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(lock.fcntl, "flock", flock)


def test_without_locks_a_file_stands_for_them_with_a_warning(
    tmp_path: Path, no_locks: None
) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    for _ in range(2):
        with pytest.warns(GloamWarning, match="this file system has no locks"):
            holding(path, f"process {os.getpid()} on {socket.gethostname()}")
        assert not (path.parent / "lock.held").exists()


def holding(path: Path, name: str) -> None:
    """Hold a lock, and be refused a second time."""
    with exclusive(path):
        assert (path.parent / "lock.held").read_text() == name
        with (
            pytest.raises(SetError, match=rf"{name} is working on it.*delete .*lock\.held"),
            exclusive(path),
        ):
            pytest.fail("the lock is held twice")


def test_without_locks_that_of_a_dead_process_of_this_machine_is_taken_over(
    tmp_path: Path, no_locks: None
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    path = tmp_path / "set" / ".gloam" / "lock"
    path.parent.mkdir(parents=True)
    (path.parent / "lock.held").write_text(f"process {dead.pid} on {socket.gethostname()}")
    with pytest.warns(GloamWarning), exclusive(path):
        pass
    (path.parent / "lock.held").write_text("process 1 on another.example.org")
    with (
        pytest.warns(GloamWarning),
        pytest.raises(SetError, match=r"process 1 on another\.example\.org"),
        exclusive(path),
    ):
        pytest.fail("nobody knows whether it is dead")


def test_without_locks_tasks_share_and_take_turns(tmp_path: Path, no_locks: None) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    for first in (True, False):
        with pytest.warns(GloamWarning):
            refusing(path, first)
    assert [p.name for p in path.parent.iterdir() if "held" in p.name] == []


def test_without_locks_a_pipe_is_no_lock(tmp_path: Path, no_locks: None) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    path.parent.mkdir(parents=True)
    os.mkfifo(path.parent / "lock.held")
    with (
        pytest.warns(GloamWarning),
        pytest.raises(SetError, match=r"lock\.held: is a link, or no file"),
        exclusive(path),
    ):
        pytest.fail("it is held")


def refusing(path: Path, first: bool) -> None:
    with exclusive(path, shared=first):
        with exclusive(path.parent / "planning", wait=True):
            pass
        if first:
            with exclusive(path.with_name("other"), shared=True):
                pass
        with pytest.raises(SetError, match="is working on it"), exclusive(path, shared=not first):
            pytest.fail("tasks and a build alone exclude each other")


def test_a_lock_that_is_held_is_told_from_one_that_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):

        def flock(*arguments: object, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(lock.fcntl, "flock", flock)
        with (
            pytest.warns(GloamWarning, match=os.strerror(number)),
            exclusive(tmp_path / str(number) / "lock"),
        ):
            pass


@pytest.mark.parametrize("shared", [False, True])
def test_without_locks_two_that_begin_at_once_do_not_both_hold_it(
    tmp_path: Path, no_locks: None, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    path = tmp_path / "set" / ".gloam" / "lock"
    lives, name = lock._holder_lives, f"process {os.getpid()} on {socket.gethostname()}"

    def then_another_begins(held: Path) -> bool:
        found = lives(held)
        held.with_name("lock.held" if shared else "lock.held-other-1").write_text(name)
        return found

    monkeypatch.setattr(lock, "_holder_lives", then_another_begins)
    with (
        pytest.warns(GloamWarning),
        pytest.raises(SetError, match="is working on it"),
        exclusive(path, shared=shared),
    ):
        pytest.fail("both hold it")
    assert len(list(path.parent.glob("lock.held*"))) == 1  # the other's
