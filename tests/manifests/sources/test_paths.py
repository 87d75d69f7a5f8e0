"""Names of photographs, read quickly, are those that pathlib reads."""

from __future__ import annotations

from pathlib import PurePosixPath

from hypothesis import example, given
from hypothesis import strategies as st

from gloam.manifests.sources.collections import _without_suffix, is_photograph
from gloam.manifests.sources.containers import Entry, Location

NAMES = st.text("ab./J", min_size=1, max_size=12).filter(lambda text: PurePosixPath(text).name)


@given(NAMES)
@example("./a/b.jpg")
@example("a..jpg")
@example("a.")
@example("...jpg")
@example("a//b.tar.jpg")
def test_they_are_read_as_by_pathlib(name):
    path = PurePosixPath(name)
    assert _without_suffix(name) == str(path.with_suffix(""))
    photograph = name + "pg" if name.endswith(".J") else name
    path = PurePosixPath(photograph)
    expected = path.suffix.lower() in (".jpg",) and not path.name.startswith("._")
    found = is_photograph(Entry(photograph, Location("", photograph, -1, 1, 1)))
    assert found == expected
