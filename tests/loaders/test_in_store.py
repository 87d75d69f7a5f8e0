"""Sets that are loaded out of an object store: the batches of the local set, whoever reads them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

import gloam
from gloam.errors import LoaderError, SetError
from gloam.loaders import PairLoader, TorchLoader
from gloam.manifests.sets.stage import stage
from gloam.storage import store_requests
from gloam.storage.atomic import write_bytes
from gloam.storage.stores import as_path

_FORM = {"batch_size": 3, "size": 32, "crop": "random", "augment": True, "keys": True}


@pytest.fixture(scope="module")
def here(photographs, tmp_path_factory) -> Any:
    """A set in a folder."""
    root = tmp_path_factory.mktemp("sets") / "set"
    gloam.build(root, f"folder={photographs}", val=4, shard_size=5, select=False, recipe="even")
    return root


@pytest.fixture
def there(here, bucket) -> str:
    """The same in a store."""
    stage(here, f"{bucket}/set")
    return f"{bucket}/set"


def equal(one: Any, other: Any) -> bool:
    return all(
        bool((a == b).all()) if hasattr(a, "shape") else a == b
        for a, b in zip(one, other, strict=True)
    )


def loader_of(kind: str, data: Any, **options: Any) -> Any:
    backend, _, live = kind.partition(" ")
    more = {"live": True} if live else {}
    if backend == "torch":
        return TorchLoader(data, workers=1, device="cpu", **_FORM, **more, **options)
    return PairLoader(data, device="cpu", workers=2, **_FORM, **more, **options)


KINDS = ["dali", "dali live", "torch", "torch live"]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_those_of_the_local_set(here, there, kind):
    with loader_of(kind, here) as one, loader_of(kind, there) as other:
        for _ in range(2):
            for a, b in zip(one, other, strict=True):
                assert equal(a, b)
        # A state goes on in mid-epoch.
        it = iter(other)
        first = [next(it), next(it)]
        state = other.state_dict()
        rest = list(it)
        whole = list(one)
        assert all(map(equal, first + rest, whole))
        other.load_state_dict(state)
        assert all(map(equal, other, rest))


@pytest.mark.parametrize("kind", ["auto", "auto live", "torch"])
def test_sets_in_files_too(here, bucket, kind, tmp_path):
    gloam.export(here, tmp_path / "files", layout="files")
    stage(tmp_path / "files", f"{bucket}/files")
    with (
        loader_of(kind, tmp_path / "files") as one,
        loader_of(kind, f"{bucket}/files") as other,
    ):
        for _ in range(2):
            assert all(map(equal, one, other))


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_share_it(here, there, rank):
    share = {"rank": rank, "world_size": 2}
    with loader_of("auto", here, **share) as one, loader_of("auto", there, **share) as other:
        assert all(map(equal, one, other))


@pytest.mark.parametrize("kind", ["auto", "auto live", "external", "torch"])
def test_copies_change_no_batch(here, there, kind, tmp_path):
    cached = loader_of(kind, there, cache=tmp_path / "cache")
    with loader_of(kind, here) as one, cached as other:
        for epoch in range(3):
            assert all(map(equal, one, other)), epoch
            copies = other.contents.cache
            copies._thread.join()
            assert copies.whole
        with loader_of(kind, there, cache=tmp_path / "cache") as third:
            assert third.contents.cache.whole
            # Nothing is asked of the store for what was copied.
            for path in (as_path(there) / "shards").glob("*.tar"):
                path.unlink()
            assert all(map(equal, one, other))
            assert len(list(third)) == len(third)


def test_copies_keep_to_their_limit(here, there, tmp_path):
    largest = max(path.stat().st_size for path in (here / "shards").glob("train*.tar"))
    limit = 1.5 * largest / 1e9
    with loader_of("external", there, cache=tmp_path, cache_gb=limit) as loader:
        list(loader)
        loader.contents.cache._thread.join()
        held = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
        assert 0 < held <= limit * 1e9
        assert not loader.contents.cache.whole
        list(loader)


def test_what_cannot_be_cached_is_said(here, there, tmp_path, photographs, bucket):
    with pytest.raises(LoaderError, match="cache_gb goes with cache"):
        loader_of("torch", there, cache_gb=3)
    with pytest.raises(LoaderError, match="must be a folder of this machine"):
        loader_of("torch", there, cache=f"{bucket}/cache")
    gloam.export(here, f"{bucket}/files", layout="files")
    with pytest.raises(LoaderError, match="gloam stage copies any set"):
        loader_of("torch", f"{bucket}/files", cache=tmp_path)


@pytest.mark.parametrize("kind", ["external", "torch"])
def test_a_store_that_dies_in_mid_epoch_is_a_line_that_names_the_object(
    here, through, bucket, kind, monkeypatch
):
    stage(here, f"{bucket}/set")
    monkeypatch.setenv(store_requests.PATIENCE, "1")
    with loader_of(kind, f"{bucket}/set", prefetch=1) as loader:
        batches = iter(loader)
        next(batches)
        through.fails = lambda number, method, path: "500"
        both = chain(batches, loader)  # what was read ahead may be the rest of this epoch
        with pytest.raises(LoaderError, match=r"s3://bucket/.*/shards/train-\d+\.tar"):
            list(both)


def test_folders_of_pairs_in_a_store_are_not_named_for_pairs_in(bucket):
    for folder in ("low", "normal"):
        write_bytes(as_path(f"{bucket}/pairs/{folder}/1.png"), b"one")
    with pytest.raises(SetError, match=r"not a gloam set \(it has no set\.json\)$"):
        gloam.open_set(f"{bucket}/pairs")
