"""Addresses of a store as paths: objects whole or absent, requests repeated with patience."""

from __future__ import annotations

import copy
import errno
import hashlib
import pickle
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from gloam.cli.common import PATH
from gloam.errors import ConfigError, GloamError, SetError, StoreError
from gloam.loaders import pairs_in
from gloam.manifests.sets.pair_set import open_set
from gloam.storage import store_requests
from gloam.storage.atomic import remove_tree, sha256_and_size
from gloam.storage.stores import StorePath, as_path, in_store
from gloam.synth.recipes.load import load_recipe


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


def test_an_address_without_its_slash_may_be_too_long_for_a_name():
    with pytest.raises(ConfigError, match="no file can have such a name"):
        as_path("s3:" + "a" * 300)


@pytest.mark.parametrize("address", ["s3:bucket/set", "GS:b", "az:", "s3:"])
def test_an_address_without_its_slashes_is_no_new_folder(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    scheme = address.partition(":")[0].lower()
    with pytest.raises(ConfigError, match=f"is written {scheme}://BUCKET/NAME"):
        as_path(address)
    (tmp_path / address.partition("/")[0]).mkdir()
    assert not isinstance(as_path(address), StorePath)


def test_what_is_no_store_of_ours_is_refused():
    for address in ("hf://datasets/a", "s3a://bucket/set", "oss://bucket/set"):
        with pytest.raises(SetError, match="sets lie in folders, or in stores"):
            as_path(address)
    with pytest.raises(ConfigError, match="names no bucket"):
        as_path("s3://")


ODD = [
    *(
        "bucket/set/../other",
        "bucket/..",
        "bucket/se\nt",
        "bucket\\..\\x/set",
        "bu cket/x",
        "..",
        "-a/b",
    ),
    *("b/a\\b", "b/\x00", "b/\udcff", "bü/x", "b?x/y", "b/x%3fy", "", "/"),
]


@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "S3"])
@pytest.mark.parametrize("place", ODD)
def test_an_odd_address_is_refused_before_a_request(scheme, place):
    with pytest.raises(ConfigError, match=f"; write {scheme.lower()}://BUCKET/NAME") as caught:
        as_path(f"{scheme}://{place}")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "https", "abfss", "s3a", "git+ssh"])
@pytest.mark.parametrize(
    "place",
    [
        *("KEY:SECRET@b/x", "KEY:SEC/SECRET@b/x", "SECRET@b", "b/x?s=SECRET"),
        "b/x?se=2030-01-01T10:00:00Z&sig=SECRET",
        *("KEY%3ASECRET%40b/x", "KEY%3aSEC/SECRET%40b/x", "KEY:SECRET%40b/x"),
    ],
)
def test_credentials_in_an_address_are_never_shown(scheme, place):
    for call in (
        as_path,
        open_set,
        pairs_in,
        load_recipe,
        lambda path: PATH.convert(path, None, None),
    ):
        with pytest.raises(GloamError) as caught:
            call(f"{scheme}://{place}")
        assert "SECRET" not in f"{caught.value}{caught.value.what}"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("https://h/x?a=1:2,3;b=SECRET: gone", "https://h/x?...: gone"),
        ("s3://b/x%3Fsig=SECRET: gone", "s3://b/x%3F...: gone"),
        ("gs://b/x;jsessionid=SECRET, gone", "gs://b/x;..., gone"),
        ("https://h/#access_token=SECRET", "https://h/#..."),
        ("s3://b/photo #1; s3://b/a;b#2 is there", "s3://b/photo #1; s3://b/a;b#2 is there"),
    ],
)
def test_signatures_are_cut_and_what_is_said_of_an_address_stays(said, shown):
    assert str(GloamError(said)) == shown


class _Endless(BaseHTTPRequestHandler):
    """A store whose list never ends: the same again and again, or pages that hold nothing."""

    def do_GET(self):
        key = "<Contents><Key>p/1</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
        found = (key + "<Size>1</Size></Contents>") * 1000 if "same" in self.path else ""
        token = "<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>"
        body = f"<ListBucketResult><Name>b</Name>{token}{found}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.mark.parametrize(
    ("bucket", "said"), [("same", "the same objects again"), ("empty", "list does not end")]
)
def test_a_list_that_never_ends_is_given_up(bucket, said, monkeypatch):
    pytest.importorskip("obstore")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        store_requests.PATIENCE: "0.2",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SetError, match=said):
        as_path(f"s3://{bucket}/p").facts()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "soon", "1e9"])
def test_patience_is_seconds(given, monkeypatch):
    monkeypatch.setenv(store_requests.PATIENCE, given)
    with pytest.raises(ConfigError, match="must be seconds"):
        store_requests.patience()


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
    assert sorted(root.facts()) == ["a/one", "two"]
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


@pytest.mark.slow
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
    with pytest.raises(OSError, match=r"the store fails.* check the address") as raised:
        (as_path(bucket) / "object").read_bytes()
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert isinstance(error, StoreError)
        assert str(error).startswith(f"{bucket}/object: the store fails")
        assert "\n" not in str(error)
        assert (error.filename, error.errno) == (f"{bucket}/object", errno.EIO)
        assert str(error) == f"{bucket}/object: {error.strerror}"
    assert through.count > 2


def test_a_bucket_that_is_not_there_is_said_at_once(bucket):
    with pytest.raises(OSError, match="no such bucket"):
        as_path("s3://nowhere/set").put(b"")
    with pytest.raises(OSError, match="no such bucket"):
        as_path("s3://nowhere/set").facts()


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
