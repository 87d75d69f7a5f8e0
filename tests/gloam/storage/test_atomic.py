"""Files that are whole or not there, and JSON that is the same bytes for the same value."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gloam.errors import SetError
from gloam.storage import atomic
from gloam.storage.atomic import (
    TEMPORARY_MARK,
    Pending,
    atomic_write,
    canonical_json,
    claim,
    is_temporary,
    remove_temporaries,
    sha256_bytes,
    sha256_file,
    temporary_beside,
    write_bytes,
)

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def reordered(value: Any, chance: random.Random) -> Any:
    """The same value with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: reordered(value[key], chance) for key in keys}
    return [reordered(item, chance) for item in value] if isinstance(value, list) else value


@relaxed
@given(json_values)
def test_canonical_json_reads_back_as_the_value(value: Any) -> None:
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data


@relaxed
@given(json_values, st.randoms(use_true_random=False))
def test_canonical_json_does_not_depend_on_the_order_of_keys(
    value: Any, chance: random.Random
) -> None:
    assert canonical_json(reordered(value, chance)) == canonical_json(value)


@relaxed
@given(json_values, json_values)
def test_canonical_json_of_different_values_differs(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (canonical_json(one) == canonical_json(other)) == same


@relaxed
@given(json_values)
def test_canonical_json_is_one_line_of_plain_ascii(value: Any) -> None:
    data = canonical_json(value)
    assert data.isascii()
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1


def test_canonical_json_has_no_blanks_and_sorted_keys() -> None:
    assert (
        canonical_json({"b": [1, 2.5, None], "a": {"\u00e9": True}})
        == b'{"a":{"\\u00e9":true},"b":[1,2.5,null]}\n'
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_canonical_json_refuses_what_json_does_not_know(value: float) -> None:
    for wrapped in (value, [value], {"a": {"b": value}}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json(wrapped)


@relaxed
@given(st.binary(max_size=2000))
def test_checksums_of_bytes_and_files_are_sha256(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"checksum-{os.getpid()}"
    path.write_bytes(data)
    assert sha256_bytes(data) == sha256_file(path) == hashlib.sha256(data).hexdigest()


# Writing


def test_a_written_file_is_there_alone_with_its_bytes(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a" / "b" / "x.json", b"data")
    assert (tmp_path / "a" / "b" / "x.json").read_bytes() == b"data"
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["x.json"]


def test_a_file_appears_only_when_its_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with atomic_write(path) as handle:
        handle.write(b"data")
        handle.flush()
        assert not path.exists()
        assert [is_temporary(p.name) for p in tmp_path.iterdir()] == [True]
    assert path.read_bytes() == b"data"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [None, b"before"])
def test_an_exception_leaves_what_was_there_before(
    tmp_path: Path, error: type[BaseException], before: bytes | None
) -> None:
    path = tmp_path / "x"
    if before is not None:
        path.write_bytes(before)

    def write_half() -> None:
        with atomic_write(path) as handle:
            handle.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == (
        {} if before is None else {"x": before}
    )


def test_a_killed_writer_leaves_what_was_there_before_and_a_temporary_name(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from gloam.storage.atomic import atomic_write\n"
        "with atomic_write(Path(sys.argv[1])) as handle:\n"
        "    handle.write(b'half' * 10000); handle.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"before"
    (left,) = (p for p in tmp_path.iterdir() if p != path)
    assert TEMPORARY_MARK in left.name
    remove_temporaries(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


@contextmanager
def small_files() -> Iterator[None]:
    """Files of 1,000 bytes at most, as where a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_names_what_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x.bin"
    with pytest.raises(OSError, match="too large") as error, small_files():
        write_bytes(path, bytes(20_000))
    assert error.value.filename == str(path)
    assert not list(path.parent.iterdir())
    pending = Pending(path)
    with pytest.raises(OSError, match="too large") as error, small_files(), pending.named():
        pending.handle.write(bytes(200_000))
    pending.abandon()
    assert error.value.filename == str(path)
    assert not list(path.parent.iterdir())


def test_what_another_file_lacks_is_not_said_of_the_one_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing, atomic_write(tmp_path / "x.bin"):
        (tmp_path / "another").read_bytes()
    assert missing.value.filename == str(tmp_path / "another")
    with pytest.raises(OSError, match="Input/output") as broken, atomic_write(tmp_path / "x.bin"):
        Path("/proc/self/mem").read_bytes()
    assert broken.value.filename is None


def test_writing_replaces_the_whole_file(tmp_path: Path) -> None:
    write_bytes(tmp_path / "x", b"long " * 1000)
    write_bytes(tmp_path / "x", b"short")
    assert (tmp_path / "x").read_bytes() == b"short"


def test_readers_of_the_old_file_keep_it_while_it_is_replaced(tmp_path: Path) -> None:
    write_bytes(tmp_path / "x", b"before")
    with open(tmp_path / "x", "rb") as reader:
        write_bytes(tmp_path / "x", b"after!")
        assert reader.read() == b"before"


def test_a_temporary_name_is_in_the_same_folder_and_new_each_time(tmp_path: Path) -> None:
    names = {temporary_beside(tmp_path / "x.tar") for _ in range(100)}
    assert len(names) == 100
    assert {name.parent for name in names} == {tmp_path}
    assert all(name.name.startswith(f"x.tar{TEMPORARY_MARK}") for name in names)
    assert all(is_temporary(name.name) for name in names)


@pytest.mark.parametrize("write", [write_bytes, partial(write_bytes, durable=False)])
def test_a_link_of_the_temporary_name_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    monkeypatch.setattr(atomic, "token_hex", lambda count: "a" * 24)
    (tmp_path / "victim").write_bytes(b"precious")
    temporary_beside(tmp_path / "x").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        write(tmp_path / "x", b"data")
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_what_is_pending_lies_under_that_name_until_it_is_published(tmp_path: Path) -> None:
    pending = Pending(tmp_path / "x.tar")
    pending.handle.write(b"data")
    assert [is_temporary(path.name) for path in tmp_path.iterdir()] == [True]
    pending.publish()
    pending.abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]
    assert (tmp_path / "x.tar").read_bytes() == b"data"
    left = Pending(tmp_path / "x.tar")
    left.handle.write(b"half")
    left.abandon()
    assert (tmp_path / "x.tar").read_bytes() == b"data"
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


def test_removing_temporaries_reaches_every_folder_and_nothing_else(tmp_path: Path) -> None:
    keep = ["a.tar", "b/c.json", "b/tmp", "b/x.tmp", "notes.tmp-mine.txt", "b/x.tmp-host-123"]
    leave = [temporary_beside(Path(name)).as_posix() for name in ("a.tar", "b/c.json", "b/d/e")]
    keep.append(f"{temporary_beside(Path('old'))}/file")  # a folder of such a name
    for name in keep + leave:
        write_bytes(tmp_path / name, b"data")
    outside = write_outside(tmp_path.parent / f"{tmp_path.name}-outside")
    (tmp_path / "b" / "link").symlink_to(outside)
    remove_temporaries(tmp_path)
    assert sorted(
        p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()
    ) == sorted(keep)
    assert len(list(outside.iterdir())) == 1
    remove_temporaries(tmp_path / "nowhere")


def write_outside(folder: Path) -> Path:
    """A folder elsewhere that holds a file of a temporary name."""
    folder.mkdir()
    temporary_beside(folder / "x").write_bytes(b"data")
    return folder


@pytest.mark.parametrize("where", ["a", "b/a", "b/c/d/a"])
@pytest.mark.parametrize("kind", ["file", "folder", "nothing", "inside", "pipe"])
def test_a_folder_that_holds_a_link_is_not_written_to(
    tmp_path: Path, where: str, kind: str
) -> None:
    root = tmp_path / "root"
    write_bytes(root / where, b"data")
    (root / where).unlink()
    left = temporary_beside(root / "x")
    left.write_bytes(b"half")
    assert claim(root) == [left]
    if kind == "pipe":
        os.mkfifo(root / where)
    else:
        write_bytes(tmp_path / "victim" / "keep", b"precious")
        places = {"file": "victim/keep", "folder": "victim", "nothing": "no", "inside": "root"}
        (root / where).symlink_to(tmp_path / places[kind])
    with pytest.raises(SetError, match=rf"{root / where}: is (a link to|no regular file)"):
        claim(root)
    assert left.exists()
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "victim").mkdir(exist_ok=True)
    assert claim(tmp_path / "link") == []  # the user's own
    with pytest.raises(SetError, match="is a link to"):
        claim(tmp_path / "link", link=False)
    assert claim(tmp_path / "nowhere") == []
