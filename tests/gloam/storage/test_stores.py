"""Addresses of a store as paths: objects whole or absent, requests repeated with patience."""

from __future__ import annotations

import copy
import hashlib
import pickle
import tarfile

import numpy as np
import pytest

from gloam.errors import ConfigError, SetError
from gloam.storage import store_requests
from gloam.storage.atomic import remove_tree, sha256_and_size
from gloam.storage.stores import StorePath, as_path, in_store


def test_an_address_is_a_path():
    path = as_path("s3://bucket/some/set") / "shards" / "a.tar"
    assert str(path) == "s3://bucket/some/set/shards/a.tar"
    assert (path.bucket, path.key) == ("bucket", "some/set/shards/a.tar")
    assert (path.name, path.stem, path.suffix, path.parent.name) == ("a.tar", "a", ".tar", "shards")
    assert path.relative_to(path.parent.parent).as_posix() == "shards/a.tar"
    assert str(path.with_name("b.idx")) == "s3://bucket/some/set/shards/b.idx"
    for same in (pickle.loads(pickle.dumps(path)), copy.deepcopy(path), as_path(str(path))):
        assert same == path
        assert hash(same) == hash(path)
        assert isinstance(same, StorePath)


def test_an_address_that_lost_a_slash_is_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(as_path("gs:/bucket/set")) == "gs://bucket/set"
    assert not in_store("run:1/set")
    (tmp_path / "s3:").mkdir()
    assert not isinstance(as_path("s3:/bucket"), StorePath)  # a folder that is called so


def test_what_is_no_store_of_ours_is_refused():
    with pytest.raises(SetError, match="sets lie in folders, or in stores"):
        as_path("hf://datasets/a")
    with pytest.raises(ConfigError, match="names no bucket"):
        as_path("s3://")


def test_objects_are_put_whole_read_listed_and_deleted(bucket):
    root = as_path(bucket)
    assert not root.exists()
    (root / "a" / "one").put(b"1")
    (root / "two").put(b"22")
    assert root.is_dir()
    assert not root.is_file()
    assert (root / "two").stat().st_size == 2
    assert (root / "two").read_bytes() == b"22"
    assert [path.name for path in root.iterdir()] == ["a", "two"]
    assert [str(path.relative_to(root)) for path in root.rglob("*")] == ["a/one", "two"]
    assert [path.name for path in root.glob("t*")] == ["two"]
    (root / "two").unlink()
    (root / "two").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (root / "two").read_bytes()


def test_small_objects_take_one_request(through, bucket):
    root = as_path(bucket)
    for name, data in {"none": b"", "one": b"1", "full": b"x" * (1 << 18)}.items():
        (root / name).put(data)
        before = through.count
        digest, size = sha256_and_size(root / name)
        assert (digest, size) == (hashlib.sha256(data).hexdigest(), len(data))
        assert through.count - before == (1 if data else 2)
    before = through.count
    remove_tree(root)
    assert through.count - before == 2
    assert not root.exists()


def test_an_object_is_made_once(bucket):
    path = as_path(bucket) / "receipt"
    assert path.create(b"mine")
    assert path.create(b"mine")  # an answer that was lost
    assert not path.create(b"other")
    assert path.read_bytes() == b"mine"


def test_a_reader_reads_every_byte_wherever_it_is(bucket):
    data = np.random.default_rng(0).bytes(3_000_000)
    path = as_path(bucket) / "large"
    path.put(data)
    with path.open("rb") as handle:
        assert hashlib.file_digest(handle, "sha256").digest() == hashlib.sha256(data).digest()
        for start in (5, 2_999_990, 100_000, 0):
            handle.seek(start)
            assert handle.read(1000) == data[start : start + 1000]
    assert path.read_range(2_999_999, 10) == data[-1:]


@pytest.mark.parametrize("how", ["500", "reset", "truncate", "stall"])
def test_a_request_that_fails_is_made_again(through, bucket, how, monkeypatch):
    monkeypatch.setenv(store_requests.PATIENCE, "8")  # and a stall is one of two seconds
    path = as_path(bucket) / "object"
    through.fails = lambda number, method, target: how if number % 2 else ""
    data = bytes(range(256)) * 5000
    path.put(data)
    assert path.read_bytes() == data
    assert through.failed


def test_a_store_that_goes_on_failing_is_one_line(through, bucket, monkeypatch):
    monkeypatch.setenv(store_requests.PATIENCE, "1")
    through.fails = lambda number, method, target: "500"
    with pytest.raises(OSError, match="the store fails") as raised:
        (as_path(bucket) / "object").read_bytes()
    assert "\n" not in str(raised.value)
    assert raised.value.filename == f"{bucket}/object"
    assert through.count > 2


def test_a_bucket_that_is_not_there_is_said_at_once(bucket):
    with pytest.raises(OSError, match="no such bucket"):
        as_path("s3://nowhere/set").put(b"")
    with pytest.raises(OSError, match="no such bucket"):
        list(as_path("s3://nowhere/set").rglob("*"))


def test_a_tar_is_walked_by_ranges(bucket, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for i in range(5):
            (tmp_path / f"{i}").write_bytes(bytes([i]) * 100_000)
            archive.add(tmp_path / f"{i}", f"{i}")
    path = as_path(bucket) / "a.tar"
    with open(tmp_path / "a.tar", "rb") as file:
        path.put(file)
    with path.open("rb") as handle, tarfile.open(fileobj=handle, mode="r:") as archive:
        assert [member.name for member in archive] == [f"{i}" for i in range(5)]
