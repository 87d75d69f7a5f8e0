"""Errors are lines for people and attributes for programs, in whichever process they are raised."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gloam import errors
from gloam.engines.local import LocalEngine
from gloam.errors import ConfigError, GloamError, ImageRefused, Reason, SetError

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, GloamError) and kind is not ImageRefused
]
GIVEN: dict[str, Any] = {
    "path": Path("set/set.json"),
    "key": "camera.iso",
    "value": 7,
    "allowed": (50, 25600),
}
COPIES = [
    *(lambda error, p=protocol: pickle.loads(pickle.dumps(error, p)) for protocol in range(6)),
    copy.copy,
    copy.deepcopy,
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_has_what_it_is_about_as_attributes(kind: type[GloamError]) -> None:
    bare = kind("is wrong")
    assert [getattr(bare, name) for name in GIVEN] == [None] * 4
    error = kind("set/set.json: is wrong", **GIVEN)
    assert {name: getattr(error, name) for name in GIVEN} == GIVEN
    assert str(error) == "set/set.json: is wrong"
    assert isinstance(error, GloamError)


def test_a_message_is_one_line_whatever_the_name() -> None:
    for error in (
        errors.SourceError.at("a\nb\x1b.png", "is damaged"),
        errors.SourceError("a\nb\x1b.png: is damaged", path="a\nb\x1b.png"),
        errors.SourceError("a\\nb\x1b.png: is damaged", path="a\nb\x1b.png"),
    ):
        assert str(error) == "a\\nb\\x1b.png: is damaged"
        assert error.what == "is damaged"


def test_what_is_wrong_is_told_without_the_path() -> None:
    assert SetError("set/set.json: is damaged", path=Path("set/set.json")).what == "is damaged"
    assert SetError("other.json: is damaged", path=Path("set/set.json")).what == (
        "other.json: is damaged"
    )
    assert SetError("is damaged").what == "is damaged"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again", COPIES)
def test_attributes_survive_pickling(kind: type[GloamError], again: Callable[[Any], Any]) -> None:
    found = again(kind("set/set.json: is wrong", **GIVEN))
    assert type(found) is kind
    assert {name: getattr(found, name) for name in GIVEN} == GIVEN
    assert (str(found), found.what) == ("set/set.json: is wrong", "is wrong")


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("again", COPIES)
def test_a_refusal_survives_pickling(reason: Reason, again: Callable[[Any], Any]) -> None:
    refusal = ImageRefused(reason, "line 3 is cut")
    found = again(refusal)
    assert type(found) is ImageRefused
    assert found.reason is reason
    assert found.detail == "line 3 is cut"
    assert str(found) == str(refusal) == f"{reason.value}: line 3 is cut"
    assert [getattr(found, name) for name in GIVEN] == [None] * 4


def test_reasons_are_their_words() -> None:
    """Tables of refusals hold them so, and receipts as JSON."""
    assert {str(reason) for reason in Reason} == {
        "unreadable",
        "not an image",
        "empty",
        "damaged",
        "unsupported",
        "too large",
        "scene change",
        "file name",
    }
    assert Reason("too large") is Reason.TOO_LARGE
    assert Reason.TOO_LARGE == "too large"


REFUSING = """
from pathlib import Path

from gloam.errors import ConfigError, ImageRefused, Reason


def refuse(job):
    if job == 1:
        raise ImageRefused(Reason.TOO_LARGE, "of job 1")
    raise ConfigError("x.yaml: is wrong", path=Path("x.yaml"), key="a.b", value=job, allowed=[1])
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_attributes_come_back_from_workers(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"refusing_of_error_tests_{workers}"
    (tmp_path / f"{name}.py").write_text(REFUSING)
    monkeypatch.syspath_prepend(tmp_path)
    refuse = importlib.import_module(name).refuse
    with pytest.raises(ImageRefused) as refused:
        list(LocalEngine(workers).map(refuse, [1]))
    assert (refused.value.reason, refused.value.detail) == (Reason.TOO_LARGE, "of job 1")
    with pytest.raises(ConfigError) as wrong:
        list(LocalEngine(workers).map(refuse, [5]))
    assert (wrong.value.path, wrong.value.key, wrong.value.value, wrong.value.allowed) == (
        Path("x.yaml"),
        "a.b",
        5,
        [1],
    )


def test_kinds_are_also_pythons_own_where_that_helps() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(errors.LoaderError, ValueError)
    assert issubclass(errors.WorkerLost, RuntimeError)
    assert issubclass(errors.DamagedError, SetError)
    assert issubclass(errors.GloamWarning, UserWarning)
    for kind in (SetError, errors.SourceError):
        assert not issubclass(kind, OSError)
