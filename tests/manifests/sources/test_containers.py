"""Folders, tars and zips: what they list, that every listed place reads back, and what becomes of
broken ones."""

from __future__ import annotations

import io
import os
import random
import struct
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import ImageRefused, SourceError
from gloam.manifests.images.header import MAX_BYTES
from gloam.manifests.sources.containers import (
    Location,
    list_container,
    read,
    read_beside,
    read_text,
)

LONG = "a-folder-with-a-long-name/" * 8 + "photograph.jpg"
FILES = {
    "b/2.jpg": b"two" * 400,
    "a/10.JPG": b"ten" * 7,
    "a/9.jpg": b"",
    "top.png": bytes(range(256)) * 9,
    "b/c/d/deep.txt": b"deep",
    "b/two words & more.jpg": b"odd" * 171,
    "b/Straße-日本.jpg": b"unicode" * 100,
    "b/new\nline.jpg": b"newline",
}


def make_folder(root: Path, files: dict[str, bytes], given: pytest.FixtureRequest) -> Path:
    return given.getfixturevalue("fill_folder")(root / "folder", files)


def make_tar(tar_format: int) -> Callable[[Path, dict[str, bytes], pytest.FixtureRequest], Path]:
    return lambda root, files, given: given.getfixturevalue("write_tar")(
        root / "x.tar", files, tar_format
    )


def make_zip(compression: int) -> Callable[[Path, dict[str, bytes], pytest.FixtureRequest], Path]:
    return lambda root, files, given: given.getfixturevalue("write_zip")(
        root / "x.zip", files, compression
    )


CONTAINERS = {
    "folder": make_folder,
    "ustar": make_tar(tarfile.USTAR_FORMAT),
    "gnu tar": make_tar(tarfile.GNU_FORMAT),
    "pax tar": make_tar(tarfile.PAX_FORMAT),
    "stored zip": make_zip(zipfile.ZIP_STORED),
    "deflated zip": make_zip(zipfile.ZIP_DEFLATED),
    "lzma zip": make_zip(zipfile.ZIP_LZMA),
}


def contents(path: Path) -> dict[str, bytes]:
    return {entry.name: read(entry.location) for entry in list_container(path)}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_file_is_listed_with_its_size_and_reads_back_as_it_was(
    tmp_path: Path, request: pytest.FixtureRequest, container: str
) -> None:
    files = FILES if container == "ustar" else FILES | {LONG: b"long name" * 50}
    entries = list(list_container(CONTAINERS[container](tmp_path, files, request)))
    assert {entry.name: read(entry.location) for entry in entries} == files
    assert [entry.location.size for entry in entries] == [
        len(files[entry.name]) for entry in entries
    ]


@pytest.mark.parametrize("container", CONTAINERS)
def test_places_can_be_read_again_and_in_any_order(
    tmp_path: Path, request: pytest.FixtureRequest, container: str
) -> None:
    entries = list(list_container(CONTAINERS[container](tmp_path, FILES, request)))
    for entry in [*reversed(entries), *entries]:
        assert read(entry.location) == FILES[entry.name]


@pytest.mark.parametrize("container", ["folder", "deflated zip"])
def test_order_depends_on_the_names_alone(
    tmp_path: Path, request: pytest.FixtureRequest, container: str
) -> None:
    backwards = dict(reversed(FILES.items()))
    one = CONTAINERS[container](tmp_path / "one", FILES, request)
    other = CONTAINERS[container](tmp_path / "other", backwards, request)
    assert [e.name for e in list_container(one)] == [e.name for e in list_container(other)]


def test_a_folder_lists_its_files_and_then_its_folders_each_by_name(
    tmp_path: Path, fill_folder: Any
) -> None:
    folders = [f"{i * 37 % 100:02d}" for i in range(100)]  # created out of order
    names = [f"{folder}/{i}.jpg" for folder in folders for i in (2, 1)] + ["zz.jpg", "aa.jpg"]
    root = fill_folder(tmp_path / "root", dict.fromkeys(names, b"x"))
    below = [f"{folder}/{i}.jpg" for folder in sorted(folders) for i in (1, 2)]
    assert [entry.name for entry in list_container(root)] == ["aa.jpg", "zz.jpg", *below]


