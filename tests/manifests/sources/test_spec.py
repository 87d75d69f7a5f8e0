"""`--source KIND=PATH[@LIST][:LIMIT]`, and the names that sources get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gloam.errors import ConfigError
from gloam.manifests.sources import KINDS, Source, list_source, parse_source
from gloam.manifests.sources.collections import LISTED_KINDS
from gloam.manifests.sources.spec import name_sources
from gloam.storage.untrusted import KEY as KEY_PATTERN

WITHOUT_LIST = [("", "", None), (":20000", "", 20000)]
WITH_LIST = [("@trainval", "trainval", None), ("@train.v2:7", "train.v2", 7)]


@pytest.mark.parametrize(
    ("kind", "ending", "listing", "limit"),
    [(kind, *case) for kind in sorted(set(KINDS) - {"sample"}) for case in WITHOUT_LIST]
    + [(kind, *case) for kind in LISTED_KINDS for case in WITH_LIST],
)
def test_path_list_and_limit_are_told_apart(
    tmp_path: Path, kind: str, ending: str, listing: str, limit: int | None
) -> None:
    source = parse_source(f"{kind}={tmp_path}/photos{ending}")
    assert source == Source(kind=kind, path=f"{tmp_path}/photos", listing=listing, limit=limit)


@pytest.mark.parametrize(("text", "limit"), [("sample", None), ("sample:12", 12)])
def test_sample_needs_no_path(text: str, limit: int | None) -> None:
    assert parse_source(text) == Source(kind="sample", limit=limit)


@pytest.mark.parametrize("name", ["day:2", "me@lab", "a@b:3", "x=y", "10:30:2"])
def test_a_path_that_exists_is_taken_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir()
    assert parse_source(f"folder={path}") == Source(kind="folder", path=str(path))
    assert parse_source(f"folder={path}:5") == Source(kind="folder", path=str(path), limit=5)
    assert parse_source(f"voc={path}@val") == Source(kind="voc", path=str(path), listing="val")
    assert parse_source(f"voc={path}@val:5") == Source(
        kind="voc", path=str(path), listing="val", limit=5
    )


def test_a_pattern_below_a_folder_with_an_at_sign_is_taken_whole(
    tmp_path: Path, write_tar: Any, jpegs: list[bytes]
) -> None:
    """A pattern never exists as it is written; webdataset has no lists, so its "@" can only be part
    of the path."""
    for i in range(2):
        write_tar(tmp_path / "me@lab" / f"{i}.tar", {f"{i}.jpg": jpegs[i]})
    source = parse_source(f"webdataset={tmp_path}/me@lab/{{0..1}}.tar:7")
    assert source == Source(kind="webdataset", path=f"{tmp_path}/me@lab/{{0..1}}.tar", limit=7)
    assert len(list(list_source(source.kind, source.path, source.listing))) == 2


def test_a_pattern_below_a_folder_with_a_colon_is_taken_whole(tmp_path: Path) -> None:
    pattern = f"{tmp_path}/day:2/{{0..1}}.tar"
    assert parse_source(f"webdataset={pattern}") == Source(kind="webdataset", path=pattern)
    assert parse_source(f"webdataset={pattern}:7") == Source(
        kind="webdataset", path=pattern, limit=7
    )


@pytest.mark.parametrize(
    "text", ["imagnet=x", "photos", "", "=x", "/data/photos", "Folder=x", "sample@x"]
)
def test_an_unknown_kind_is_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"unknown kind .* known are archive, classes, clips, coco, folder, iapr"
    ):
        parse_source(text)


@pytest.mark.parametrize("text", ["folder=", "voc", "imagenet:50"])
def test_a_missing_path_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"give the path, as in \w+=DIR"):
        parse_source(text)


@pytest.mark.parametrize("text", ["folder=:20", "voc=@trainval", "voc=@trainval:20"])
def test_a_path_that_is_only_a_limit_or_a_list_is_missing(text: str) -> None:
    """`folder=$PHOTOS:20` becomes one when PHOTOS is not set; it must not mean the current
    folder."""
    with pytest.raises(ConfigError):
        parse_source(text)


@pytest.mark.parametrize(
    "text", ["coco=photos@../list", "voc=x@/etc/passwd", "folder=photos:99999999999999"]
)
def test_values_that_no_source_has_are_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match=f"--source {text}: (listing|limit): ") as caught:
        parse_source(text)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["folder=photos:0", "sample:0", "voc=x@val:00"])
def test_a_limit_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a limit of 0 takes nothing"):
        parse_source(text)


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "photos", "path": "x"},
        {"kind": "folder", "path": "x", "limit": 0},
        {"kind": "folder", "path": "x", "limit": -3},
        {"kind": "folder", "path": "x", "name": "Upper"},
        {"kind": "folder", "path": "x", "name": "-dash"},
        {"kind": "folder", "path": "x", "name": "a" * 25},
        {"kind": "folder", "path": "x", "name": "new\n"},
        {"kind": "folder", "path": "x", "folder": "y"},
        {"path": "x"},
    ],
)
def test_wrong_values_of_a_build_file_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Source.model_validate(values)


def test_every_kind_names_itself_well_enough_for_a_key() -> None:
    for kind in KINDS:
        assert Source(kind=kind, path="x").kind == kind
        assert KEY_PATTERN.match(kind)


def names(*sources: Source) -> list[str]:
    return [source.name for source in name_sources(list(sources))]


def test_sources_without_names_are_numbered_by_kind() -> None:
    folder, voc = Source(kind="folder", path="x"), Source(kind="voc", path="x")
    assert names(folder, voc, folder, folder) == ["folder", "voc", "folder-2", "folder-3"]


def test_given_names_are_kept_and_never_given_twice() -> None:
    folder = Source(kind="folder", path="x")
    second = Source(kind="folder", path="y", name="folder-2")
    first = Source(kind="voc", path="y", name="folder")
    assert names(folder, folder, second) == ["folder", "folder-3", "folder-2"]
    assert names(folder, first) == ["folder-2", "folder"]


def test_naming_changes_nothing_else() -> None:
    source = Source(kind="voc", path="x", limit=3, listing="val")
    assert name_sources([source]) == [source.model_copy(update={"name": "voc"})]
    assert name_sources(name_sources([source, source])) == name_sources([source, source])


def test_one_name_for_two_sources_is_refused() -> None:
    with pytest.raises(ConfigError, match="same name"):
        names(Source(kind="voc", path="x", name="a"), Source(kind="coco", path="y", name="a"))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["folder", "voc", "coco"]),
            st.sampled_from(["", "", "folder", "folder-2", "voc", "voc-3", "a"]),
        ),
        max_size=8,
    )
)
def test_names_are_always_unique_or_refused(drawn: list[tuple[str, str]]) -> None:
    sources = [Source(kind=kind, path="x", name=name) for kind, name in drawn]
    given_names = [name for _, name in drawn if name]
    if len(set(given_names)) < len(given_names):
        with pytest.raises(ConfigError):
            name_sources(sources)
        return
    named = name_sources(sources)
    assert len({source.name for source in named}) == len(sources)
    assert all(source.name == name for source, (_, name) in zip(named, drawn, strict=True) if name)
    assert all(Source.model_validate(source.model_dump()) == source for source in named)
