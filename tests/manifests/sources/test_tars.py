"""Members of tars that a plain walk would lose or read wrongly: sparse ones, links, names in
several forms, archives one behind the other."""

from __future__ import annotations

import io
import os
import random
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gloam.errors import ImageRefused, SourceError
from gloam.manifests.sources import containers
from gloam.manifests.sources.containers import list_container, read

BLOCK = tarfile.BLOCKSIZE
SPARSE = ("gnu", "pax 0.0", "pax 0.1", "pax 1.0")
Chunks = list[tuple[int, bytes]]


def holes(size: int, count: int, seed: int = 0) -> tuple[bytes, Chunks]:
    """Bytes with holes, and what lies between them: (offset, bytes)."""
    noise = random.Random(seed)
    whole, chunks = bytearray(size), []
    for number in range(count):
        data = noise.randbytes(noise.choice((1, BLOCK, 700)))
        offset = (2 * number + 1) * 1024
        whole[offset : offset + len(data)] = data
        chunks.append((offset, data))
    return bytes(whole), [*chunks, (size, b"")]


def sparse_member(how: str, name: str, size: int, chunks: Chunks, **more: str) -> bytes:
    """Headers and data of a sparse member, as GNU tar 1.34 writes it (tar's manual, appendix D)."""
    data = b"".join(part for _, part in chunks)
    table = [(offset, len(part)) for offset, part in chunks]
    if how == "gnu":
        header = bytearray(header_of(name, len(data), b"S"))
        octal = [b"%011o\0%011o\0" % one for one in table]
        header[386:482] = b"".join(octal[:4]).ljust(96, b"\0")
        rest = octal[4:]
        header[482:495] = (b"\1" if rest else b"\0") + b"%011o\0" % size
        blocks = [sealed(header)]
        for first in range(0, len(rest), 21):
            part = b"".join(rest[first : first + 21]).ljust(504, b"\0")
            blocks.append((part + (b"\1" if first + 21 < len(rest) else b"\0")).ljust(BLOCK, b"\0"))
        return b"".join(blocks) + padded(data)
    if how == "pax 1.0":
        numbers = [len(table), *(number for one in table for number in one)]
        data = padded(b"".join(b"%d\n" % number for number in numbers)) + data
        said = [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", name)]
        said.append(("GNU.sparse.realsize", str(size)))
    else:
        said = [("GNU.sparse.size", str(size)), ("GNU.sparse.numblocks", str(len(table)))]
        if how == "pax 0.0":
            for offset, length in table:
                said += [("GNU.sparse.offset", f"{offset}"), ("GNU.sparse.numbytes", f"{length}")]
            more = {"path": name} | more
        else:
            numbers = [str(number) for one in table for number in one]
            said += [("GNU.sparse.name", name), ("GNU.sparse.map", ",".join(numbers))]
    records = b"".join(map(record, [*said, *more.items()]))
    ahead = header_of("PaxHeaders/x", len(records), b"x")
    return ahead + padded(records) + header_of("GNUSparseFile.1/x", len(data), b"0") + padded(data)


def header_of(name: str, size: int, kind: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return sealed(bytearray(info.tobuf(tarfile.GNU_FORMAT)))


def sealed(header: bytearray) -> bytes:
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def record(pair: tuple[str, str]) -> bytes:
    body = f" {pair[0]}={pair[1]}\n".encode()
    length = next(n for n in range(len(body), len(body) + 9) if n == len(body) + len(str(n)))
    return f"{length}".encode() + body


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def contents(path: Path, passed: Counter[str] | None = None) -> dict[str, bytes]:
    return {entry.name: read(entry.location) for entry in list_container(path, passed)}


@pytest.mark.parametrize("count", [0, 1, 3, 4, 26, 60])
@pytest.mark.parametrize("how", SPARSE)
def test_sparse_members_have_the_bytes_that_unpacking_gives(
    tmp_path: Path, tar_bytes: Any, how: str, count: int
) -> None:
    plain = {"b.bmp": b"two" * 500}
    whole, chunks = holes(150_000, count)
    path = tmp_path / "x.tar"
    path.write_bytes(sparse_member(how, "./in/a.bmp", len(whole), chunks) + tar_bytes(plain))
    entries = {entry.name: entry.location for entry in list_container(path)}
    assert {name: read(place) for name, place in entries.items()} == {"in/a.bmp": whole, **plain}
    assert entries["in/a.bmp"].size == len(whole)


@pytest.mark.parametrize("how", SPARSE[1:])
def test_the_name_and_the_size_of_a_sparse_member_are_its_own(tmp_path: Path, how: str) -> None:
    """Not those of the header behind: GNU tar writes "path" too when names are long."""
    whole, chunks = holes(9_000, 2)
    more = {} if how == "pax 0.0" else {"path": "./GNUSparseFile.7/a.bmp"}
    member = sparse_member(how, "a.bmp", len(whole), chunks, **more)
    (tmp_path / "x.tar").write_bytes(member + bytes(2 * BLOCK))
    assert contents(tmp_path / "x.tar") == {"a.bmp": whole}


@pytest.mark.parametrize("how", SPARSE)
def test_sparse_members_of_tars_inside_a_tar_are_read(
    tmp_path: Path, write_tar: Any, how: str
) -> None:
    whole, chunks = holes(20_000, 5)
    inner = sparse_member(how, "a.bmp", len(whole), chunks) + bytes(2 * BLOCK)
    path = write_tar(tmp_path / "x.tar", {"0.jpg": b"zero", "n.tar": inner, "z.jpg": b"last"})
    assert contents(path) == {"0.jpg": b"zero", "n/a.bmp": whole, "z.jpg": b"last"}


@pytest.mark.parametrize("how", SPARSE)
def test_a_sparse_member_that_was_cut_is_refused(tmp_path: Path, how: str) -> None:
    whole, chunks = holes(20_000, 5)
    member = sparse_member(how, "a.bmp", len(whole), chunks)
    for length in range(BLOCK, len(member), BLOCK):
        (tmp_path / "x.tar").write_bytes(member[:length])
        with pytest.raises(SourceError, match=r"x\.tar"):
            contents(tmp_path / "x.tar")


def test_a_sparse_member_above_the_limit_is_refused_before_it_is_filled(tmp_path: Path) -> None:
    member = sparse_member("pax 0.1", "a.bmp", 1 << 50, [(0, b"x"), (1 << 50, b"")])
    (tmp_path / "x.tar").write_bytes(member + bytes(2 * BLOCK))
    with pytest.raises(ImageRefused, match=r"1,125,899,906,842,624 bytes"):
        contents(tmp_path / "x.tar")


def test_a_header_of_negative_size_is_refused(tmp_path: Path, tar_bytes: Any) -> None:
    """Python's tarfile goes back and reads it again for ever (CVE-2025-8194)."""
    header = bytearray(header_of("1.jpg", 0, b"0"))
    header[124:136] = b"\xff" * 10 + (2**16 - BLOCK).to_bytes(2, "big")
    (tmp_path / "x.tar").write_bytes(tar_bytes({"0.jpg": b"zero"})[:1024] + sealed(header) * 3)
    with pytest.raises(SourceError, match=r"x\.tar: .*header at byte"):
        contents(tmp_path / "x.tar")


@pytest.mark.parametrize(
    "kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE]
)
def test_a_name_that_would_fill_the_memory_is_refused(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(header_of("1.jpg", 3 << 30, kind))
    os.truncate(tmp_path / "x.tar", 4 << 30)  # a hole, which takes no place on the disk
    with pytest.raises(SourceError, match=r"x\.tar: .* a header of 3,221,225,472 bytes"):
        contents(tmp_path / "x.tar")


# Links


def linked(path: Path, members: dict[str, bytes | str], kind: bytes = tarfile.LNKTYPE) -> Path:
    """A tar of files (bytes) and links (where they lead)."""
    with tarfile.open(path, "w") as archive:
        for name, value in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(value, str):
                info.type, info.linkname = kind, value
                archive.addfile(info)
            else:
                info.size = len(value)
                archive.addfile(info, io.BytesIO(value))
    return path


def test_hard_links_are_the_files_that_they_are_linked_to(tmp_path: Path) -> None:
    path = linked(
        tmp_path / "x.tar",
        {"./a/1.jpg": b"one", "b/2.jpg": "./a/1.jpg", "b/3.jpg": "b/2.jpg", "4.jpg": b"four"}
        | {".git/annex/5.jpg": b"five", "5.jpg": ".git/annex/5.jpg"},
    )
    passed: Counter[str] = Counter()
    assert contents(path, passed) == {
        "a/1.jpg": b"one", "b/2.jpg": b"one", "b/3.jpg": b"one", "4.jpg": b"four", "5.jpg": b"five",
    }  # fmt: skip
    assert passed == {"hidden files": 1}


def test_hard_links_as_tar_writes_them(tmp_path: Path, fill_folder: Any) -> None:
    root = fill_folder(tmp_path / "root", {"a/1.jpg": b"one"})
    os.link(root / "a" / "1.jpg", root / "b-hard.jpg")
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(root, ".")
    assert contents(tmp_path / "x.tar") == {"a/1.jpg": b"one", "b-hard.jpg": b"one"}


def test_links_that_lead_to_nothing_in_the_tar_and_soft_ones_are_counted(tmp_path: Path) -> None:
    passed: Counter[str] = Counter()
    hard = linked(tmp_path / "hard.tar", {"1.jpg": b"one", "2.jpg": "other/3.jpg"})
    soft = linked(tmp_path / "soft.tar", {"1.jpg": b"one", "2.jpg": "1.jpg"}, tarfile.SYMTYPE)
    assert contents(hard, passed) == contents(soft, passed) == {"1.jpg": b"one"}
    assert passed == {"links inside the archive": 2}


def test_pipes_and_devices_in_a_tar_are_counted(tmp_path: Path) -> None:
    passed: Counter[str] = Counter()
    pipe = linked(tmp_path / "x.tar", {"1.jpg": b"one", "2.jpg": ""}, tarfile.FIFOTYPE)
    assert contents(pipe, passed) == {"1.jpg": b"one"}
    assert passed == {"members that are no files": 1}


# Names, and what comes twice


def test_the_last_member_of_a_name_counts(tmp_path: Path, tar_bytes: Any) -> None:
    """`tar -r` and `tar -u` leave such; a link is to the file that it was made of."""
    first = linked(tmp_path / "first.tar", {"1.jpg": b"old", "link.jpg": "1.jpg", "2.jpg": b"two"})
    whole = first.read_bytes().rstrip(b"\0")
    second = tar_bytes({"./1.jpg": b"new"})
    (tmp_path / "x.tar").write_bytes(padded(whole) + second)
    passed: Counter[str] = Counter()
    assert contents(tmp_path / "x.tar", passed) == {
        "1.jpg": b"new", "link.jpg": b"old", "2.jpg": b"two",
    }  # fmt: skip
    assert passed == {"replaced by a later file of the name": 1}


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
def test_names_have_one_form(tmp_path: Path, write_tar: Any, tar_format: int) -> None:
    files = {"./a/1.jpg": b"1", "b//2.jpg": b"2", "/c/./3.jpg": b"3", ".4.jpg": b"4"}
    path = write_tar(tmp_path / "x.tar", files, tar_format)
    assert contents(path) == {"a/1.jpg": b"1", "b/2.jpg": b"2", "c/3.jpg": b"3", ".4.jpg": b"4"}


def test_what_macos_leaves_is_left_out_before_it_is_taken_for_a_tar(
    tmp_path: Path, write_tar: Any, tar_bytes: Any
) -> None:
    inner = tar_bytes({"1.jpg": b"one", "._1.jpg": b"fork"})
    files = {"._n01.tar": b"\0\5\x16\7" * 40, "n01.tar": inner, "__MACOSX/2.jpg": b"fork"}
    passed: Counter[str] = Counter()
    assert contents(write_tar(tmp_path / "x.tar", files), passed) == {"n01/1.jpg": b"one"}
    assert passed == {"hidden files": 3}


# What lies behind the end


@pytest.mark.parametrize("gap", [0, BLOCK, 3_000_320])
def test_tars_one_behind_the_other_are_all_read(
    tmp_path: Path, tar_bytes: Any, write_tar: Any, gap: int
) -> None:
    tars = [tar_bytes({f"{i}.jpg": b"%d" % i * 700}) for i in range(3)]
    whole = (bytes(gap)).join(tars)
    (tmp_path / "x.tar").write_bytes(whole)
    expected = {f"{i}.jpg": b"%d" % i * 700 for i in range(3)}
    assert contents(tmp_path / "x.tar") == expected
    nested = write_tar(tmp_path / "y.tar", {"n.tar": whole, "z.jpg": b"z"})
    assert contents(nested) == {f"n/{k}": v for k, v in expected.items()} | {"z.jpg": b"z"}


def test_what_lies_behind_and_is_no_tar_is_counted(tmp_path: Path, tar_bytes: Any) -> None:
    (tmp_path / "x.tar").write_bytes(tar_bytes({"1.jpg": b"one"}) + b"a signature" * 300)
    passed: Counter[str] = Counter()
    assert contents(tmp_path / "x.tar", passed) == {"1.jpg": b"one"}
    assert passed == {"data behind the end of the archive": 1}


def test_padding_without_end_is_not_read(
    tmp_path: Path, tar_bytes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_MOST_ZEROS", 1 << 16)
    (tmp_path / "x.tar").write_bytes(tar_bytes({"1.jpg": b"one"}))
    os.truncate(tmp_path / "x.tar", 1 << 20)
    passed: Counter[str] = Counter()
    assert contents(tmp_path / "x.tar", passed) == {"1.jpg": b"one"}
    assert passed == {"data behind the end of the archive": 1}


def test_a_second_tar_that_is_cut_short_is_refused(tmp_path: Path, tar_bytes: Any) -> None:
    second = tar_bytes({"2.jpg": b"two" * 900})[: 3 * BLOCK]
    (tmp_path / "x.tar").write_bytes(tar_bytes({"1.jpg": b"one"}) + second)
    entries = list_container(tmp_path / "x.tar")
    assert read(next(entries).location) == b"one"
    with pytest.raises(SourceError, match="cut short"):
        next(entries)