def test_a_tar_is_listed_in_the_order_of_its_members(tmp_path: Path, write_tar: Any) -> None:
    assert [e.name for e in list_container(write_tar(tmp_path / "x.tar", FILES))] == list(FILES)


def test_a_tar_inside_a_tar_is_walked_in_place(
    tmp_path: Path, write_tar: Any, tar_bytes: Any
) -> None:
    inner = {"1.jpg": b"one" * 500, "2.jpg": b"two" * 10}
    innermost = tar_bytes({"deep.jpg": b"deep" * 300})
    path = write_tar(
        tmp_path / "outer.tar",
        {
            "n01.tar": tar_bytes(inner),
            "x/n02.tar": tar_bytes({"3.jpg": b"3", "m.tar": innermost}),
            "last.jpg": b"last",
        },
    )
    expected = {"n01/1.jpg": inner["1.jpg"], "n01/2.jpg": inner["2.jpg"], "x/n02/3.jpg": b"3"}
    assert contents(path) == expected | {"x/n02/m/deep.jpg": b"deep" * 300, "last.jpg": b"last"}


def test_a_source_may_itself_be_a_link(tmp_path: Path, fill_folder: Any, write_tar: Any) -> None:
    (tmp_path / "folder-link").symlink_to(fill_folder(tmp_path / "root", {"1.jpg": b"one"}))
    (tmp_path / "tar-link").symlink_to(write_tar(tmp_path / "x.tar", {"1.jpg": b"one"}))
    assert (
        contents(tmp_path / "folder-link") == contents(tmp_path / "tar-link") == {"1.jpg": b"one"}
    )


def test_names_in_zips_have_one_form(tmp_path: Path, write_zip: Any) -> None:
    """.NET and PowerShell wrote backslashes, for folders too."""
    path = write_zip(tmp_path / "x.zip", {"cat/1.jpg": b"1", "dog/": b"", "./e//2.jpg": b"2"})
    path.write_bytes(path.read_bytes().replace(b"cat/1", b"cat\\1").replace(b"dog/", b"dog\\"))
    assert contents(path) == {"cat/1.jpg": b"1", "e/2.jpg": b"2"}


def test_a_zip_in_front_of_another_is_counted(tmp_path: Path, write_zip: Any) -> None:
    """`unzip` warns of it, too."""
    both = [write_zip(tmp_path / f"{n}.zip", {f"{n}.jpg": b"x"}).read_bytes() for n in (1, 2)]
    (tmp_path / "x.zip").write_bytes(b"".join(both))
    passed: Counter[str] = Counter()
    assert [entry.name for entry in list_container(tmp_path / "x.zip", passed)] == ["2.jpg"]
    assert passed == {"data before the archive": 1}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_last_file_of_a_name_in_a_zip_counts_and_links_are_counted(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, data in (("1.jpg", b"old"), ("2.jpg", b"two"), ("1.jpg", b"new")):
            archive.writestr(name, data)
        archive.writestr("__MACOSX/._1.jpg", b"fork")
        link = zipfile.ZipInfo("3.jpg")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "1.jpg")
    passed: Counter[str] = Counter()
    listed = {e.name: read(e.location) for e in list_container(tmp_path / "x.zip", passed)}
    assert listed == {"1.jpg": b"new", "2.jpg": b"two"}
    assert passed == {
        "replaced by a later file of the name": 1,
        "links inside the archive": 1,
        "hidden files": 1,
    }


def test_stamp_follows_the_modification_time(
    tmp_path: Path, fill_folder: Any, write_tar: Any, write_zip: Any
) -> None:
    root = fill_folder(tmp_path / "root", {"1.jpg": b"one"})
    tar, zipped = (
        write_tar(tmp_path / "x.tar", {"1.jpg": b"one"}),
        write_zip(tmp_path / "x.zip", {"1.jpg": b"one"}),
    )
    for container, file in ((root, root / "1.jpg"), (tar, tar), (zipped, zipped)):
        os.utime(file, ns=(5, 1_000_000_123))
        (entry,) = list_container(container)
        assert entry.location.stamp == 1_000_000_123


