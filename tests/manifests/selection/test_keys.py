"""Keys: readable, safe, unique, and independent of the order of the images."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gloam.manifests.selection.candidates import make_keys, normalise
from gloam.storage.untrusted import KEY as KEY_PATTERN

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Any text but lone surrogates, which listings escape, and many that collide once they are
# normalised.
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(
        [
            "a",
            "A",
            "a!",
            "\u00e1",
            "a b",
            "a-b",
            "a/b",
            "\u65e5\u672c",
            "",
            "---",
            "_",
            "x" * 75,
            "x" * 76,
            "x" * 200,
        ]
    ),
)
source_names = st.one_of(
    st.from_regex(r"\A[a-z0-9][a-z0-9_-]{0,23}\Z"), st.sampled_from(["a", "a-a", "folder"])
)
images = st.lists(
    st.tuples(source_names, texts, texts), max_size=25, unique_by=lambda image: (image[0], image[2])
)


def keys_of(rows: list[tuple[str, str, str]]) -> list[str]:
    return make_keys([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


@relaxed
@given(images)
def test_keys_match_the_pattern_and_are_unique(rows: list[tuple[str, str, str]]) -> None:
    keys = keys_of(rows)
    assert all(KEY_PATTERN.fullmatch(key) for key in keys)
    assert len(set(keys)) == len(rows)


@relaxed
@given(images, st.randoms(use_true_random=False))
def test_a_key_does_not_depend_on_the_order_of_the_images(
    rows: list[tuple[str, str, str]], chance: random.Random
) -> None:
    shuffled = rows.copy()
    chance.shuffle(shuffled)
    assert dict(zip(rows, keys_of(rows), strict=True)) == dict(
        zip(shuffled, keys_of(shuffled), strict=True)
    )


@relaxed
@given(images)
def test_what_does_not_collide_keeps_its_readable_name(rows: list[tuple[str, str, str]]) -> None:
    plain = [normalise(source, name) for source, name, _ in rows]
    seen = Counter(plain)
    made = keys_of(rows)
    hashed = {key for key, readable in zip(made, plain, strict=True) if key != readable}
    for key, readable in zip(made, plain, strict=True):
        if seen[readable] == 1 and len(readable) <= 80 and readable not in hashed:
            assert key == readable


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("n01440764_10026", "imagenet-n01440764_10026"),
        ("2019/Beach Party (1)", "imagenet-2019-beach-party-1"),
        ("Stra\u00dfe-\u00c9t\u00e9", "imagenet-strae-ete"),
        ("\u65e5\u672c", "imagenet-image"),
        ("", "imagenet-image"),
        ("..", "imagenet-image"),
        ("--a--", "imagenet-a"),
        ("a.b.c", "imagenet-a-b-c"),
        ("line\nbreak", "imagenet-line-break"),
        ("\uff46\uff55\uff4c\uff4c", "imagenet-full"),
    ],
)
def test_names_are_made_readable_and_safe(name: str, key: str) -> None:
    assert make_keys(["imagenet"], [name], ["path"]) == [key]


def test_twins_all_get_a_hash_of_their_path() -> None:
    rows = [
        ("voc", "Img 1", "a/Img 1.jpg"),
        ("voc", "img-1", "b/img-1.jpg"),
        ("voc", "other", "c.jpg"),
    ]
    first, second, other = keys_of(rows)
    assert other == "voc-other"
    assert first != second
    for key in (first, second):
        assert KEY_PATTERN.fullmatch(key)
        assert key.startswith("voc-img-1-")
        assert len(key) == len("voc-img-1-") + 8
    # Neither depends on the other images, as long as it has a twin at all.
    assert keys_of([rows[0], ("voc", "IMG 1", "z.jpg")])[0] == first


def test_images_of_two_sources_that_meet_are_told_apart() -> None:
    keys = keys_of([("a", "b-c", "x"), ("a-b", "c", "x")])
    assert len(set(keys)) == 2
    assert all(key.startswith("a-b-c-") for key in keys)


@pytest.mark.parametrize("length", [1, 70, 75, 76, 77, 200, 5000])
def test_long_names_are_cut_and_stay_apart(length: int) -> None:
    keys = keys_of([("voc", "x" * length, "one"), ("voc", "x" * (length + 1), "two")])
    assert all(KEY_PATTERN.fullmatch(key) for key in keys)
    assert len(set(keys)) == 2
    assert (keys[0] == "voc-" + "x" * length) == (length <= 76)


def test_a_name_that_is_cut_at_a_dash_gets_no_second_one() -> None:
    (key,) = keys_of([("voc", "a" * 66 + " " + "b" * 50, "path")])
    assert key.startswith("voc-" + "a" * 66 + "-")
    assert "--" not in key


def test_a_name_that_equals_the_hashed_key_of_another_is_told_apart() -> None:
    twins = [("voc", "a", "1.jpg"), ("voc", "A", "2.jpg")]
    impostor = keys_of(twins)[0].removeprefix("voc-")
    keys = keys_of([*twins, ("voc", impostor, "3.jpg")])
    assert len(set(keys)) == 3
    assert all(KEY_PATTERN.fullmatch(key) for key in keys)
    assert keys[1] == keys_of(twins)[1]


def test_a_hundred_thousand_twins_stay_apart() -> None:
    """Among so many, eight hexadecimal digits are expected to meet once; those that do get more
    digits."""
    count = 100_000
    keys = make_keys(["voc"] * count, ["same"] * count, [f"{i}.jpg" for i in range(count)])
    assert len(set(keys)) == count
    assert sum(len(key) > len("voc-same-") + 8 for key in keys) < 100


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        make_keys(["a"], ["x", "y"], ["1", "2"])


@pytest.mark.parametrize(
    "odd",
    ["", "A", "-a", "_a", "a.b", "a b", "a/b", "\u00e4", "a" * 81, "a\n", "\n", "a\0"],
    ids=ascii,
)
def test_the_pattern_refuses_what_is_no_key(odd: Any) -> None:
    assert not KEY_PATTERN.match(odd)
