"""Draws and lows of any recipe: those of every machine, of records and of tables alike."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from gloam.synth.kernels.arrays import Window
from gloam.synth.models import (
    DRAWS,
    LowMaker,
    draw,
    draw_many,
    draws_version,
    low_maker,
    parse_draw,
    render,
)
from gloam.synth.recipes.load import load_recipe, shipped_recipes

from ..draws.test_table import MORE
from ..overrides import APART, BLOBS, COLOURED, EVEN_BEFORE

KEYS = [f"pair-{i}" for i in range(12)]
PICTURE = np.random.default_rng(0).integers(0, 256, (40, 52, 3), np.uint8)
RECIPES = {
    **{name: load_recipe(name) for name in shipped_recipes()},
    **{f"uneven+{i}": load_recipe(APART, overrides) for i, overrides in enumerate(MORE)},
    "gamma+jpeg": load_recipe(
        "gamma",
        ["degradations.jpeg.probability=0.5", "degradations.jpeg.quality=uniform(30, 90)"],
    ),
    "mixed": load_recipe("even:0.5,uneven:0.5"),
    "even before": load_recipe(EVEN_BEFORE),
    "uneven before": load_recipe(BLOBS),
    "coloured": load_recipe(COLOURED),
}
DIGESTS = {
    "3dcc-low-light": ("0228d493b59b7c17", "9a8bfcdaafde7066", "e1ea64893e59e2ba"),
    "agllnet": ("2a45fa4debb2cff5", "f4d2ba0eca772f90", "33552395235b003e"),
    "day-to-night": ("f03581b8abb60832", "cd604db39e92984c", "a3c0c617070f7f31"),
    "even": ("ffc7471ca92337b2", "df2ecd83781a31e1", "ed6bbe4cd0eaa84f"),
    "even before": ("fcb7a9c61caf36a4", "00c399ae928fd6a7", "75963d51ce29bbf7"),
    "extreme": ("2f79a590beca86f2", "62962faae4fc188b", "0fd1ef91e0ffdf3b"),
    "gamma": ("261fe5a4114a9031", "15f2e4741d848032", "e0d6ffa4a0cd16a8"),
    "llnet": ("e236c69dfd07cddc", "24191df9745f5d25", "5e9ebd5170adb465"),
    "maet-cpu": ("33241bb4a7e2909f", "dad56562874937ea", "09989f1ad4418bc6"),
    "maet-gpu": ("d088efab4771cc61", "4009de95f19c35f1", "d8f1ecde5b9a24b8"),
    "mbllen": ("8463cd5c39204e38", "5409a620ed02a802", "4746db2644904cf7"),
    "night-lights": ("18793d8c29422cba", "17b3a5f88e0662b4", "b6f05f6922aba071"),
    "train": ("d08dcd3666b6be2f", "8b1479c687f4fa2e", "28d849fffb47e447"),
    "train-any": ("221ed5b1dd1aea43", "7f8b2de54778dd78", "a5d89684157e1c4e"),
    "train-uneven": ("a90bdfb01b6bf14f", "02e22290732e4cba", "8f3aec8989f74028"),
    "uneven": ("a0e7421bccad4a30", "9a1e12bbb4c61f6f", "ddda5330f91f9329"),
    "uneven-broad": ("49e45dcb04740f39", "6fc31f2ee66a19f6", "449ad4ab26ec55c8"),
    "uneven before": ("83fb5dd52e03b740", "c1abda2bea9386cb", "5b431f55676ce3dd"),
    "upi": ("2d913a3bbfd2deba", "82adcfac450d2880", "1c0c727f411aa408"),
    "uneven+0": ("b31b26a462d2dccd", "6f72d848a32850af", "1f9eaa7b73cce495"),
    "uneven+1": ("019e4cfe0eee93e6", "2f782cc95dd98ce8", "4076cb21b0829eea"),
    "uneven+2": ("c88aa29886e9cabb", "ebec54671049de32", "66a6b804635f3985"),
    "uneven+3": ("969515a32930877f", "5dd094bb8ee0cda5", "af32d1fbbcb54cbd"),
    "uneven+4": ("03e2739a6950cfac", "efb8c66fc79b9e5c", "682d61d6cacb5d0c"),
    "uneven+5": ("9ce714f4d820dbbe", "8dd500eb253c311f", "4d56e6ad390a2064"),
    "uneven+6": ("a22e7c12ebbf0e22", "5c8ca113f7e983aa", "0aa50fad15bf12f1"),
    "uneven+7": ("1061a64014dfc68d", "6904a31ae4df99d5", "e989548553fbee76"),
    "uneven+8": ("c739ea951fab5188", "1e3be31484c60ad0", "ab4b115bfe7975c0"),
    "uneven+9": ("7b9dda514301c48c", "8873132a9ced10ae", "3bdb29397fd8082a"),
    "uneven+10": ("090bbd726c8a33e6", "5dd094bb8ee0cda5", "af32d1fbbcb54cbd"),
    "uneven+11": ("1e4af6aabecbf71a", "1e8f0a211758a1f3", "c4f787a693ca1a5a"),
    "uneven+12": ("1bcc50ce8b77bcbf", "1734e20d0348b4e9", "634315feab4c4bef"),
    "uneven+13": ("16d968c2f10c6546", "b1b21d340d7cfd6a", "86438596ea54363c"),
    "gamma+jpeg": ("67220beb0ae31c1c", "4b664cfb2ee3863b", "8e5c299127c546bc"),
    "mixed": ("d58c5f72eed0c299", "9bb55360d1c9b991", "7bba0650a41be000"),
    "coloured": ("00caa0f7e3b798bf", "f29bb3330fe92a13", "193d1ff9e252fb40"),
}
"""Of the records of KEYS in the form of the first sets, of six lows, and of a window of each."""
UNNAMED = {
    "even": "0426a0c316d02f7a",
    "even before": "0033775c4d0f6986",
    "train": "40474fce4546d29c",
    "train-any": "d757d41d358a6b36",
    "train-uneven": "b71e5705ded1fedc",
    "uneven before": "f4c2f54f62235fac",
    "uneven+11": "7406771933a620cf",
    "uneven+13": "3ab1f2fb17c166c5",
    "mixed": "b9f552f0b7b11131",
}
"""Of the records of today's form, in which cameras are not named whose noise is not the low's."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.mark.parametrize("name", RECIPES)
def test_draws_and_lows_are_those_of_every_other_machine(name):
    """A change here changes every set that was ever built: see CONTRIBUTING before accepting it."""
    first, records = (
        json.dumps([one.model_dump(mode="json") for one in draw_many(RECIPES[name], 3, KEYS, form)])
        for form in ("1", str(DRAWS))
    )
    assert digest(records.encode()) == UNNAMED.get(name, DIGESTS[name][0])
    assert ("draws" in draws_version(RECIPES[name])) == (name in UNNAMED)
    window = Window(11, 8, 20, 31)
    stored = LowMaker([parse_draw(one) for one in json.loads(records)])
    drawn = low_maker(RECIPES[name], 3, KEYS)
    for maker in (stored, drawn):
        lows = [maker.low(i, PICTURE) for i in range(6)]
        parts = [np.ascontiguousarray(maker.low(i, PICTURE, window)) for i in range(6)]
        found = first.encode(), *(b"".join(map(bytes, images)) for images in (lows, parts))
        assert tuple(map(digest, found)) == DIGESTS[name]


def test_lit_as_another():
    recipe, other = load_recipe("uneven"), np.ascontiguousarray(PICTURE[::-1])
    drawn = draw(recipe, 0, "a")
    low = low_maker(recipe, 0, ["a"]).low(0, PICTURE, lit_as=other)
    assert (low == render(PICTURE, drawn, lit_as=other)).all()
    assert (low != render(PICTURE, drawn)).any()


@pytest.mark.parametrize("count", [1, 12])
def test_lows_in_any_order_by_any_model(count):
    recipes = [load_recipe(name) for name in ("uneven", "train", "gamma")]
    draws = [draw(recipe, 5, key) for key in KEYS[:count] for recipe in recipes]
    maker = LowMaker(draws)
    for number in list(range(len(draws)))[::-1]:
        assert (maker.low(number, PICTURE) == render(PICTURE, draws[number])).all()