# Archives that only look like something else


def test_a_tar_whose_first_name_begins_like_a_compressed_file_is_a_tar(
    tmp_path: Path, write_tar: Any
) -> None:
    """A tar begins with its first member's name, so two letters cannot tell it from bzip2."""
    files = {"BZ-harbour/1.jpg": b"one", "BZh.jpg": b"two"}
    assert contents(write_tar(tmp_path / "x.tar", files)) == files
    assert contents(write_tar(tmp_path / "y.tar", dict(reversed(files.items())))) == files


def test_a_tar_that_ends_with_a_zip_is_a_tar(
    tmp_path: Path, write_tar: Any, write_zip: Any
) -> None:
    """A zip is recognised by its end, wherever it begins."""
    inner = write_zip(tmp_path / "inner.zip", {"readme.txt": b"text"}).read_bytes()
    files = {"1.jpg": b"one" * 100, "extras.zip": inner}
    assert contents(write_tar(tmp_path / "x.tar", files)) == files


@pytest.mark.parametrize("container", ["ustar", "deflated zip"])
def test_an_archive_that_was_replaced_is_read_anew(
    tmp_path: Path, request: pytest.FixtureRequest, container: str
) -> None:
    """Places carry the archive's time stamp; a reader kept open from before must not serve them."""
    path = CONTAINERS[container](tmp_path, {"1.jpg": b"old" * 300}, request)
    assert contents(path) == {"1.jpg": b"old" * 300}
    new = {"0.txt": b"text" * 200, "1.jpg": b"new" * 300}
    os.replace(CONTAINERS[container](tmp_path / "next", new, request), path)
    assert contents(path) == new


# What is refused


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere: no such file or folder"):
        list(list_container(tmp_path / "nowhere"))


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/kmsg"])
def test_devices_and_files_that_say_they_are_empty_are_not_read(path: str) -> None:
    """Reading them would never come to an end."""
    if not os.path.exists(path):
        pytest.skip(f"no {path} here")
    with pytest.raises(SourceError, match=f"{path}: (no folder and no file|.* empty file)"):
        list(list_container(Path(path)))


def test_a_pipe_in_the_place_of_a_photograph_is_refused_at_once(
    tmp_path: Path, fill_folder: Any
) -> None:
    root = fill_folder(tmp_path / "root", {"1.jpg": b"one"})
    (entry,) = list_container(root)
    (root / "1.jpg").unlink()
    os.mkfifo(root / "1.jpg")
    with pytest.raises(ImageRefused, match="not a regular file") as refused:
        read(entry.location)
    assert refused.value.reason == "unreadable"


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="needs a log of the kernel")
def test_a_link_to_a_file_whose_reading_waits_is_empty(tmp_path: Path) -> None:
    (tmp_path / "1.jpg").symlink_to("/proc/kmsg")
    (entry,) = list_container(tmp_path)
    assert read(entry.location) == b""


