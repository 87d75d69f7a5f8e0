"""The shards of a pattern: found, missing, hidden, too many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from braceexpand import braceexpand

from gloam.errors import SourceError
from gloam.manifests.sources import list_source
from gloam.manifests.sources.collections import count_expansions


def test_webdataset_names_the_shard_that_is_missing(
    tmp_path: Path, write_tar: Any, jpegs: list[bytes]
) -> None:
    write_tar(tmp_path / "s-0.tar", {"0.jpg": jpegs[0]})
    with pytest.raises(SourceError, match=r"s-1\.tar: no such file"):
        list(list_source("webdataset", str(tmp_path / "s-{0..1}.tar")))
    with pytest.raises(SourceError, match="matches no shard"):
        list_source("webdataset", str(tmp_path / "t-*.tar"))


def test_webdataset_pattern_with_a_brace_too_many_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="webdataset"):
        list_source("webdataset", str(tmp_path / "s-{0..3.tar"))


def test_hidden_shards_are_counted(tmp_path: Path, write_tar: Any, jpegs: list[bytes]) -> None:
    write_tar(tmp_path / "x-0.tar", {"1.jpg": jpegs[0]})
    (tmp_path / "._x-0.tar").write_bytes(b"fork")
    passed: Counter[str] = Counter()
    found = list_source("webdataset", str(tmp_path / "*.tar"), "", passed)
    assert [image.path for image in found] == ["x-0.tar/1.jpg"]
    assert passed == {"hidden files": 1}
    (tmp_path / "x-0.tar").unlink()
    with pytest.raises(SourceError, match="passed over: hidden files 1"):
        list_source("webdataset", str(tmp_path / "*.tar"))


@pytest.mark.parametrize(
    "pattern",
    [
        "x-{0..99999999999}.tar",
        "{0..999}/{0..999}/{0..9}.tar",
        "{a,{0..2000000}}.tar",
        "".join(["{a,b}"] * 40),
        "{{a,b}" + "{c,d}" * 40 + ",e}.tar",
    ],
)
def test_braces_that_stand_for_too_many_shards_are_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(SourceError, match=r"its braces stand for [\d,]+ shards, the limit"):
        list_source("webdataset", str(tmp_path / pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        "{07..10}",
        "{9..1..2}",
        "a{b,{2..4},c{d,e}}f",
        "{x}",
        "{a..g..2}",
        "{,.bak}",
        "a",
        "{1..3,5}",
    ],
)
def test_braces_are_counted_as_they_are_expanded(pattern: str) -> None:
    assert count_expansions(pattern) == len(list(braceexpand(pattern)))
