"""`gloam build`: what becomes of every photograph, and of every mistake."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from importlib import resources

import pytest
from PIL import Image

import gloam
from gloam.storage.yaml_files import load_yaml

from .running import error_line, run

STARTED = "multiprocessing.forkserver"
RUN = f"""
import sys
import gloam.cli.main as m
whole = m._Lazy.get_command
def get_command(*args):
    print("{STARTED}" in sys.modules)  # before the command's module is imported
    return whole(*args)
m._Lazy.get_command = get_command
m.gloam()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a server only there")
@pytest.mark.parametrize(
    ("command", "code", "started"),
    [
        ("build SET --workers 2 --bogus", 2, True),
        ("build SET --workers=2 --source folder=missing", 1, True),
        ("regenerate MISSING SET --seed 1 --workers=2", 1, True),
        ("build SET --workers 1 --bogus", 2, False),
        ("build SET --workers 2 --engine bogus", 1, False),
        ("build SET --workers many", 2, False),
        ("build --workers 2 --help", 0, False),
        ("verify MISSING --workers 2", 1, False),
    ],
)
def test_what_workers_need_is_imported_beside_the_command(command, code, started, tmp_path):
    """The server for workers has our error stream: a pipe stays open until it has ended."""
    found = subprocess.run(
        [sys.executable, "-c", RUN, *command.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert found.returncode == code
    assert len(found.stderr.splitlines()) <= 4
    assert found.stdout.splitlines()[0] == str(started)


def test_build_says_what_became_of_every_photograph(photographs, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photographs, folder)
    (folder / "text.jpg").write_text("no photograph")
    result = run("build", tmp_path / "set", "--source", f"folder={folder}:20", "--workers", 1)
    assert result.exit_code == 0
    assert "25 photographs, 20 pairs: train 19, val 1" in result.output
    assert "val: 1, as --val was not given; gloam regenerate" in result.output
    assert "refused not an image 1" in result.output
    assert "4 suitable ones not needed" in result.output


def test_the_sample_is_the_default_source(tmp_path):
    result = run(
        "build",
        tmp_path / "set",
        "--no-select",
        "--workers",
        1,
        "--low-codec",
        "jpeg",
        "--max-side",
        128,
    )
    assert result.exit_code == 0
    assert run("verify", tmp_path / "set", "--deep", "--workers", 1).exit_code == 0


def test_a_build_file_says_everything_and_flags_override_it(photographs, tmp_path):
    config = tmp_path / "build.yaml"
    config.write_text(
        f"sources: [{{kind: folder, path: {photographs}, name: mine}}]\nplan: {{pairs: 6, seed:"
        " 3}\nrecipe: even\nset: {camera.iso: 1600}\noutput: {low_codec: jpg, name:"
        " evening}\nselect: false\n"
    )
    assert (
        run("build", tmp_path / "set", "--config", config, "--pairs", 5, "--workers", 1).exit_code
        == 0
    )
    text = (tmp_path / "set" / "set.json").read_text()
    for part in (
        '"train":4',
        '"val":1',
        '"seed":3',
        '"recipe":"even"',
        '"name":"evening"',
        '"iso":1600.0',
        '"name":"mine"',
    ):
        assert part in text


def test_the_reference_set_has_a_build_file_that_is_valid():
    from gloam.synth.building.request import BuildFile

    with resources.as_file(resources.files("gloam.synth.building") / "reference.yaml") as path:
        file = BuildFile.model_validate(load_yaml(path))
    assert (file.plan.pairs, file.plan.val) == (153_856, 1_856)
    assert [source.kind for source in file.sources] == [
        "imagenet",
        "voc",
        "coco",
        "iapr",
        "streetscenes",
    ]


def bomb() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


def test_bad_images_are_refused_and_the_build_goes_on(photographs, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photographs, folder)
    (folder / "bomb.png").write_bytes(bomb())
    (folder / "empty.jpg").touch()
    (folder / "cut.jpg").write_bytes((folder / "photo-0.jpg").read_bytes()[:3000])
    result = run("build", tmp_path / "set", "--source", f"folder={folder}", "--workers", 2)
    assert result.exit_code == 0
    assert "24 pairs" in result.output
    for reason in ("too large 1", "empty 1", "damaged 1"):
        assert reason in result.output


def test_without_selection_what_cannot_be_read_is_refused_and_the_build_goes_on(
    photographs, tmp_path
):
    with zipfile.ZipFile(tmp_path / "photos.zip", "w", zipfile.ZIP_STORED) as archive:
        for i in range(4):
            archive.write(photographs / f"photo-{i}.jpg", f"photo-{i}.jpg")
        place = archive.getinfo("photo-2.jpg").header_offset + 2000
    damaged = bytearray((tmp_path / "photos.zip").read_bytes())
    damaged[place] ^= 1
    (tmp_path / "photos.zip").write_bytes(damaged)
    result = run(
        "build",
        tmp_path / "set",
        "--source",
        f"archive={tmp_path / 'photos.zip'}",
        "--no-select",
        "--workers",
        1,
    )
    assert result.exit_code == 0, result.output
    assert "refused unreadable 1" in result.output


def test_when_nothing_is_suitable_the_reasons_are_counted(tmp_path):
    (tmp_path / "photos").mkdir()
    for i in range(3):
        Image.new("RGB", (300, 300), (2 * i, 0, 0)).save(tmp_path / "photos" / f"{i}.png")
    line = error_line(
        "build", tmp_path / "set", "--source", f"folder={tmp_path / 'photos'}", "--workers", 1
    )
    assert line.startswith("gloam: no candidate is suitable; folder: refused too dark 3")


def test_too_many_failures_leave_the_set_open_and_are_named(photographs, tmp_path):
    folder = shutil.copytree(photographs, tmp_path / "photos")
    whole = (folder / "photo-0.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    command = [
        "build",
        tmp_path / "set",
        "--source",
        f"folder={folder}",
        "--no-select",
        "--workers",
        1,
    ]
    result = run(*command, "--max-refused", "1%")
    assert result.exit_code == 1
    assert "cut.jpg: damaged" in result.stderr
    assert not (tmp_path / "set" / "set.json").exists()
    assert run(*command, "--max-refused", "5%").exit_code == 0
    assert run("build", tmp_path / "x", "--max-refused", "much").exit_code == 2


def test_tasks_are_given_whole(tmp_path):
    assert "go together" in error_line("build", tmp_path / "set", "--task-index", 0)
    assert "task 3 of 2" in error_line(
        "build", tmp_path / "set", "--task-index", 3, "--task-count", 2
    )


def test_a_split_that_leaves_nothing_to_train_on_is_refused(photographs, tmp_path):
    line = error_line(
        "build",
        tmp_path / "set",
        "--source",
        f"folder={photographs}",
        "--no-select",
        "--pairs",
        10,
        "--val",
        10,
    )
    assert "none would be left to train on" in line


def test_jpeg_has_two_spellings_everywhere(photographs, tmp_path):
    config = tmp_path / "build.yaml"
    for spelling in ("jpeg", "jpg"):
        config.write_text(
            f"sources: [{{kind: folder, path: '{photographs}'}}]\nselect: false\noutput:"
            f" {{low_codec: {spelling}}}\n"
        )
        root = tmp_path / spelling
        assert run("build", root, "--config", config, "--workers", 1).exit_code == 0
        other = run(
            "build",
            root,
            "--source",
            f"folder={photographs}",
            "--no-select",
            "--low-codec",
            spelling,
            "--workers",
            1,
        )
        assert other.exit_code == 0, other.output
    assert (tmp_path / "jpeg" / "set.json").read_bytes() == (
        tmp_path / "jpg" / "set.json"
    ).read_bytes()


def test_a_build_says_what_it_passed_over_and_what_is_meant(photographs, tmp_path):
    folder = shutil.copytree(photographs, tmp_path / "photos")
    (folder / "IMG_0001.CR2").write_bytes(b"raw")
    (folder / "IMG_0002.HEIC").write_bytes(b"\0\0\0\x18ftypheic" + bytes(64))
    (folder / "noname").write_bytes(b"?")
    result = run(
        "build", tmp_path / "set", "--source", f"folder={folder}", "--no-select", "--workers", 1
    )
    assert result.exit_code == 0
    assert "folder: passed over .cr2 1, without suffix 1" in result.output
    assert "folder: refused" in result.output
    assert "camera.iso is meant?" in error_line("build", tmp_path / "x", "--set", "iso=3200")
    assert "'exposure.ev=uniform(3,8)'" in run("build", "--help").output


def test_a_split_that_lost_pairs_says_why(photographs, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, photo in enumerate(sorted(photographs.glob("*.jpg"))[:12]):
        data = photo.read_bytes()
        (folder / photo.name).write_bytes(data if number % 2 else data[:900])
    source = f"folder={folder}"
    result = run(
        "build", tmp_path / "set", "--source", source, "--no-select", "--val", 6, "--workers", 1
    )
    kept = gloam.open_set(tmp_path / "set").counts["val"]
    assert kept < 6
    assert f"val: {kept} of 6; the others were refused" in result.output


def test_a_build_says_when_no_photograph_is_kept_out(photographs, tmp_path):
    other, one = tmp_path / "other", tmp_path / "one"
    for folder in (other, one):
        folder.mkdir()
    Image.linear_gradient("L").convert("RGB").save(other / "gradient.png")
    shutil.copy(sorted(photographs.iterdir())[0], one)
    options = ["--source", f"folder={photographs}", "--val", 1, "--no-select", "--workers", 1]
    for seen, said in ((other, True), (one, False)):
        found = run("build", tmp_path / "sets" / seen.name, *options, "--exclude", seen)
        assert found.exit_code == 0, found.output
        assert ("--exclude: no photograph shows any" in found.output) == said