@pytest.mark.parametrize("data", [b"", b"x", b"text " * 500, b"PK\x03\x04" + bytes(400)])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(SourceError, match=r"x\.tar: not a readable tar or zip"):
        list(list_container(tmp_path / "x.tar"))


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
def test_a_compressed_tar_is_refused_with_the_way_out(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"photos.tar.{compression}"
    with tarfile.open(path, f"w:{compression}") as archive:  # type: ignore[call-overload]
        header = tarfile.TarInfo("1.jpg")
        header.size = 2000
        archive.addfile(header, io.BytesIO(bytes(2000)))
    with pytest.raises(SourceError, match=r"compressed tar .* make it a plain one first"):
        list(list_container(path))


@pytest.mark.parametrize(
    ("compression", "command"), [("gz", "gunzip"), ("bz2", "bunzip2"), ("xz", "unxz")]
)
def test_the_command_that_is_shown_fits_the_compression(
    tmp_path: Path, compression: str, command: str
) -> None:
    path = tmp_path / f"photos.tar.{compression}"
    with tarfile.open(path, f"w:{compression}") as archive:  # type: ignore[call-overload]
        archive.addfile(tarfile.TarInfo("1.jpg"))
    with pytest.raises(SourceError, match=command):
        list(list_container(path))


def test_a_large_text_of_which_next_to_nothing_is_stored_is_refused(
    tmp_path: Path, write_zip: Any, write_tar: Any
) -> None:
    text = b"[]," * (1 << 24)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.json").write_bytes(text)
    for path in (plain, write_tar(tmp_path / "x.tar", {"a.json": text})):
        assert len(read_text(str(path), next(iter(list_container(path))))) == len(text)
    (tmp_path / "holes").mkdir()
    (tmp_path / "holes/a.json").write_bytes(b"[")
    os.truncate(tmp_path / "holes/a.json", len(text))
    for path in (tmp_path / "holes", write_zip(tmp_path / "x.zip", {"a.json": text})):
        entry = next(iter(list_container(path)))
        with pytest.raises(SourceError, match=r"a\.json cannot be read: .* next to nothing is"):
            read_text(str(path), entry)
    assert read(entry.location) == text  # as a dark picture may be
    with pytest.raises(SourceError, match=r"a\.json: cannot be read: .* next to nothing is"):
        read_beside(tmp_path / "holes/a.json")


@pytest.mark.parametrize(
    "tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
)
def test_a_tar_cut_short_anywhere_is_refused(
    tmp_path: Path, tar_bytes: Any, tar_format: int
) -> None:
    long = (
        "x" * 90 if tar_format == tarfile.USTAR_FORMAT else "x" * 150
    )  # longer names take extra headers
    files = {f"{long}.jpg": b"one" * 100, "b.jpg": b"two" * 300, "c.jpg": b""}
    whole = tar_bytes(files, tar_format)
    path = tmp_path / "x.tar"
    path.write_bytes(whole)
    assert contents(path) == files
    marks = len(whole.rstrip(b"\0"))
    end = -(-marks // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
    for length in range(1, end + tarfile.BLOCKSIZE, 37):
        path.write_bytes(whole[:length])
        with pytest.raises(SourceError, match=r"x\.tar"):
            list(list_container(path))
    for length in range(
        tarfile.BLOCKSIZE, end + 1, tarfile.BLOCKSIZE
    ):  # between blocks, where tarfile itself says nothing
        path.write_bytes(whole[:length])
        with pytest.raises(SourceError, match=r"x\.tar"):
            list(list_container(path))


def test_a_member_that_was_cut_is_never_listed(tmp_path: Path, tar_bytes: Any) -> None:
    files = {"1.jpg": b"one" * 100, "2.jpg": b"two" * 300}
    (tmp_path / "x.tar").write_bytes(tar_bytes(files)[: 512 + 512 + 512 + 700])
    entries = list_container(tmp_path / "x.tar")
    assert next(entries).name == "1.jpg"
    with pytest.raises(SourceError, match=r"x\.tar: ends inside 2\.jpg; the archive was cut short"):
        next(entries)


def test_a_tar_inside_a_tar_that_is_cut_short_is_refused(
    tmp_path: Path, write_tar: Any, tar_bytes: Any
) -> None:
    inner = tar_bytes({"1.jpg": b"one" * 300, "2.jpg": b"two" * 300})
    for length in (1536, 1536 + 512, 1536 + 700, 3072):
        path = write_tar(tmp_path / f"{length}.tar", {"n01.tar": inner[:length], "n02.tar": inner})
        with pytest.raises(SourceError, match=rf"{length}\.tar"):
            list(list_container(path))


@pytest.mark.parametrize("place", [0, 100, 124, 148, 156])
@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_garbled_header_anywhere_is_refused(
    tmp_path: Path, tar_bytes: Any, member: int, place: int
) -> None:
    """Name, mode, size, checksum and type: tarfile takes a bad header in the middle for the end,
    and says nothing."""
    data = bytearray(
        tar_bytes({"1.jpg": b"one" * 100, "2.jpg": b"two" * 100, "3.jpg": b"six" * 100})
    )
    data[member * 1024 + place] ^= 0x15
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(SourceError, match=r"x\.tar"):
        list(list_container(tmp_path / "x.tar"))


def test_what_was_listed_before_the_damage_reads_back(tmp_path: Path, tar_bytes: Any) -> None:
    files = {"1.jpg": b"one" * 100, "2.jpg": b"two" * 100}
    data = bytearray(tar_bytes(files))
    data[1024 : 1024 + 512] = random.Random(0).randbytes(512)
    (tmp_path / "x.tar").write_bytes(data)
    entries = list_container(tmp_path / "x.tar")
    assert read(next(entries).location) == files["1.jpg"]
    with pytest.raises(SourceError, match="damaged header at byte 1024"):
        next(entries)


def test_a_zip_cut_short_is_refused(tmp_path: Path, write_zip: Any) -> None:
    path = write_zip(tmp_path / "x.zip", FILES)
    whole = path.read_bytes()
    for length in range(1, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(SourceError, match=r"x\.zip"):
            list(list_container(path))


def test_a_zip_whose_names_are_not_valid_text_does_not_crash(
    tmp_path: Path, write_zip: Any
) -> None:
    """The flag says UTF-8 and the bytes are Latin-1, as some archivers write."""
    path = write_zip(tmp_path / "x.zip", {"caf\u00e9.jpg": b"one", "plain.jpg": b"two"})
    raw = path.read_bytes()
    assert raw.count("caf\u00e9".encode()) == 2
    path.write_bytes(raw.replace("caf\u00e9".encode(), b"caf\xe9!"))
    try:
        entries = list(list_container(path))
    except SourceError as error:
        assert "x.zip" in str(error)  # noqa: PT017
        return
    assert any(entry.name == "plain.jpg" and read(entry.location) == b"two" for entry in entries)


def test_names_that_are_not_valid_text_end_as_refusals(
    tmp_path: Path, fill_folder: Any, odd_name: str
) -> None:
    root = fill_folder(tmp_path / "root", {"good.jpg": b"good", odd_name: b"odd"})
    entries = {entry.name: entry.location for entry in list_container(root)}
    assert sorted(entries) == ["caf\\udce9.jpg", "good.jpg"]
    assert read(entries["good.jpg"]) == b"good"
    with pytest.raises(ImageRefused) as refused:
        read(entries["caf\\udce9.jpg"])
    assert refused.value.reason == "file name"
    assert "rename the file, or its folder" in refused.value.detail


def test_names_in_a_tar_that_are_not_valid_text_end_as_refusals(
    tmp_path: Path, write_tar: Any, tar_bytes: Any
) -> None:
    odd = os.fsdecode(b"caf\xe9.jpg")
    path = write_tar(
        tmp_path / "x.tar", {odd: b"odd", "n.tar": tar_bytes({odd: b"odd", "good.jpg": b"good"})}
    )
    entries = {entry.name: entry.location for entry in list_container(path)}
    assert sorted(entries) == ["caf\\udce9.jpg", "n/caf\\udce9.jpg", "n/good.jpg"]
    assert read(entries.pop("n/good.jpg")) == b"good"
    for location in entries.values():
        with pytest.raises(ImageRefused) as refused:
            read(location)
        assert refused.value.reason == "file name"


# Reading what has changed since it was listed


@pytest.mark.parametrize("container", ["folder", "ustar", "deflated zip"])
def test_what_vanished_is_unreadable(
    tmp_path: Path, request: pytest.FixtureRequest, container: str
) -> None:
    path = CONTAINERS[container](tmp_path, {"1.jpg": b"one"}, request)
    (entry,) = list_container(path)
    os.replace(path, tmp_path / "moved")
    with pytest.raises(ImageRefused) as refused:
        read(entry.location)
    assert refused.value.reason == "unreadable"


def test_a_tar_that_became_shorter_is_unreadable(tmp_path: Path, write_tar: Any) -> None:
    path = write_tar(tmp_path / "x.tar", {"1.jpg": b"one" * 1000})
    (entry,) = list_container(path)
    os.truncate(path, 1000)
    with pytest.raises(ImageRefused, match="has changed since it was listed") as refused:
        read(entry.location)
    assert refused.value.reason == "unreadable"


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]
)
def test_a_damaged_member_of_a_zip_is_unreadable_and_the_others_are_not(
    tmp_path: Path, write_zip: Any, compression: int
) -> None:
    noise = random.Random(0)
    files = {"1.jpg": noise.randbytes(3000), "2.jpg": noise.randbytes(3000)}
    path = write_zip(tmp_path / "x.zip", files, compression)
    data = bytearray(path.read_bytes())
    for place in range(200, 2800, 50):
        data[place] ^= 0xA5
    path.write_bytes(data)
    first, second = list_container(path)
    with pytest.raises(ImageRefused) as refused:
        read(first.location)
    assert refused.value.reason == "unreadable"
    assert read(second.location) == files["2.jpg"]


def test_an_encrypted_member_of_a_zip_is_unreadable(tmp_path: Path, write_zip: Any) -> None:
    path = write_zip(tmp_path / "x.zip", {"1.jpg": b"one" * 100})
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + flags
        (value,) = struct.unpack_from("<H", data, place)
        struct.pack_into("<H", data, place, value | 1)
    path.write_bytes(data)
    (entry,) = list_container(path)
    with pytest.raises(ImageRefused, match=r"encrypted|password") as refused:
        read(entry.location)
    assert refused.value.reason == "unreadable"


def test_an_unknown_compression_in_a_zip_is_unreadable(tmp_path: Path, write_zip: Any) -> None:
    path = write_zip(tmp_path / "x.zip", {"1.jpg": b"one" * 100})
    data = bytearray(path.read_bytes())
    for signature, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        struct.pack_into("<H", data, data.index(signature) + method, 97)
    path.write_bytes(data)
    (entry,) = list_container(path)
    with pytest.raises(ImageRefused) as refused:
        read(entry.location)
    assert refused.value.reason == "unreadable"


def test_a_file_above_the_limit_is_refused_before_it_is_read(
    tmp_path: Path, fill_folder: Any
) -> None:
    root = fill_folder(tmp_path / "root", {"1.jpg": b"one"})
    os.truncate(root / "1.jpg", MAX_BYTES + 1)  # a hole: takes no space
    (entry,) = list_container(root)
    with pytest.raises(ImageRefused) as refused:
        read(entry.location)
    assert refused.value.reason == "too large"


def test_a_place_without_a_name_is_a_refusal_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(ImageRefused) as refused:
        read(Location(str(tmp_path), "", -1, 0, 0))
    assert refused.value.reason == "file name"


def test_more_archives_than_are_kept_open_can_be_read_in_turns(
    tmp_path: Path, write_tar: Any, write_zip: Any
) -> None:
    files = {f"{i}.jpg": f"{i}".encode() * 300 for i in range(3)}
    paths = [
        write_tar(tmp_path / f"{i}.tar", {n: d + b"%d" % i for n, d in files.items()})
        for i in range(30)
    ]
    paths += [
        write_zip(tmp_path / f"{i}.zip", {n: d + b"%d" % i for n, d in files.items()})
        for i in range(30)
    ]
    listed = [list(list_container(path)) for path in paths]
    open_before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else None
    for turn in range(3):
        for i, entries in enumerate(listed):
            assert read(entries[turn].location) == f"{turn}".encode() * 300 + b"%d" % (i % 30)
    if open_before is not None:
        assert len(os.listdir("/proc/self/fd")) - open_before < len(paths)
