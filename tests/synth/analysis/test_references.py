"""References of one's own: written, read, refused."""

from __future__ import annotations

import pytest
import yaml

from gloam.errors import ConfigError
from gloam.synth.analysis.pair_statistics import summary
from gloam.synth.analysis.references import read_reference, reference_yaml
from gloam.synth.analysis.set_statistics import Measured

ROWS = [{"mean": 0.01 * i, "zeros": 0.5, "exposure_ev": float("nan")} for i in range(20)]


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(reference_yaml(Measured(ROWS, []), "mine"))
    name, values = read_reference(path)
    assert name == "mine"
    assert values.keys() == {"mean", "zeros"}
    for key, numbers in summary(ROWS).items():
        assert values[key] == pytest.approx(list(numbers), rel=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"definitions": 99}, "measure that set again"),
        ({"statistics": {"mean": [1, 2]}}, "expected three numbers"),
        ({"statistics": {"beauty": [1, 2, 3]}}, "statistics.beauty"),
        ({"statistics": 3}, "not a reference"),
        ({"more": 1}, "not a reference"),
    ],
)
def test_another_file_is_refused(tmp_path, change, words):
    values = yaml.safe_load(reference_yaml(Measured(ROWS, []), "mine"))
    path = tmp_path / "other.yaml"
    path.write_text(yaml.safe_dump({**values, **change}))
    with pytest.raises(ConfigError, match=words):
        read_reference(path)
