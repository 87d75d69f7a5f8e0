"""Listing and measuring candidates: from files to a table, through worker processes and the
cache."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gloam.engines.local import LocalEngine
from gloam.errors import GloamError, SetError, SourceError
from gloam.manifests.images.header import MAX_PIXELS
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.candidates import (
    MEASURE_SCHEMA,
    leave_unmeasured,
    list_candidates,
    locations,
    measure_candidates,
)
from gloam.manifests.selection.measures import FIELDS, measure
from gloam.manifests.selection.plan import PlanOptions, make_plan
from gloam.manifests.sources import Source, read
from gloam.storage.untrusted import KEY as KEY_PATTERN

MANY = 2300
"""More candidates than one part of the cache holds."""


def source(kind: str, path: Path, name: str = "") -> Source:
    return Source(kind=kind, path=str(path), name=name or kind)


def measured(
    listed: pa.Table, cache: Path, workers: int = 1, max_pixels: int = MAX_PIXELS
) -> tuple[pa.Table, list[int]]:
    """The measured table, and what was reported on the way."""
    progress: list[int] = []
    return measure_candidates(
        listed, cache, LocalEngine(workers), max_pixels, progress.append
    ), progress


def reasons(table: pa.Table) -> dict[str, str]:
    return dict(zip(table["path"].to_pylist(), table["reason"].to_pylist(), strict=True))


@pytest.fixture
def photos(tmp_path: Path, fill_folder: Any, photograph: Any, encoded: Any) -> Path:
    """A folder of good, odd and damaged files."""
    files = {f"{i:02d}.jpg": encoded(photograph(i), "JPEG") for i in range(20)}
    files["cut.jpg"] = files["00.jpg"][:-300]
    files["empty.jpg"] = b""
    files["grey.png"] = encoded(photograph(30), "PNG", "L")
    files["sub/text.jpg"] = b"Not Found"
    return fill_folder(tmp_path / "photos", files)


# Listing


def test_candidates_are_keyed_located_and_in_the_order_of_their_sources(
    tmp_path: Path, photos: Path, write_tar: Any, jpegs: list[bytes]
) -> None:
    tar = write_tar(tmp_path / "x.tar", {"b.jpg": jpegs[0], "a.jpg": jpegs[1]})
    table = list_candidates([source("archive", tar), source("folder", photos)])
    assert table.column_names == [
        "source",
        "key",
        "path",
        "container",
        "member",
        "offset",
        "size",
        "stamp",
    ]
    assert table["source"].to_pylist() == ["archive"] * 2 + ["folder"] * 24
    assert table["path"].to_pylist()[:3] == ["b.jpg", "a.jpg", "00.jpg"]
    keys = table["key"].to_pylist()
    assert keys[:3] == ["archive-b", "archive-a", "folder-00"]
    assert keys[-1] == "folder-sub-text"
    assert all(KEY_PATTERN.fullmatch(key) for key in keys)
    assert [read(place) for place in locations(table.slice(0, 2))] == jpegs[:2]
    assert table["size"].to_pylist()[0] == len(jpegs[0])


def test_listing_twice_gives_equal_tables(photos: Path) -> None:
    assert list_candidates([source("folder", photos)]) == list_candidates(
        [source("folder", photos)]
    )


def test_one_collection_given_twice_under_two_names_keeps_keys_unique(photos: Path) -> None:
    table = list_candidates([source("folder", photos, "a"), source("folder", photos, "b")])
    keys = table["key"].to_pylist()
    assert len(set(keys)) == len(keys) == 48


def test_names_that_meet_get_keys_of_their_own(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes]
) -> None:
    root = fill_folder(
        tmp_path / "x",
        {"A 1.jpg": jpegs[0], "a-1.jpg": jpegs[1], "a-1.png": jpegs[2], "b.jpg": jpegs[3]},
    )
    keys = list_candidates([source("folder", root)])["key"].to_pylist()
    assert len(set(keys)) == 4
    assert keys[-1] == "folder-b"


def test_one_path_twice_in_a_source_is_refused(
    tmp_path: Path, jpegs: list[bytes], write_tar: Any, tar_bytes: Any
) -> None:
    """A tar inside a tar is listed as a folder, which may be there too."""
    inner = tar_bytes({"a.jpg": jpegs[0]})
    write_tar(tmp_path / "x.tar", {"n/a.jpg": jpegs[1], "n.tar": inner})
    with pytest.raises(SourceError, match=r"holds two files named n/a\.jpg; rename one"):
        list_candidates([source("archive", tmp_path / "x.tar")])


def test_a_broken_source_is_named(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        list_candidates([source("folder", photos), source("voc", tmp_path / "nowhere")])


def test_listing_reports_how_many_it_has_found(tmp_path: Path, write_tar: Any) -> None:
    reported: list[int] = []
    list_candidates(
        [source("archive", write_tar(tmp_path / "x.tar", {f"{i}.jpg": b"" for i in range(MANY)}))],
        reported.append,
    )
    assert reported == [1000, 2000, MANY]


# Measuring


def test_measurements_are_those_of_each_file(tmp_path: Path, photos: Path) -> None:
    listed = list_candidates([source("folder", photos)])
    table, _ = measured(listed, tmp_path / "cache")
    assert table.column_names == [*listed.column_names, *MEASURE_SCHEMA.names]
    assert table.select(listed.column_names) == listed
    for row in table.to_pylist():
        if row["reason"] == "":
            expected = measure((photos / row["path"]).read_bytes(), MAX_PIXELS)
            assert tuple(row[name] for name in FIELDS) == expected


def test_refusals_are_rows_with_a_reason_and_nothing_measured(tmp_path: Path, photos: Path) -> None:
    table, _ = measured(list_candidates([source("folder", photos)]), tmp_path / "cache")
    refused = {row["path"]: row for row in table.to_pylist() if row["reason"]}
    assert {path: row["reason"] for path, row in refused.items()} == {
        "cut.jpg": "damaged",
        "empty.jpg": "empty",
        "sub/text.jpg": "not an image",
    }
    for row in refused.values():
        assert row["detail"]
        assert [row[name] for name in FIELDS] == [0] * len(FIELDS)


def test_one_and_two_workers_measure_the_same(
    tmp_path: Path, write_tar: Any, photograph: Any, encoded: Any
) -> None:
    """More candidates than go into one job, so that both workers get some, of every kind of
    place."""
    some = [encoded(photograph(i, 48, 36), "JPEG" if i % 2 else "PNG") for i in range(10)]
    tar = write_tar(
        tmp_path / "x.tar", {f"{i}.jpg": some[i % 10][: None if i % 7 else 150] for i in range(300)}
    )
    listed = list_candidates([source("archive", tar)])
    one, progress_of_one = measured(listed, tmp_path / "one", 1)
    two, progress_of_two = measured(listed, tmp_path / "two", 2)
    assert one == two
    assert len(set(one["reason"].to_pylist())) > 1
    for progress in (progress_of_one, progress_of_two):
        assert progress == sorted(progress)
        assert (progress[0], progress[-1]) == (0, 300)


def test_measured_once_the_files_are_not_read_again(tmp_path: Path, photos: Path) -> None:
    listed = list_candidates([source("folder", photos)])
    first, _ = measured(listed, tmp_path / "cache")
    shutil.rmtree(photos)
    second, progress = measured(listed, tmp_path / "cache")
    assert second == first
    assert set(progress) == {24}


def test_the_cache_serves_any_choice_and_order_of_candidates(tmp_path: Path, photos: Path) -> None:
    listed = list_candidates([source("folder", photos)])
    first, _ = measured(listed, tmp_path / "cache")
    shutil.rmtree(photos)
    order = [23, 3, 4, 0, 11]
    second, _ = measured(listed.take(order), tmp_path / "cache")
    assert second.to_pylist() == first.take(order).to_pylist()


def test_new_candidates_are_added_to_what_is_known(
    tmp_path: Path, photos: Path, photograph: Any, encoded: Any
) -> None:
    first, _ = measured(list_candidates([source("folder", photos)]), tmp_path / "cache")
    data = encoded(photograph(77), "PNG")
    (photos / "05-new.png").write_bytes(data)
    second, progress = measured(list_candidates([source("folder", photos)]), tmp_path / "cache")
    assert (progress[0], progress[-1]) == (24, 25)
    assert second.num_rows == first.num_rows + 1
    (new,) = (row for row in second.to_pylist() if row["path"] == "05-new.png")
    assert new["mean"] == measure(data, MAX_PIXELS).mean
    assert [row for row in second.to_pylist() if row["path"] != "05-new.png"] == first.to_pylist()


def test_a_changed_file_is_measured_anew(
    tmp_path: Path, photos: Path, photograph: Any, encoded: Any
) -> None:
    """Also when its size stays the same and its time changes by a nanosecond only."""
    changed = photos / "03.bmp"
    changed.write_bytes(encoded(photograph(98), "BMP"))
    before, _ = measured(list_candidates([source("folder", photos)]), tmp_path / "cache")
    status = changed.stat()
    data = encoded(photograph(99), "BMP")
    changed.write_bytes(data)
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert changed.stat().st_size == status.st_size
    after, progress = measured(list_candidates([source("folder", photos)]), tmp_path / "cache")
    assert progress[0] == before.num_rows - 1
    for old, new in zip(before.to_pylist(), after.to_pylist(), strict=True):
        if new["path"] == "03.bmp":
            assert new["mean"] == measure(data, MAX_PIXELS).mean != old["mean"]
        else:
            assert new == old


def test_another_limit_of_pixels_measures_anew(tmp_path: Path, photos: Path) -> None:
    listed = list_candidates([source("folder", photos)])
    measured(listed, tmp_path / "cache")
    strict, progress = measured(listed, tmp_path / "cache", max_pixels=1000)
    assert progress[0] == 0
    assert reasons(strict)["00.jpg"] == "too large"
    again, _ = measured(listed, tmp_path / "cache")
    assert reasons(again)["00.jpg"] == ""


def test_a_photograph_that_could_not_be_read_is_tried_again(tmp_path: Path, photos: Path) -> None:
    """A share that was away for a moment says nothing about the file, whose size and time are as
    they were."""
    listed = list_candidates([source("folder", photos)])
    os.replace(photos / "03.jpg", tmp_path / "away.jpg")
    first, _ = measured(listed, tmp_path / "cache")
    assert reasons(first)["03.jpg"] == "unreadable"
    os.replace(tmp_path / "away.jpg", photos / "03.jpg")
    assert list_candidates([source("folder", photos)]) == listed
    second, _ = measured(listed, tmp_path / "cache")
    assert reasons(second)["03.jpg"] == ""


def test_names_that_are_not_text_end_as_refusals(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes], odd_name: str
) -> None:
    other = os.fsdecode(b"na\xefve.jpg")
    root = fill_folder(tmp_path / "root", {"ok.jpg": jpegs[0], odd_name: jpegs[1], other: jpegs[2]})
    table, _ = measured(list_candidates([source("folder", root)]), tmp_path / "cache")
    assert reasons(table) == {
        "caf\\udce9.jpg": "file name",
        "na\\udcefve.jpg": "file name",
        "ok.jpg": "",
    }
    again, progress = measured(list_candidates([source("folder", root)]), tmp_path / "cache")
    assert (again, progress[0]) == (table, 3)


def test_a_source_below_a_folder_whose_name_is_not_text_does_not_crash(
    tmp_path: Path, fill_folder: Any, jpegs: list[bytes], odd_name: str
) -> None:
    root = fill_folder(tmp_path / odd_name.removesuffix(".jpg"), {"1.jpg": jpegs[0]})
    try:
        table = list_candidates([source("folder", root)])
    except GloamError:
        return  # said in words
    found, _ = measured(table, tmp_path / "cache")
    assert reasons(found)["1.jpg"] in ("", "file name")


def test_unmeasured_candidates_have_empty_measures_and_are_all_planned(
    tmp_path: Path, photos: Path
) -> None:
    """`--no-select` does so: the plan is the one that measuring would have given, had all been
    readable."""
    for path in ("cut.jpg", "empty.jpg", "sub/text.jpg"):
        (photos / path).unlink()
    listed = list_candidates([source("folder", photos)])
    blank, (known, _) = leave_unmeasured(listed), measured(listed, tmp_path / "cache")
    assert blank.schema == known.schema
    assert blank.select(listed.column_names) == listed
    assert {row["reason"] for row in blank.to_pylist()} == {""}
    assert blank["mean"].null_count == len(blank)
    plans = [
        make_plan(t, [source("folder", photos)], EVERYTHING, PlanOptions(pairs=15, val=4))
        for t in (blank, known)
    ]
    assert plans[0].pairs == plans[1].pairs
    assert plans[0].candidates["reason"] == plans[1].candidates["reason"]


# The cache, when it is interrupted


def tiny_tar(path: Path, write_tar: Any, photograph: Any, encoded: Any) -> Path:
    tiny = encoded(photograph(1, 8, 8), "PNG")
    return write_tar(path, {f"{i:05d}.png": tiny for i in range(MANY)})


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_its_last_part_ended(
    tmp_path: Path, write_tar: Any, photograph: Any, encoded: Any
) -> None:
    listed = list_candidates(
        [source("archive", tiny_tar(tmp_path / "x.tar", write_tar, photograph, encoded))]
    )
    cache = tmp_path / "cache"

    def interrupt(done: int) -> None:
        if done > 2200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_candidates(listed, cache, LocalEngine(), MAX_PIXELS, interrupt)
    (part,) = cache.iterdir()
    kept = pq.read_metadata(part).num_rows
    assert kept >= 2000
    table, progress = measured(listed, cache)
    assert progress[0] == kept
    assert table == measured(listed, tmp_path / "other")[0]


KILLED = """
import os, signal, sys
from pathlib import Path
from gloam.engines.local import LocalEngine
from gloam.manifests.selection.candidates import list_candidates, measure_candidates
from gloam.manifests.images.header import MAX_PIXELS
from gloam.manifests.sources import Source

