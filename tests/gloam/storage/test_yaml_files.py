"""Reading YAML that people write: what it means, and in one line what is wrong with it."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest

from gloam.errors import ConfigError
from gloam.storage.yaml_files import load_yaml, parse_yaml


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_mapping_is_read_with_its_types(tmp_path: Path) -> None:
    text = "a: 1\nb: 2.5\nc: [x, true, null]\nd: {e: stra\u00dfe}\n# nothing\n"
    assert load_yaml(written(tmp_path, text)) == {
        "a": 1,
        "b": 2.5,
        "c": ["x", True, None],
        "d": {"e": "stra\u00dfe"},
    }


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a: [1e3, 1.5E3, -2e-1, .5e+1, 1.e2]", [1000.0, 1500.0, -0.2, 5.0, 100.0]),
        ("a: [1_000, 0x1f, 0, -0, 0.5, 007.5, '010']", [1000, 31, 0, 0, 0.5, 7.5, "010"]),
        ("a: [yes, No, on, OFF, y]", ["yes", "No", "on", "OFF", "y"]),
        ("a: [true, False, null, ~]", [True, False, None, None]),
        ("a: [2024-01-01, 1e, e3, 0800, a:b]", ["2024-01-01", "1e", "e3", "0800", "a:b"]),
    ],
)  # fmt: skip
def test_numbers_and_names_are_read_as_people_mean_them(text: str, meant: object) -> None:
    assert parse_yaml(text, "x.yaml") == {"a": meant}


@pytest.mark.parametrize("text", ["010", "-0100", "+07", "0_7", "1:30", "190:20:30", "1:30.5"])
@pytest.mark.parametrize("around", ["a: 1\nb: {}\n", "a: 1\nb: [0, {}]\n", "a: 1\n{}: x\n"])
def test_a_number_that_is_another_one_to_yaml_is_refused_by_its_line(
    tmp_path: Path, text: str, around: str
) -> None:
    path = written(tmp_path, around.format(text))
    with pytest.raises(ConfigError, match=rf"x\.yaml: line 2: {re.escape(text)} .* to YAML: write"):
        load_yaml(path)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "null\n"])
def test_an_empty_file_is_an_empty_mapping(tmp_path: Path, text: str) -> None:
    assert load_yaml(written(tmp_path, text)) == {}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("- 1\n- 2\n", "list"), ("just text\n", "str"), ("42\n", "int"), ("2024-01-01\n", "str")],
)
def test_what_is_no_mapping_is_refused_by_its_kind(tmp_path: Path, text: str, kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"x\.yaml: expected keys and values, found a {kind}"):
        load_yaml(written(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 2",
        "a: 1\n b: 2",
        "\ta: 1",
        "a: *nowhere",
        "a: !!python/object/apply:os.system ['true']",
        "? [1]\n: 2",
        b"a: \xff\xfe",
        b"a: \x00",
        "[" * 5000,
    ],
    ids=[
        "open list",
        "indent",
        "tab",
        "alias",
        "python object",
        "list as key",
        "not utf-8",
        "zero byte",
        "deep",
    ],
)
def test_what_is_no_safe_yaml_is_refused_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(ConfigError, match=r"x\.yaml: not YAML: ") as refused:
        load_yaml(written(tmp_path, text))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["a: !!timestamp 2024-13-45", "a: !!int many", "a: !!float much", "a: 0b_"]
)
def test_a_value_that_yaml_itself_cannot_make_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"x\.yaml: "):
        load_yaml(written(tmp_path, text))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: No such file or directory"):
        load_yaml(tmp_path / "nowhere.yaml")
    with pytest.raises(ConfigError, match=f"{tmp_path.name}: is not a regular file"):
        load_yaml(tmp_path)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("camera:\n  iso: 100\n  iso: 200\n")
    with pytest.raises(ConfigError, match=r"twice\.yaml: .*key iso stands twice.*line 3"):
        load_yaml(path)


def test_the_line_of_each_key_is_told_by_its_way_from_above(tmp_path: Path) -> None:
    text = (
        "# a mixture\nmix:\n  a.b: &one {weight: 1}\n  c:\n    <<: *one\n    repeat: 2\nepoch: 3\n"
    )
    lines: dict[str, int] = {}
    assert load_yaml(written(tmp_path, text), lines)["mix"]["c"] == {"weight": 1, "repeat": 2}
    wanted = {"mix": 2, "mix.a.b": 3, "mix.a.b.weight": 3, "mix.c": 4, "mix.c.repeat": 6}
    assert lines.items() >= {**wanted, "epoch": 7}.items()


BOMB = "a: &a [1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in itertools.pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "more than 100,000 values"),
        (f"a: 0x{'f' * 5000}", "a number of 5,002 characters"),
        ("a: &a {x: 1}\n" + "b: &b {<<: [*a, *a]}\n" + "c: &c [*c]\n", "a value holds itself"),
        ("a" * (1 << 20) + ": 1", "more than 512 KiB"),
    ],
)
def test_a_text_that_grows_when_it_is_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        parse_yaml(text, "x.yaml")
    assert len(str(refused.value)) < 500


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_file_of_options(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigError, match="not a regular file"):
        load_yaml(tmp_path / "pipe.yaml")
