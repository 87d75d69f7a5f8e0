"""Sources that nobody would make, all at once: each file ends as a pair or a refusal, and nothing
is written outside the set."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import gloam
from gloam.errors import SetError
from gloam.manifests.sets.info import CANDIDATES, PAIRS, REFUSED
from gloam.manifests.sets.problems import verify_set
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.request import Request
from gloam.synth.recipes.load import load_recipe

EXIF_LOOP = b"II*\0" + struct.pack("<IHHHIII", 8, 1, 0x8769, 4, 1, 8, 8)
EXIF_HUGE = b"II*\0" + struct.pack(
    "<IHHHIIHHIII", 8, 2, 0x0112, 3, 0xFFFFFFFF, 8, 0x927C, 7, 0x7FFFFFFF, 8, 0
)
ODD_NAMES = [
    "new\nline",
    "quo'te\"",
    "emoji \U0001f303",
    "a" * 240,
    "Case",
    "case",
    "back\\slash",
    "tab\t",
    "-rf",
    "CON",
]
ODD_NAMES += ["$(reboot)", "%s%n", ".hidden", "dots..", "comma,semi;", ".", " blanks ", "\u202egnp"]


def encoded(kind: str, seed: int = 0, **options: object) -> bytes:
    small = np.random.default_rng(seed).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(small).resize((80, 60)).save(buffer, kind, **options)
    return buffer.getvalue()


def with_segments(jpeg: bytes, *segments: tuple[int, bytes]) -> bytes:
    return (
        jpeg[:2]
        + b"".join(bytes([0xFF, m]) + struct.pack(">H", len(d) + 2) + d for m, d in segments)
        + jpeg[2:]
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bmp(width: int, height: int) -> bytes:
    return b"BM" + struct.pack(
        "<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0
    )


def files() -> dict[str, tuple[bytes, bool | None]]:
    """Name to bytes, and whether a pair comes of them (None where either will do)."""
    jpeg, png = encoded("JPEG"), encoded("PNG")
    size = struct.pack(">HH", 60, 80)
    bomb = b"k\0\0" + zlib.compress(bytes(100_000_000), 9)
    found: dict[str, tuple[bytes, bool | None]] = {
        "trailing.jpg": (jpeg + os.urandom(50_000), True),
        "polyglot.jpg": (jpeg + b"PK\x03\x04" + bytes(100), True),
        "icc.jpg": (with_segments(jpeg, (0xE2, b"ICC_PROFILE\0\1\1" + os.urandom(60_000))), True),
        "exif-loop.jpg": (with_segments(jpeg, (0xE1, b"Exif\0\0" + EXIF_LOOP)), True),
        "exif-huge.jpg": (with_segments(jpeg, (0xE1, b"Exif\0\0" + EXIF_HUGE)), True),
        "comments.jpg": (with_segments(jpeg, *[(0xFE, b"x" * 10)] * 5000), True),
        "many-pixels.jpg": (jpeg.replace(size, struct.pack(">HH", 60_000, 60_000), 1), False),
        "no-height.jpg": (jpeg.replace(size, struct.pack(">HH", 0, 80), 1), False),
        "many-pixels.png": (
            png[:8]
            + chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
            + png[33:],
            False,
        ),
        "text-bomb.png": (png[:33] + chunk(b"zTXt", bomb) + png[33:], None),
        "profile-bomb.png": (png[:33] + chunk(b"iCCP", bomb) + png[33:], None),
        "exif-loop.png": (png[:33] + chunk(b"eXIf", EXIF_LOOP) + png[33:], True),
        "pickle.jpg": (pickle.dumps(os.system), False),
        "gif.jpg": (encoded("GIF"), False),
        "text.png": (b"hello\n" * 100, False),
        "empty.jpg": (b"", False),
        "one-byte.jpg": (b"\xff", False),
        "huge.bmp": (bmp(2**31 - 1, -(2**31)), False),
        "zero.bmp": (bmp(0, 0), False),
        "loop.tif": (EXIF_LOOP, False),
        "cut.webp": (encoded("WEBP")[:200], False),
    }
    return found | {
        f"{name}.jpg": (with_segments(jpeg, (0xFE, name.encode())), True) for name in ODD_NAMES
    }


def add(archive: tarfile.TarFile, name: str, data: bytes = b"", **changes: object) -> None:
    header = tarfile.TarInfo(name)
    header.size = len(data)
    for attribute, value in changes.items():
        setattr(header, attribute, value)
    archive.addfile(header, io.BytesIO(data))


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    photos = root / "photos"
    photos.mkdir()
    for name, (data, _) in files().items():
        (photos / name).write_bytes(data)
    Path(os.fsdecode(os.fsencode(photos) + b"/bad\xff.jpg")).write_bytes(encoded("JPEG"))
    os.symlink(".", photos / "loop")
    os.symlink("/etc/passwd", photos / "passwd.jpg")
    os.symlink("nowhere.jpg", photos / "dangling.jpg")
    os.mkfifo(photos / "pipe.jpg")
    (photos / "folder.jpg").mkdir()
    deep = photos.joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    (deep / "deep.jpg").write_bytes(encoded("JPEG"))
    with tarfile.open(root / "evil.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        up = ["/etc/evil.jpg", "../../outside.jpg", "a/../../b.jpg"]
        odd = [
            "n" * 300 + ".jpg",
            "new\nline.jpg",
            "Same.jpg",
            "same.jpg",
            "x/" * 400 + "deep.jpg",
            "bad\udcff.jpg",
        ]
        for i, name in enumerate(up + odd):
            add(archive, name, encoded("JPEG", i))
        add(archive, "link.jpg", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        add(archive, "hard.jpg", type=tarfile.LNKTYPE, linkname="/etc/evil.jpg")
        add(archive, "device.jpg", type=tarfile.CHRTYPE, devmajor=1, devminor=5)
        add(archive, "pipe.jpg", type=tarfile.FIFOTYPE)
    with zipfile.ZipFile(root / "evil.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        for i, name in enumerate(["/abs.jpg", "../up.jpg", "C:\\win.jpg", "emoji\U0001f303.jpg"]):
            zipped.writestr(name, encoded("JPEG", i))
        zipped.writestr("bomb.jpg", bytes(50_000_000))
        link = zipfile.ZipInfo("link.jpg")
        link.external_attr = 0o120777 << 16
        zipped.writestr(link, "/etc/passwd")
    return root


def names_in(root: Path) -> set[str]:
    return {os.fsencode(Path(folder, name)) for folder, _, names in os.walk(root) for name in names}


def test_every_file_ends_as_a_pair_or_a_refusal_and_nothing_is_outside_the_set(ground, tmp_path):
    before = names_in(ground)
    sources = [
        Source(kind="folder", path=str(ground / "photos"), name="photos"),
        Source(kind="archive", path=str(ground / "evil.tar"), name="tar"),
        Source(kind="archive", path=str(ground / "evil.zip"), name="zip"),
    ]
    report = build_request(
        Request(sources=tuple(sources), recipe=load_recipe("even")), tmp_path / "set"
    )
    assert names_in(ground) == before
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert verify_set(tmp_path / "set") == []

    made = {
        (row["source"], row["path"]) for row in pq.read_table(tmp_path / "set" / PAIRS).to_pylist()
    }
    refused = {
        (row["source"], row["path"]): row["reason"]
        for row in pq.read_table(tmp_path / "set" / REFUSED).to_pylist()
    }
    listed = {
        (row["source"], row["path"])
        for row in pq.read_table(tmp_path / "set" / CANDIDATES).to_pylist()
    }
    assert made | refused.keys() == listed
    assert not made & refused.keys()
    assert report.candidates == len(listed)
    for name, (_, expected) in files().items():
        assert expected is None or (("photos", name) in made) == expected, name
    assert refused[("photos", "passwd.jpg")] == "not an image"
    assert (
        refused[("photos", "bad\\udcff.jpg")] == refused[("tar", "bad\\udcff.jpg")] == "file name"
    )
    assert ("photos", "d/" * 100 + "deep.jpg") in made
    assert sum(source == "tar" for source, _ in made) == 9  # of them one is a hard link
    assert sum(source == "zip" for source, _ in made) == 4
    assert not any("loop/" in path for _, path in listed)
    assert report.passed == {
        "photos": {"links in a circle": 1, "broken links": 1, "pipes and devices": 1},
        "tar": {"links inside the archive": 1, "members that are no files": 2},
        "zip": {"links inside the archive": 1},
    }


@pytest.fixture(scope="module")
def small(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small") / "set"
    gloam.build(root, f"folder={photographs}", **FEW)
    return root


FEW = {"pairs": 4, "val": 1, "select": False, "workers": 1}
WRITERS = {
    "build": lambda origin, root, photographs: gloam.build(root, f"folder={photographs}", **FEW),
    "rebuild": lambda origin, root, photographs: gloam.rebuild(
        origin, root, [f"folder={photographs}"]
    ),
    "regenerate": lambda origin, root, photographs: gloam.regenerate(origin, root, seed=5),
    "stage": lambda origin, root, photographs: gloam.stage(origin, root),
    "export": lambda origin, root, photographs: gloam.export(origin, root, layout="files"),
    "export for": lambda origin, root, photographs: gloam.export(origin, root, for_="lol"),
    "publish": lambda origin, root, photographs: gloam.publish(origin, root),
}


@pytest.mark.parametrize("at", [".gloam", ".gloam/lock", ".gloam/files/our485", "train/low/a.png"])
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_through_a_link_in_a_folder_named_as_output(
    small: Path, photographs: Path, tmp_path: Path, name: str, at: str
) -> None:
    victim, root = tmp_path / "victim", tmp_path / "out"
    (victim / "folder").mkdir(parents=True)
    (victim / "keep").write_text("precious")
    for target in (victim, victim / "keep", victim / "missing"):
        shutil.rmtree(root, ignore_errors=True)
        (root / ".gloam").mkdir(parents=True)
        if at == ".gloam":
            (root / at).rmdir()
        (root / at).parent.mkdir(parents=True, exist_ok=True)
        (root / at).symlink_to(target)
        said = "is a link|holds other files|is no export|is not a gloam set"
        with pytest.raises(SetError, match=rf"{root}.* ({said})"):
            WRITERS[name](small, root, photographs)
        assert sorted(path.name for path in victim.rglob("*")) == ["folder", "keep"]
        assert (victim / "keep").read_text() == "precious"


@pytest.mark.parametrize("name", WRITERS)
def test_a_finished_folder_that_holds_a_link_is_not_taken_for_finished(
    small: Path, photographs: Path, tmp_path: Path, name: str
) -> None:
    root = tmp_path / "out"
    WRITERS[name](small, root, photographs)
    at = next(path for path in sorted(root.glob("*/**/*")) if path.is_file())
    at.rename(tmp_path / "elsewhere")
    at.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SetError, match=rf"{at}: is a link to"):
        WRITERS[name](small, root, photographs)


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_user_calls_like_a_temporary_file_stays(
    small: Path, photographs: Path, tmp_path: Path, name: str
) -> None:
    root = tmp_path / "out"
    WRITERS[name](small, root, photographs)
    (root / "notes.tmp-mine.txt").write_text("mine")
    (root / "old.tmp-files").mkdir()
    WRITERS[name](small, root, photographs)
    assert (root / "notes.tmp-mine.txt").read_text() == "mine"
    assert (root / "old.tmp-files").is_dir()