def die(done):
    if done > 2200:
        os.kill(os.getpid(), signal.SIGKILL)

listed = list_candidates([Source(kind="archive", path=sys.argv[1], name="archive")])
measure_candidates(listed, Path(sys.argv[2]), LocalEngine(), MAX_PIXELS, die)
"""


def test_a_killed_run_leaves_whole_parts_only(
    tmp_path: Path, write_tar: Any, photograph: Any, encoded: Any
) -> None:
    tar, cache = tiny_tar(tmp_path / "x.tar", write_tar, photograph, encoded), tmp_path / "cache"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tar), str(cache)], check=False)
    assert ended.returncode == -signal.SIGKILL
    parts = sorted(cache.glob("part-*.parquet"))
    assert sum(pq.read_table(part).num_rows for part in parts) >= 2000
    table, progress = measured(list_candidates([source("archive", tar)]), cache)
    assert progress[0] >= 2000
    assert set(table["reason"].to_pylist()) == {""}


TORN = """
import resource, signal, sys
from pathlib import Path
from gloam.engines.local import LocalEngine
from gloam.manifests.selection.candidates import list_candidates, measure_candidates
from gloam.manifests.sources import Source

listed = list_candidates([Source(kind="folder", path=sys.argv[1], name="folder")])
# The system ends the process at the first byte beyond the limit.
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
measure_candidates(listed, Path(sys.argv[2]), LocalEngine(), 10**8)
"""


def test_a_run_killed_while_it_writes_a_part_leaves_none_under_its_name(
    tmp_path: Path, photos: Path
) -> None:
    cache = tmp_path / "cache"
    ended = subprocess.run([sys.executable, "-c", TORN, str(photos), str(cache)], check=False)
    assert ended.returncode == -signal.SIGXFSZ
    assert [path.stat().st_size for path in cache.iterdir()] == [1000]
    assert list(cache.glob("part-*.parquet")) == []
    listed = list_candidates([source("folder", photos)])
    table, progress = measured(listed, cache)
    assert progress[0] == 0
    assert table == measured(listed, tmp_path / "other")[0]


def test_a_torn_part_under_its_temporary_name_is_never_read(tmp_path: Path, photos: Path) -> None:
    listed = list_candidates([source("folder", photos)])
    cache = tmp_path / "cache"
    first, _ = measured(listed, cache)
    (part,) = cache.iterdir()
    whole = part.read_bytes()
    part.unlink()
    (cache / f"{part.name}.tmp-12345").write_bytes(
        whole[: len(whole) // 2]
    )  # what a writer killed midway leaves
    second, progress = measured(listed, cache)
    assert progress[0] == 0
    assert second == first
    assert [path.name for path in sorted(cache.glob("part-*.parquet"))] == [part.name]


def test_a_cache_that_holds_something_else_is_named(tmp_path: Path, photos: Path) -> None:
    listed = list_candidates([source("folder", photos)])
    cache = tmp_path / "cache"
    cache.mkdir()
    odd = cache / "part-0.parquet"
    pq.write_table(pa.table({"identity": [1]}), odd)
    for data in (odd.read_bytes(), b"", b"garbage"):  # an empty one is left where power fails
        odd.write_bytes(data)
        with pytest.raises(SetError, match=rf"{odd}: holds no measurements .*; delete it"):
            measured(listed, cache)
    with pytest.raises(SetError, match=rf"{odd}: is no folder; choose another one for --cache"):
        measured(listed, odd)
