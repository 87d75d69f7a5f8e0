"""States that somebody else may have written: taken as they were given, or refused in one line."""

from __future__ import annotations

import copy

import pytest

from gloam.errors import LoaderError
from gloam.loaders import ClipLoader, ImageLoader, PairLoader, TorchLoader, mix
from gloam.loaders.states import MOST_EPOCHS

from ..clips import panned, write_frames

pytest.importorskip("nvidia.dali")
np = pytest.importorskip("numpy")

PLAIN = {"batch_size": 4, "device": "cpu", "size": 24}
KINDS = {
    "torch": lambda root: TorchLoader(root, workers=0, **PLAIN),
    "dali": lambda root: PairLoader(root, backend="dali", **PLAIN),
    "live": lambda root: PairLoader(root, backend="dali", live=True, **PLAIN),
    "resident": lambda root: PairLoader(root, backend="dali", resident=True, **PLAIN),
    "images": lambda root: ImageLoader(root, backend="dali", **PLAIN),
    "torch images": lambda root: ImageLoader(root, backend="torch", workers=0, **PLAIN),
    "mixture": lambda root: TorchLoader(
        mix({"a": (root, {0: 3, 1: 1}), "b": (root, {0: 1, 1: 2})}), workers=0, **PLAIN
    ),
    "dali mixture": lambda root: PairLoader(
        mix({"a": (root, 3), "b": (root, 1)}), backend="dali", **PLAIN
    ),
}
DEEP: list = []
for _ in range(10_000):
    DEEP = [DEEP]
CYCLE: dict = {}
CYCLE["a"] = CYCLE
ODD = [
    *(10**30, 10**5000, -1, -(10**18), float("nan"), float("inf"), True, 0.5, None),
    *(
        "x",
        "a\nb",
        "\ud800",
        b"x",
        [],
        {},
        [[0, 0]],
        [[0, 0, [10**30]]],
        [3, ""],
        [0, "eA=="],
        [2, "eA=="],
    ),
    *(DEEP, CYCLE, {1: 2, "a": 3}, object(), set(), np.zeros(3)),
]


@pytest.fixture(params=KINDS)
def make(request, shards):
    return lambda: KINDS[request.param](shards)


@pytest.fixture
def good(make):
    with make() as loader:
        batches = iter(loader)
        next(batches)
        next(batches)
        return loader.state_dict()


def refused(loader, state):
    """Return whether a state is refused, in one line."""
    try:
        loader.load_state_dict(state)
    except LoaderError as error:
        said = str(error)
    else:
        return False
    assert said.isprintable()
    assert len(said) < 1000
    return True


def go_on(loader, state):
    with loader:
        loader.load_state_dict(state)
        return next(iter(loader))


def test_no_value_of_any_field_ends_in_a_traceback(make, good):
    with make() as loader:
        assert all(refused(loader, value) for value in ODD)
        for field in good:
            assert all(refused(loader, {**good, field: value}) for value in ODD)
            assert refused(loader, {name: one for name, one in good.items() if name != field})
        for field in good["fingerprint"]:
            for value in ODD:
                state = copy.deepcopy(good)
                state["fingerprint"][field] = value
                refused(loader, state)
        loader.load_state_dict(good)
        assert loader.state_dict() == good


def test_what_equals_a_number_and_is_none_is_refused(make, good):
    """Python takes 1, 1.0 and True for equal."""
    with make() as loader:
        for field, value in good["fingerprint"].items():
            for odd in (float, bool) if type(value) is int else ():
                prints = {**good["fingerprint"], field: odd(value)}
                assert refused(loader, {**good, "fingerprint": prints})
        if "step" in good:
            assert refused(loader, {**good, "step": 0})


def test_a_place_that_the_epoch_does_not_have_is_refused(make, good):
    with make() as loader:
        for field in {"batch", "taken", "step", "begun"} & set(good):
            assert refused(loader, {**good, field: 10**9})


SAME = (  # kinds that have one order, whoever makes the batches
    {"torch", "dali", "resident"},
    {"images", "torch images"},
    {"mixture"},
    {"dali mixture"},
    {"live"},
)


def test_a_state_of_another_kind_is_refused_with_what_differs(shards):
    loaders = {name: make(shards) for name, make in KINDS.items()}
    for name, loader in loaders.items():
        for other, given in loaders.items():
            alike = any({name, other} <= kinds for kinds in SAME)
            assert refused(loader, given.state_dict()) != alike, (name, other)


def test_a_state_of_clips_ends_where_the_epoch_ends(tmp_path):
    for clip in range(3):
        write_frames(tmp_path / "clips" / f"{clip}", panned(clip, 4))
    options = {"frames": 2, "batch_size": 2, "size": 24, "device": "cpu", "workers": 0}
    loader = ClipLoader(tmp_path / "clips", backend="torch", **options)
    for batch in (-1, len(loader) + 1, True):
        assert refused(loader, {**loader.state_dict(), "batch": batch})
    loader.load_state_dict({**loader.state_dict(), "batch": len(loader)})
    assert list(loader) == []


def test_pairs_in_memory_have_another_order_on_several_ranks(shards):
    ranks = {"rank": 1, "world_size": 2, "backend": "dali"}
    kept = ranks | {"resident": True}
    for one, other in ((ranks, kept), (kept, ranks)):
        with PairLoader(shards, **PLAIN, **one) as loader:
            next(iter(loader))
            state = loader.state_dict()
        with pytest.raises(LoaderError):
            go_on(PairLoader(shards, **PLAIN, **other), state)


@pytest.mark.parametrize("epoch", [-1, 0.5, "1", None, 1 << 31, np.zeros(2)])
def test_an_epoch_is_a_whole_number(shards, epoch):
    loader = KINDS["torch"](shards)
    with pytest.raises(LoaderError, match="must be a whole number"):
        loader.set_epoch(epoch)
    loader.set_epoch(np.int64(3))
    assert type(loader.state_dict()["epoch"]) is int


def test_the_last_epoch_ends_in_a_state_that_can_be_loaded(shards):
    loader = KINDS["torch"](shards)
    loader.load_state_dict({**loader.state_dict(), "epoch": MOST_EPOCHS - 1})
    assert len(list(loader)) == len(loader)
    loader.load_state_dict(loader.state_dict())
    assert list(loader) == []
    with pytest.raises(LoaderError, match="must be a whole number"):
        next(iter(loader))
    loader.set_epoch(0)
    assert len(list(loader)) == len(loader)
