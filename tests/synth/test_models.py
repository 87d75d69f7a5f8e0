"""One image at a time, by any model."""

from __future__ import annotations

import pytest

from gloam.errors import ConfigError
from gloam.synth.models import darken
from gloam.synth.recipes.load import load_recipe


def test_darken_takes_single_values(photograph):
    changed = darken(photograph, "even", seed=3, key="a", overrides=["exposure.ev=2"])
    assert (
        changed == darken(photograph, load_recipe("even", ["exposure.ev=2"]), seed=3, key="a")
    ).all()
    assert (
        changed
        == darken(photograph, load_recipe("even"), seed=3, key="a", overrides=["exposure.ev=2"])
    ).all()
    assert (changed != darken(photograph, "even", seed=3, key="a")).any()
    with pytest.raises(ConfigError, match="is meant"):
        darken(photograph, "even", overrides=["ev=2"], key="image")
