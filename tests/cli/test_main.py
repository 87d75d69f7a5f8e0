"""The commands as a person meets them: what they say, and with which code they exit."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import gloam as face
from gloam.cli.main import gloam
from gloam.errors import GloamWarning
from gloam.manifests.recorded_request import OutputOptions
from gloam.manifests.selection.plan import PlanOptions
from gloam.synth.building.build import BuildOptions

from .running import error_line, run


def test_help_lists_the_commands_and_every_option_has_help():
    assert "build" in run("--help").output
    for name in gloam.list_commands(None):
        command = gloam.get_command(None, name)
        assert command.help
        assert all(
            parameter.help for parameter in command.params if isinstance(parameter, click.Option)
        )


NOT_OF_THE_FUNCTION = {
    "build": {"camera_file", "task_index", "task_count"},  # an override; shares of one build
    "stats": {"json", "figure", "save_reference", "beside", "full"},
    "realism": {"json", "figure"},
    "judge": {"json", "out"},
    "leaks": {"json", "out"},
    "sets": {"json"},
    "preview": {"out"},
    "fit": {"out"},
    "brackets": {"json"},
    "calibrate": {"out", "figure"},
    "doctor": {"json"},
}
"""Options of commands about what is printed, or written of what the function returns."""
OTHER_WORDS = {
    "set": "overrides",
    "source": "sources",
    "no_select": "select",
    "for": "for_",
}
OF_THE_COMMAND_ALONE = {"studio", "export-triton", "bench", "recipes", "cameras"}


def test_every_command_has_its_function_with_the_same_words():
    for name in set(gloam.list_commands(None)) - OF_THE_COMMAND_ALONE:
        parameters = {*inspect.signature(getattr(face, name)).parameters}
        parameters |= BuildOptions.__annotations__.keys() if name == "build" else set()
        for option in gloam.get_command(None, name).params:
            if isinstance(option, click.Option):
                word = option.opts[0].removeprefix("--").replace("-", "_")
                if word not in NOT_OF_THE_FUNCTION.get(name, ()):
                    assert OTHER_WORDS.get(word, word) in parameters, (name, word)


def test_help_is_plain_and_imperative():
    """No line of help, nor of a docstring, begins with a word that hangs on another sentence."""
    hanging = re.compile(r"(Of|What|Where|As|That)\b")
    for name in gloam.list_commands(None):
        for option in gloam.get_command(None, name).params:
            if isinstance(option, click.Option):
                assert not hanging.match(option.help), (name, option.name)
    for path in (Path(face.__file__).parent / "cli").resolve().rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                lines = (ast.get_docstring(node) or "").splitlines()
                assert not [line for line in lines if hanging.match(line)], (path, lines)


def test_what_a_terminal_would_obey_is_shown(monkeypatch):
    @click.command()
    def told():
        warnings.warn("a\x1b[2J", GloamWarning, stacklevel=1)
        return "caf\u00e9 b\x1b\nc\u202ed \udcff\r"

    monkeypatch.setattr(type(gloam), "get_command", lambda *_: told)
    result = run("told")
    assert result.stderr == "gloam: a\\x1b[2J\n"
    assert result.stdout == "caf\u00e9 b\\x1b\nc\\u202ed \\udcff\\r\n"


ORDER = ["set", "seed", "layout", "out", "json", "figure", "workers", "engine"]


def test_options_stand_in_one_order_and_mean_the_same():
    helps: dict[str, set[str]] = {}
    for name in gloam.list_commands(None):
        options = [o for o in gloam.get_command(None, name).params if isinstance(o, click.Option)]
        words = [option.opts[0].removeprefix("--") for option in options]
        known = [word for word in words if word in ORDER]
        assert known == sorted(known, key=ORDER.index), (name, known)
        for word, option in zip(words, options, strict=True):
            if word in ("json", "engine"):
                helps.setdefault(word, set()).add(option.help)
    assert all(len(texts) == 1 for texts in helps.values()), helps


def test_options_of_build_are_the_fields_of_its_models():
    options = {option.name: option for option in gloam.get_command(None, "build").params}
    for model in (PlanOptions, OutputOptions):
        for name, field in model.model_fields.items():
            assert options[name].help.startswith(field.description), name
            assert options[name].default is None  # so that a build file may say it
    quality = options["low_quality"]
    assert (quality.type.min, quality.type.max) == (1, 100)
    assert quality.help.endswith("[default: 95]")
    assert options["seed"].help == "Random seed.  [default: 0]"


def output_of(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_is_there_without_loading_the_kernels():
    code = (
        "import sys; from gloam.cli.main import gloam; gloam(['--help'], standalone_mode=False);"
        " print('numba' in sys.modules)"
    )
    output = output_of(code)
    assert output.splitlines()[-1] == "False"


@pytest.mark.skipif(sys.platform != "linux", reason="a full disk to write to")
@pytest.mark.parametrize("command", ["--help", "--version", "build --help", "sets"])
def test_output_that_finds_no_space_is_one_line(command):
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "gloam", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert found.returncode == 1
    assert found.stderr == "gloam: output: No space left on device\n"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a server only there")
def test_completion_starts_nothing():
    code = (
        "import gloam.cli.main as m, sys; from click.shell_completion import BashComplete as"
        " B\nprint([c.value for c in B(m.gloam, {}, 'gloam', '_').get_completions(['build'],"
        " '--work')])\nprint('multiprocessing.forkserver' in sys.modules)"
    )
    output = output_of(code)
    assert output == "['--workers']\nFalse\n"


def test_nothing_but_loaders_imports_dali_or_torch():
    code = (
        "import sys, gloam.cli.build, gloam.cli.verify, gloam.cli.lists"
        ", gloam.synth.models"
        ", gloam.synth.building.deep_verify\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} &"
        " {'nvidia', 'torch', 'jax', 'matplotlib'}))"
    )
    output = output_of(code)
    assert output.strip() == "[]"


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
        (["build", finished, "--source", good, "--val", "0"], "plan.val: 4, now 0"),
        (
            ["build", out, "--source", good, "--no-select", "--profile", "x.yaml"],
            "exclude each other",
        ),
        (["verify", empty], "not a gloam set"),
        (["brackets", "s3://bucket/x", "--out", out], "s3://bucket/x: lies in a store: copy it"),
        (["recipes", "show", "dusk"], "recipe dusk"),
    ]:
        assert words in error_line(*arguments)
    assert (taken / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize(
    "args",
    [
        ["brackets", "s3://KEY:SECRET@b/x", "--out", "pairs"],
        ["studio", "--port", "https://me:SECRET@host/x"],
        ["verify", "set", "--workers", "s3://KEY:SEC/SECRET@b"],
        ["s3://KEY:SECRET@b"],
    ],
)
def test_wrong_usage_shows_no_credentials_and_nothing_that_a_terminal_would_obey(args):
    result = CliRunner().invoke(gloam, [*args[:1], "\33[31m", *args[1:]])
    assert result.exit_code == 2
    assert "\33" not in result.stderr
    assert "SECRET" not in CliRunner().invoke(gloam, args).stderr


def test_wrong_usage_exits_with_2():
    for arguments in (
        ["build"],
        ["build", "x", "--bogus"],
        ["build", "x", "--layout", "pile"],
        ["dusk"],
    ):
        assert run(*arguments).exit_code == 2


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
    for address in ("hf://datasets/a", "https://host/set"):
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


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        ("gloam build x --recipe", "un", "uneven"),
        ("gloam build x --source", "ima", "imagenet="),
        ("gloam build x --recipe gamma --set", "curve.ga", "curve.gamma="),
        ("gloam build x --set", "camera.is", "camera.iso="),
        (
            "gloam build x --recipe train --set",
            "mixture.sensors.camera.i",
            "mixture.sensors.camera.iso=",
        ),
        ("gloam recipes show", "ev", "even"),
    ],
)
def test_shells_complete_recipes_kinds_and_keys(words, begun, found):
    environment = {
        "_GLOAM_COMPLETE": "bash_complete",
        "COMP_WORDS": f"{words} {begun}",
        "COMP_CWORD": str(len(words.split())),
    }
    result = CliRunner().invoke(gloam, prog_name="gloam", env=environment)
    assert found in [line.partition(",")[2] for line in result.output.splitlines()]


def test_slips_get_the_word_that_helps(photographs, tmp_path):
    flat, pairs = tmp_path / "flat", tmp_path / "pairs"
    flat.mkdir()
    (flat / "a.jpg").write_bytes((photographs / "photo-1.jpg").read_bytes())
    for name in ("low", "high"):
        shutil.copytree(flat, pairs / name)
    gloam_set = tmp_path / "one"
    made = run("build", gloam_set, "--source", f"folder={flat}", "--no-select", "--workers", 1)
    assert "1 photograph, 1 pair: train 1, val 0" in made.output
    assert "'build'" in run("biuld", gloam_set).output
    new, unfinished = tmp_path / "new", tmp_path / "unfinished"
    (unfinished / ".gloam").mkdir(parents=True)
    (tmp_path / "dangling").symlink_to("nowhere")
    for arguments, words in [
        (["build", new, "--source", flat], f"says no kind; folder={flat} is meant?"),
        (
            ["build", new, "--source", gloam_set],
            "/shards/*.tar', the normals of",
        ),
        (["build", new, "--source", f"imagenet={flat}"], f"; folder={flat} takes photographs"),
        (["build", new, "--source", f"folder={gloam_set}"], "it is a gloam set: web"),
        (
            ["build", new, "--source", f"folder={gloam_set}/shards"],
            f"set: webdataset='{gloam_set}/",
        ),
        (["build", new, "--source", f"folder={pairs}"], f"folder={pairs}/high takes the normals"),
        (
            ["build", new, "--source", f"folder={flat}", "--pairs", 2, "--no-select"],
            "1 candidate is",
        ),
        (["build", tmp_path / "dangling", "--source", f"folder={flat}"], "is a link to nowhere"),
        (["verify", pairs], "gives loaders its pairs"),
        (["stats", pairs], f"lows and normals; name both: {pairs}/low {pairs}/"),
        (["report", pairs], "holds lows and normals; name both"),
        (["fit", pairs], "holds lows and normals; name both"),
        (["stats", flat, flat], "is named for the lows and for their normals"),
        (["report", unfinished], "the set is not finished"),
        (["stats", unfinished], "the set is not finished"),
    ]:
        assert words in error_line(*arguments)
        assert not new.exists()
