"""Names of annotation files and lists, against the paths of photographs."""

from __future__ import annotations

import pytest

from gloam.manifests.sources.matching import match, normalize_name, strip_suffix


@pytest.mark.parametrize(
    ("names", "paths", "root", "found"),
    [
        (
            ["a/1.jpg", "b/1.jpg"],
            ["a/1.jpg", "b/1.jpg"],
            "",
            {"a/1.jpg": "a/1.jpg", "b/1.jpg": "b/1.jpg"},
        ),
        (["/data/x/b/1.jpg"], ["a/1.jpg", "b/1.jpg"], "", {"/data/x/b/1.jpg": "b/1.jpg"}),
        (["1.png"], ["1.jpg", "1.png"], "", {"1.png": "1.png"}),
        (["1.png"], ["1.jpg"], "", {"1.png": "1.jpg"}),
        (["a.b.c"], ["a.b.c.jpg", "a.b.jpg"], "", {"a.b.c": "a.b.c.jpg"}),
        (["b/1.png"], ["a/1.png", "b/1.jpg"], "", {"b/1.png": "b/1.jpg"}),
        (["one/1.jpg", "two/1.jpg"], ["1.jpg"], "/data/two", {"two/1.jpg": "1.jpg"}),
        (["a/1.jpg"], ["a/1.jpg", "c/1.jpg"], "", {"a/1.jpg": "a/1.jpg"}),
        (["1.jpg"], ["2.jpg"], "", {}),
    ],
)
def test_the_longest_equal_tail_decides(names, paths, root, found):
    assert match([normalize_name(name) for name in names], paths, root).found == {
        normalize_name(name): path for name, path in found.items()
    }


@pytest.mark.parametrize(
    ("names", "paths", "said"),
    [
        (["1.jpg"], ["a/1.jpg", "b/1.jpg"], "1.jpg fits a/1.jpg and b/1.jpg"),
        (["a/1.jpg", "b/1.jpg"], ["1.jpg"], "1.jpg fits a/1.jpg and b/1.jpg"),
        (["1.bmp"], ["1.jpg", "1.png"], "1.bmp fits 1.jpg and 1.png"),
    ],
)
def test_what_fits_twice_is_said_and_is_nobody_s(names, paths, said):
    matches = match(names, paths)
    assert matches.found == {}
    assert set(matches.unclear.values()) == {said}


def test_names_are_read_alike_however_they_are_spelt():
    assert normalize_name(".\\a//b/./1.jpg") == "a/b/1.jpg"
    assert [strip_suffix(name) for name in ("a.b.c", "a.JPEG", "a.jpg.txt")] == [
        "a.b.c",
        "a",
        "a.jpg.txt",
    ]


def test_many_photographs_of_one_name_are_not_compared_each_with_each():
    names = [f"x{i}/rgb/image.png" for i in range(20_000)]
    matches = match(names, [f"y{i}/rgb/image.png" for i in range(20_000)])
    assert (len(matches.found), len(matches.unclear)) == (0, 20_000)


def test_letters_and_accents_that_are_written_apart_are_one_name():
    assert normalize_name("Ma\u0308rz/1.jpg") == normalize_name("M\u00e4rz/1.jpg")
