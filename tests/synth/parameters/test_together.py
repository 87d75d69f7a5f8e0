"""Parameters that are drawn together."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from gloam.errors import ConfigError, GloamWarning
from gloam.synth.draws.table import table_of_records
from gloam.synth.models import draw, draw_many, draw_table
from gloam.synth.parameters.distributions import Constant
from gloam.synth.recipes.load import load_recipe, recipe_of, recipe_yaml

ROWS = {"columns": ["noise.read.red", "noise.shot.red"], "rows": [[1, 2], [0.1, 0.2]]}
NORMAL = {
    "columns": ["exposure.ev", "tone.shoulder", "white_balance.error_ev.0"],
    "mean": [5, 1.2, 0.1],
    "covariance": [[1, -0.3, 0], [-0.3, 0.25, 0], [0, 0, 0]],
}
KEYS = [f"k{i}" for i in range(2000)]
TOGETHER = {"together": {"tone": NORMAL}}
WHOLE = {"exposure": {"ev": 3}} | TOGETHER
PART = {"weight": 1, "recipe": WHOLE}
CHANGE = {"exposure": {"ev": 4}}
NOISE = {"noise": {"read": {"green": 3}}}


def recipe(**together):
    return recipe_of({"exposure": {"ev": 3}, "together": together}, (), "test")


def test_rows_are_taken_whole_and_as_often_as_they_weigh():
    draws = draw_many(recipe(camera=ROWS | {"weights": [3, 1]}), 1, KEYS)
    pairs = [(one.noise.read.red, one.noise.shot.red) for one in draws]
    assert set(pairs) == {(1, 2), (0.1, 0.2)}
    assert pairs.count((1, 2)) / len(pairs) == pytest.approx(0.75, abs=0.03)
    assert {one.noise.read.green for one in draws} == {0}


def test_normally_distributed_ones_have_their_covariance():
    draws = draw_many(recipe(tone=NORMAL), 1, KEYS)
    ev, shoulder = np.array([(one.exposure.ev, one.tone.shoulder) for one in draws]).T
    assert (ev.mean(), ev.std()) == pytest.approx((5, 1), abs=0.06)
    assert np.corrcoef(ev, shoulder)[0, 1] == pytest.approx(-0.6, abs=0.05)
    assert shoulder.min() >= 0  # cut to the parameter's bounds
    assert {one.white_balance.error_ev for one in draws} == {(0.1, 0.0)}


def test_covariances_may_be_rounded():
    deviation = np.array([1.08, 0.01, 0.0123])
    covariance = [[float(f"{x:.4g}") for x in row] for row in np.outer(deviation, deviation)]
    columns = ["exposure.ev", "tone.exponent", "noise.read.red"]
    draws = draw_many(
        recipe(a={"columns": columns, "mean": [5, 1, 1], "covariance": covariance}), 1, KEYS
    )
    found = np.corrcoef(
        [(one.exposure.ev, one.tone.exponent, one.noise.read.red) for one in draws], rowvar=False
    )
    assert found == pytest.approx(np.ones((3, 3)), abs=2e-3)


def test_groups_are_drawn_apart_and_leave_other_parameters_as_they_were():
    alone, both = recipe(tone=NORMAL), recipe(tone=NORMAL, camera=ROWS)
    for one, other in zip(
        draw_many(alone, 1, KEYS[:50]), draw_many(both, 1, KEYS[:50]), strict=True
    ):
        assert other.changed({"noise": None, "camera": one.camera}) == one


def test_a_table_is_that_of_its_records():
    made = recipe(tone=NORMAL, camera=ROWS)
    records = [draw(made, 4, key) for key in KEYS[:20]]
    table, wanted = draw_table(made, 4, KEYS[:20]), table_of_records(records)
    assert (table.draws == wanted.draws).all()


def test_a_file_becomes_part_of_the_recipe(tmp_path):
    (tmp_path / "pairs.yaml").write_text(yaml.safe_dump(ROWS))
    (tmp_path / "own.yaml").write_text(
        f"exposure: {{ev: 3}}\ntogether: {{camera: {{from: {tmp_path / 'pairs.yaml'}}}}}\n"
    )
    made = load_recipe(str(tmp_path / "own.yaml"))
    text = recipe_yaml(made).decode()
    assert "pairs.yaml" not in text
    assert recipe_of(yaml.safe_load(text), (), "again") == made


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"columns": ["noise.read.red", "noise.read.grey"]}, "noise.read.grey: no number"),
        ({"columns": ["noise.read.red", "illumination.lights.ev"]}, "no number"),
        ({"columns": ["noise.read.red", "white_balance.error_ev"]}, "no number"),
        ({"columns": ["noise.read.red"]}, "number 0 has 2 values, not 1"),
        ({"columns": ["noise.read.red", "noise.read.red"]}, "named twice"),
        ({"rows": [[1, 2], [1, 99]]}, "noise.shot.red = 99: allowed is 0 to 64 levels"),
        ({"rows": [[1, "2"]]}, "valid number"),
        ({"rows": [[1, True]]}, "valid number"),
        ({"rows": []}, "either rows, or mean and covariance"),
        ({"weights": [1]}, "weights: must be as many as rows"),
        ({"rows": [], "mean": [1, 1], "covariance": [[1, 2], [2, 1]]}, "covariance: must be"),
        ({"rows": [], "mean": [1, 1], "covariance": [[1]]}, "must be of 2 columns"),
        ({"from": "nowhere.yaml"}, "nowhere.yaml"),
    ],
)
def test_what_is_wrong_is_named(changes, problem):
    with pytest.raises(ConfigError, match=problem):
        recipe(camera=ROWS | changes)


@pytest.mark.parametrize("override", ["exposure.ev=4", "white_balance.error_ev=0"])
def test_changes_that_would_do_nothing_are_refused(override):
    with pytest.raises(ConfigError, match="drawn together with others: change it"):
        load_recipe(recipe(tone=NORMAL), [override])


def test_changes_of_a_mixture_reach_what_is_drawn_by_itself():
    apart = {"weight": 1, "recipe": {"exposure": {"ev": 3}}}
    together = {"weight": 1, "recipe": {"exposure": {"ev": 3}, "together": {"tone": NORMAL}}}
    mixture = {"mixture": {"one": together, "two": apart}}
    with pytest.warns(GloamWarning, match=r"other recipes, not one: .* drawn together"):
        made = recipe_of(mixture, ["white_balance.error_ev=0"], "mine")
    assert made.mixture["two"].recipe.white_balance.error_ev == Constant(0.0)
    for override, parts in (
        ("exposure.ev=4", {"one": together}),
        ("mixture.one.exposure.ev=4", mixture["mixture"]),
    ):
        with pytest.raises(ConfigError, match="drawn together with others: change it"):
            recipe_of({"mixture": parts}, [override], "mine")


def test_no_parameter_is_in_two_groups():
    with pytest.raises(ConfigError, match="drawn in two groups"):
        recipe(one=ROWS, two=ROWS)


@pytest.mark.parametrize(
    ("values", "overrides"),
    [
        ({"mixture": {"one": PART | CHANGE}}, []),
        ({"mixture": {"one": PART}} | CHANGE, []),
        ({"mixture": {"one": {"weight": 1, "recipe": {"mixture": {"two": PART}}} | CHANGE}}, []),
        ({"mixture": {"one": {"weight": 1, "recipe": {"mixture": {"two": PART}}}}} | CHANGE, []),
        # A group that an inner file makes is drawn, whatever an outer one says.
        (
            {
                "mixture": {
                    "one": {
                        "weight": 1,
                        "recipe": {"mixture": {"two": {"weight": 1, "recipe": {}}}} | TOGETHER,
                    }
                }
            }
            | CHANGE,
            [],
        ),
        (
            {"mixture": {"one": {"weight": 1, "recipe": {}}}} | TOGETHER,
            ["mixture.one.exposure.ev=4"],
        ),
        ({"mixture": {"train": 1}, "noise": {"read": {"green": 3}}}, []),
        ({"mixture": {"train": 1}}, ["mixture.train/pictures.noise.read.green=3"]),
        (
            {"mixture": {"one": {"weight": 1, "recipe": {}} | TOGETHER}},
            ["mixture.one.exposure.ev=4"],
        ),
        ({"mixture": {"train": {"weight": 1, "mixture": {"pictures": NOISE}}}}, []),
    ],
)
def test_changes_of_a_mixture_that_would_do_nothing_are_refused(values, overrides):
    with pytest.raises(ConfigError, match=r"mixture\..*drawn together with others: change it"):
        recipe_of(values, overrides, "mine")


def test_a_group_beside_a_mixture_is_drawn_in_place_of_what_its_recipes_say():
    for whole in ({}, CHANGE):
        values = {"mixture": {"one": {"weight": 1, "recipe": whole}}} | TOGETHER
        assert recipe_of(values, (), "mine").mixture["one"].recipe.together.keys() == {"tone"}


@pytest.mark.parametrize(
    "values", [WHOLE, {"mixture": {"one": PART}} | WHOLE, {"mixture": {"one": PART | WHOLE}}]
)
def test_what_a_file_sets_and_draws_together_is_refused(values, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError, match=r"exposure\.ev: is drawn in together\.tone, too"):
        load_recipe(str(file))
    file.write_text(yaml.safe_dump(TOGETHER))
    whole = load_recipe(str(file)).model_dump(mode="json")
    file.write_text(yaml.safe_dump(whole))
    assert load_recipe(str(file)).model_dump(mode="json") == whole


@pytest.mark.parametrize("columns", [3, "exposure.ev", None, [3]])
def test_columns_beside_a_mixture_that_are_none_are_refused(columns):
    values = {"mixture": {"even": 1}, "together": {"mine": {"columns": columns, "rows": [[1]]}}}
    with pytest.raises(ConfigError, match=r"together\.mine|columns"):
        recipe_of(values, (), "mine")


def test_noise_by_pictures_does_not_take_the_place_of_a_sensors_in_a_mixture():
    change = "noise.tail_share.red=0.2"
    with pytest.warns(GloamWarning, match="not sensors, cameras: .* noise is that of a sensor"):
        made = load_recipe("train", [change])
    assert made.mixture["pictures"].recipe.noise.tail_share.red == Constant(0.2)
    assert made.mixture["sensors"] == load_recipe("train").mixture["sensors"]
    with pytest.warns(GloamWarning, match="no longer that of a sensor: set noise.read"):
        load_recipe("night-lights", [change])
    with pytest.warns(GloamWarning, match="noise is that of a sensor"):
        direct = load_recipe("train", [change, "mixture.sensors.noise.read.red=2"])
    assert direct.mixture["sensors"].recipe.noise.read.red == Constant(2.0)


def test_a_group_with_columns_takes_the_place_of_all_of_the_former(tmp_path):
    file = tmp_path / "pairs.yaml"
    file.write_text(yaml.safe_dump(ROWS))
    mixture = {"mixture": {"even": {"weight": 1, "together": {"pairs": {"from": str(file)}}}}}
    for made in (
        load_recipe("even", [f"together.pairs.from={file}"]),
        recipe_of(mixture, (), "mine").mixture["even"].recipe,
        recipe_of({"mixture": {"even": 1}}, [f"mixture.even.together.pairs.from={file}"], "mine")
        .mixture["even"]
        .recipe,
    ):
        assert made.together["pairs"].rows == ((1, 2), (0.1, 0.2))
        assert not made.together["pairs"].weights
    change = f"mixture.pictures.together.settings.from={file}"
    assert (
        load_recipe("train", [change]).mixture["pictures"].recipe.together["settings"]
        == (made.together["pairs"])
    )
    other = {"columns": ["noise.read.red"], "mean": [1], "covariance": [[0.1]]}
    mixture["mixture"]["even"]["together"]["pairs"] = other
    assert not recipe_of(mixture, (), "mine").mixture["even"].recipe.together["pairs"].rows


def test_files_that_a_recipe_names_lie_beside_it_and_are_read_before_changes(tmp_path):
    (tmp_path / "pairs.yaml").write_text(yaml.safe_dump(ROWS))
    own = "exposure: {ev: 3}\nnoise: {read: {green: 1}}\ntogether: {camera: {from: pairs.yaml}}\n"
    (tmp_path / "own.yaml").write_text(own)
    (tmp_path / "mixed.yaml").write_text("mixture: {own.yaml: 1}\n")
    made = load_recipe(str(tmp_path / "own.yaml"))
    mixed = load_recipe(str(tmp_path / "mixed.yaml"))
    assert made.together["camera"].rows == ((1, 2), (0.1, 0.2))
    assert mixed.mixture["own.yaml"].recipe.together == made.together
    with pytest.warns(GloamWarning, match="noise is that of this sensor"):
        sensor = load_recipe(str(tmp_path / "own.yaml"), ["camera.iso=3200"])
    assert not sensor.together
    (tmp_path / "more.yaml").write_text("from: pairs.yaml\n")
    with pytest.raises(ConfigError, match="names another file"):
        load_recipe(str(tmp_path / "own.yaml"), [f"together.camera.from={tmp_path / 'more.yaml'}"])
    (tmp_path / "pairs.yaml").unlink()
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(ROWS))
    change = f"together.camera.from={tmp_path / 'other.yaml'}"
    assert load_recipe(str(tmp_path / "own.yaml"), [change]) == made


@pytest.mark.parametrize(
    ("values", "overrides"),
    [
        ({"mixture": {"even": 1}}, ["camera.iso=400", "noise.tail_share.red=0.3"]),
        (
            {"exposure": {"ev": 3}, "noise": {"read": {"red": 1}}},
            ["noise.tail_share.red=0.3", "camera.iso=400"],
        ),
        (
            {
                "mixture": {
                    "even": {"weight": 1, "camera": {"iso": 4e2}, "noise": {"tail": {"red": 1}}}
                }
            },
            [],
        ),
    ],
)
def test_a_sensor_and_noise_by_pictures_are_not_chosen_both(values, overrides):
    with pytest.raises(ConfigError, match=r"camera\.iso chooses a sensor's noise"):
        recipe_of(values, overrides, "mine")
