"""The commands as a person meets them: what they say, and with which code they exit."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from PIL import Image

from gloam.cli.main import gloam


def run(*arguments: object):
    return CliRunner().invoke(
        gloam, [str(argument) for argument in arguments], catch_exceptions=False
    )


def error_line(*arguments: object, code: int = 1) -> str:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    lines = [
        line for line in result.stderr.splitlines() if "compiling its kernels" not in line
    ]  # at the first use
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture(scope="module")
def finished(photographs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("finished") / "set"
    result = run("build", root, "--source", f"folder={photographs}", "--val", 4, "--workers", 1)
    assert result.exit_code == 0
    return root


def test_help_lists_the_commands_and_every_option_has_help():
    assert "build" in run("--help").output
    for name in gloam.list_commands(None):
        command = gloam.get_command(None, name)
        assert command.help
        assert all(
            parameter.help for parameter in command.params if isinstance(parameter, click.Option)
        )


def test_help_is_there_without_loading_the_kernels():
    code = (
        "import sys; from gloam.cli.main import gloam; gloam(['--help'], standalone_mode=False);"
        " print('numba' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output.splitlines()[-1] == "False"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a server only there")
@pytest.mark.parametrize("options", [["--bogus"], ["--source", "folder=missing"]])
def test_a_wrong_command_does_not_wait_for_what_its_workers_import(options, tmp_path):
    """The server for workers starts before options are read; it has our error stream, so a pipe
    would stay open."""
    code = (
        "import gloam.cli.main as m, os, sys; from multiprocessing import forkserver\n"
        "try: m.gloam()\n"
        "finally: print(forkserver._forkserver._forkserver_pid)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "build", str(tmp_path / "set"), "--workers", "2", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output, errors = process.communicate(timeout=60)
    assert process.returncode in (1, 2)
    assert len(errors.splitlines()) <= 4
    assert output == "None\n"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a server only there")
def test_completion_starts_nothing():
    code = (
        "import gloam.cli.main as m, sys; from click.shell_completion import BashComplete as"
        " B\nprint([c.value for c in B(m.gloam, {}, 'gloam', '_').get_completions(['build'],"
        " '--work')])\nprint('multiprocessing.forkserver' in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output == "['--workers']\nFalse\n"


def test_nothing_but_loaders_imports_dali_or_torch():
    code = (
        "import sys, gloam.cli.build, gloam.cli.verify, gloam.cli.recipes, gloam.synth.models,"
        " gloam.synth.building.recheck;print(sorted({m.partition('.')[0] for m in sys.modules} &"
        " {'nvidia', 'torch', 'jax', 'matplotlib'}))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def test_build_says_what_became_of_every_photograph(photographs, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photographs, folder)
    (folder / "text.jpg").write_text("no photograph")
    result = run("build", tmp_path / "set", "--source", f"folder={folder}:20", "--workers", 1)
    assert result.exit_code == 0
    assert "25 photographs, 20 pairs: train 20, val 0" in result.output
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
        '"train":5',
        '"seed":3',
        '"recipe":"even"',
        '"name":"evening"',
        '"iso":1600.0',
        '"name":"mine"',
    ):
        assert part in text


def test_the_reference_set_has_a_build_file_that_is_valid():
    import yaml

    from gloam.synth.building.config import BuildFile, reference_config

    file = BuildFile.model_validate(yaml.safe_load(reference_config()))
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


def test_each_mistake_gets_one_line_that_names_it(photographs, finished, tmp_path):
    out, good = tmp_path / "set", f"folder={photographs}"
    empty = tmp_path / "empty"
    empty.mkdir()
    whole = tmp_path / "whole.tar"
    with tarfile.open(whole, "w") as archive:
        archive.add(photographs, "photos")
    broken = tmp_path / "broken.tar"
    broken.write_bytes(whole.read_bytes()[:100_000])
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("dear")
    for arguments, words in [
        (["build", out, "--source", f"folder={empty}"], "holds no photograph"),
        (
            ["build", out, "--source", "folder=/nowhere/at/all"],
            "/nowhere/at/all: no such file or folder",
        ),
        (["build", out, "--source", f"archive={broken}"], "cut short"),
        (["build", out, "--source", "flickr=x"], "unknown kind 'flickr'"),
        (["build", out, "--source", "voc"], "give the path"),
        (
            ["build", out, "--source", good, "--recipe", "dusk"],
            "recipe dusk: neither a file nor one of 3dcc-low-light, agllnet, day-to-night, even",
        ),
        (["build", out, "--source", good, "--set", "camera.isoo=3"], "unknown key camera.isoo"),
        (["build", out, "--source", good, "--pairs", "99"], "only 24 candidates are suitable"),
        (["build", out, "--source", good, "--config", "/nowhere.yaml"], "/nowhere.yaml"),
        (["build", taken, "--source", good], "not a gloam set"),
        (["build", whole, "--source", good], "not a gloam set"),
        (["build", "/proc/gloam", "--source", good], "cannot be written"),
        (["build", finished, "--source", good], "plan.val: 4, now 0"),
        (
            ["build", out, "--source", good, "--no-select", "--profile", "x.yaml"],
            "exclude each other",
        ),
        (["verify", empty], "not a gloam set"),
        (["recipes", "show", "dusk"], "recipe dusk"),
    ]:
        assert words in error_line(*arguments)
    assert (taken / "letter.txt").read_text() == "dear"


def test_wrong_usage_exits_with_2():
    for arguments in (
        ["build"],
        ["build", "x", "--bogus"],
        ["build", "x", "--layout", "pile"],
        ["dusk"],
    ):
        assert run(*arguments).exit_code == 2


def test_recipes_are_listed_and_shown():
    assert "uneven" in run("recipes").output
    assert "iso: 3200" in run("recipes", "show", "even", "--set", "camera.iso=3200").output


def test_verify_is_content_with_a_set_as_it_was_built(finished):
    for options in ([], ["--quick"], ["--deep", "--workers", "1"]):
        result = run("verify", finished, *options)
        assert result.exit_code == 0
        assert "24 pairs" in result.output


def width_of(path: Path) -> int:
    with Image.open(path) as image:
        return image.size[0]


def files_of(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_verify_finds_and_names_a_single_flipped_bit_anywhere(finished, tmp_path):
    root = tmp_path / "set"
    shutil.copytree(finished, root)
    bits = random.Random(5)
    for path in files_of(root):
        whole = path.read_bytes()
        for _ in range(4):
            damaged = bytearray(whole)
            damaged[bits.randrange(len(whole))] ^= 1 << bits.randrange(8)
            path.write_bytes(damaged)
            result = run("verify", root)
            assert result.exit_code == 1, path
            assert path.relative_to(root).as_posix() in result.output
        path.write_bytes(whole)
    assert run("verify", root).exit_code == 0


def test_verify_names_the_damaged_member_of_a_shard(finished, tmp_path):
    root = tmp_path / "set"
    shutil.copytree(finished, root)
    shard = next((root / "shards").glob("train-*.tar"))
    with tarfile.open(shard) as archive:
        member = next(m for m in archive if m.name.endswith("low.png"))
    data = bytearray(shard.read_bytes())
    data[member.offset_data + member.size // 2] ^= 1
    shard.write_bytes(data)
    assert member.name in run("verify", root).output


@pytest.mark.parametrize(
    "pattern",
    ["shards/train-*.tar", "shards/*.idx", "pairs.parquet", "receipts/*.json", "lists/*.txt"],
)
def test_verify_names_what_is_missing_or_cut_short(finished, tmp_path, pattern):
    root = tmp_path / "set"
    shutil.copytree(finished, root)
    path = next(iter(sorted(root.glob(pattern))))
    name = path.relative_to(root).as_posix()
    whole = path.read_bytes()
    for options in ([], ["--quick"]):
        path.write_bytes(whole[: len(whole) // 2])
        result = run("verify", root, *options)
        assert result.exit_code == 1
        assert name in result.output
        path.unlink()
        result = run("verify", root, *options)
        assert result.exit_code == 1
        assert name in result.output


def test_verify_deep_finds_a_low_that_is_not_its_normals(finished, tmp_path):
    """A set whose checksums are all right, but whose lows were made otherwise."""
    from gloam.manifests.sets.pair_set import PairSet
    from gloam.synth.building import recheck

    pairs = PairSet(finished)
    info = pairs.info
    request = info.build.request | {"output": info.build.request["output"] | {"low_codec": "jpg"}}
    pairs.info = info.model_copy(
        update={"build": info.build.model_copy(update={"request": request})}
    )
    problems = recheck.recheck_set(pairs)
    assert len(problems) == 24
    assert "samples of the low are not what its normal and draw make" in problems[0].what


def test_stats_shows_the_set_beside_real_ones(finished):
    result = run("stats", finished, "--pairs", 10, "--workers", 1)
    assert result.exit_code == 0
    assert result.output.splitlines()[0].startswith("10 pairs")
    assert all(word in result.output for word in ("LOL", "DICM", "exposure", "photon transfer"))


def test_stats_as_json_and_as_a_figure(finished, tmp_path):
    figure = tmp_path / "figure.png"
    result = run("stats", finished, "--json", "--figure", figure, "--workers", 1)
    table = json.loads(result.stdout)
    assert table["pairs"] == 24
    assert len(table["percentiles"]["exposure_ev"]) == 3
    assert table["photon_transfer"][0]["camera"] == "sony-a7s2"
    assert width_of(figure) > 1000


def test_a_figure_of_folders_has_no_photon_transfer(photographs, tmp_path):
    figure = tmp_path / "figure.png"
    assert run("stats", photographs, photographs, "--figure", figure, "--workers", 1).exit_code == 0
    assert width_of(figure) > 1000
    assert "must end in .png" in error_line(
        "stats", photographs, photographs, "--figure", tmp_path / "figure.pdf"
    )


def test_stats_measures_folders(photographs, tmp_path):
    result = run("stats", photographs, photographs, "--workers", 1)
    assert result.exit_code == 0
    assert "0.000 / 0.000 / 0.000" in result.output
    assert "mean of the low" in run("stats", photographs, "--workers", 1).output
    assert "not a folder" in error_line("stats", tmp_path / "nowhere")


def test_preview_makes_a_sheet(photographs, tmp_path):
    photo = next(path for path in sorted(photographs.rglob("*")) if path.is_file())
    out = tmp_path / "sheet.png"
    assert (
        run(
            "preview", photo, "--recipe", "even", "--recipe", "gamma", "--out", out, "--width", 100
        ).exit_code
        == 0
    )
    assert width_of(out) == 4 * 108 + 8
    grid = ["--grid", "camera.iso=400,1600", "exposure.ev=2,uniform(4,5),6"]
    assert run("preview", photo, *grid, "--out", out, "--width", 100).exit_code == 0
    assert width_of(out) == 3 * 108 + 8
    assert run("preview", "--out", out, "--width", 64).exit_code == 0
    assert run("preview", photographs, "--out", out, "--width", 64).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "sheet.jpg"], "must end in .png"),
        (["nowhere.jpg"], "nowhere.jpg"),
        (["--grid", "camera.iso", "exposure.ev=3"], "write it as KEY=VALUE,VALUE"),
        (["--set", "camera.iso=9"], "camera.iso"),
        (["--grid", "camera.iso=400,9", "exposure.ev=3"], "calibrated from"),
    ],
)
def test_preview_mistakes_get_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in error_line("preview", *arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("camera.isoo=3", "unknown key camera.isoo"),
        ("camera.iso=many", "many"),
        ("exposure.ev=uniform(8,3)", "reversed range"),
        ("camera.name=leica", "sony-a7s2"),
        ("camera.iso=99999999", "outside"),
        ("camera.iso=30", "calibrated from 50"),
        ("isp.demosaic=fancy", "malvar"),
        ("model=neural", "power_law"),
        ("isp.chroma.strength=2", "outside 0 to 1"),
        ("illumination.lamps.count=1.5", "whole number"),
    ],
)
def test_a_wrong_recipe_gets_one_line_with_key_value_and_what_is_allowed(override, named):
    line = error_line("recipes", "show", "even", "--set", override)
    assert named in line
    assert (
        override.partition("=")[2].split("(")[0] in line
        or "unknown key" in line
        or "reversed" in line
    )


def test_regenerate_says_what_changed(finished, tmp_path):
    result = run(
        "regenerate",
        finished,
        tmp_path / "new",
        "--set",
        "camera.iso=6400",
        "--seed",
        5,
        "--workers",
        1,
    )
    assert result.exit_code == 0
    assert "camera.iso" in result.output
    assert "24 pairs" in result.output
    assert run("verify", tmp_path / "new", "--deep", "--workers", 1).exit_code == 0
    assert (
        "nothing was changed"
        in run("regenerate", finished, tmp_path / "same", "--workers", 1).output
    )
    assert "not a gloam set" in error_line("regenerate", tmp_path / "nowhere", tmp_path / "x")
    assert "other settings" in error_line("regenerate", finished, tmp_path / "new", "--workers", 1)


def test_export_and_stage(finished, tmp_path):
    assert run("export", finished, tmp_path / "files", "--workers", 1).exit_code == 0
    assert len(list((tmp_path / "files" / "train" / "low").iterdir())) == 20
    result = run("stage", finished, tmp_path / "staged")
    assert result.exit_code == 0
    assert run("verify", tmp_path / "staged").exit_code == 0
    assert "0 were there" not in run("stage", finished, tmp_path / "staged").output
    assert "another set" in error_line("stage", tmp_path / "files", tmp_path / "staged")


def test_bench_measures_every_way(finished):
    result = run(
        "bench",
        finished,
        "--seconds",
        0.1,
        "--batch-size",
        4,
        "--size",
        16,
        "--workers",
        0,
        "--json",
    )
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)
    assert [speed["note"] for speed in table["speeds"]] == [""] * 5
    assert all(speed["pairs_a_second"] > 0 for speed in table["speeds"])


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


def test_files_of_other_tools_are_a_remark_and_damage_only_if_asked(finished, tmp_path):
    root = shutil.copytree(finished, tmp_path / "set")
    shard = next((root / "shards").glob("train-*.tar"))
    for name in (
        "shards/train-000099.tar",
        f"shards/{shard.name}.idx",
        "shards/index.json.zstd",
        "README.md",
        "metadata.jsonl",
    ):
        shutil.copy(shard, root / name)
    result = run("verify", root, "--deep", "--workers", 1)
    assert result.exit_code == 0
    assert f"remark: {root}/shards/train-000099.tar: does not belong to the set\n" in result.output
    assert result.output.count("remark: ") == 3
    assert "every low is what its normal and draw make" in result.output
    strict = run("verify", root, "--strict")
    assert strict.exit_code == 1
    assert (
        "train-000099.tar: does not belong to the set; move it elsewhere or delete it"
        in strict.output
    )
    assert "3 problems" in strict.output


def test_any_local_name_is_a_folder_and_addresses_of_stores_are_refused(
    photographs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert (
        run(
            "build",
            "run:1",
            "--source",
            f"folder={photographs}",
            "--pairs",
            3,
            "--no-select",
            "--workers",
            1,
        ).exit_code
        == 0
    )
    assert run("verify", "run:1").exit_code == 0
    assert run("regenerate", "run:1", "run:2", "--seed", 5, "--workers", 1).exit_code == 0
    assert run("stage", "run:2", "file:x").exit_code == 0
    for address in ("s3://bucket/set", "gs://bucket/set", "az://a/b", "hf://datasets/a"):
        assert "sets lie in folders" in error_line(
            "build", address, "--source", f"folder={photographs}"
        )
        assert "sets lie in folders" in error_line("verify", address)
        assert "sets lie in folders" in error_line("regenerate", "run:1", address)
        assert "sets lie in folders" in error_line("stage", "run:1", address)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file:x", "run:1", "run:2"]


def test_a_reader_that_has_seen_enough_ends_a_command_without_a_word():
    command = (
        f"{sys.executable} -c 'from gloam.cli.main import gloam; gloam()' recipes show uneven |"
        " head -1; exit ${PIPESTATUS[0]}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "name: uneven\n"
    assert done.stderr == ""
    assert done.returncode in (0, 128 + 13)  # all may have fitted into the pipe


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


def test_cameras_are_listed_with_their_isos(tmp_path):
    output = run("cameras").output
    assert [line.split()[0] for line in output.splitlines()][:2] == ["sony-a7s2", "imx686-phone"]
    assert "ISO 50 to 25600" in output
    (tmp_path / "mine.yaml").write_text(
        "cameras: {mine: {black: 64, white: 4095, by_iso: [[100, 0.2, 1.5, 0.9, 0.05, 0.1]]}}"
    )
    assert "mine" in run("cameras", "--file", tmp_path / "mine.yaml").output
    assert "nothing.yaml: No such file" in error_line(
        "cameras", "--file", tmp_path / "nothing.yaml"
    )
