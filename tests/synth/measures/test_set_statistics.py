"""Statistics of whole folders; those of sets: tests/cli/test_stats.py."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
import yaml

from gloam.errors import ConfigError, SourceError
from gloam.manifests.images.normals import encode
from gloam.manifests.sources.folders import image_files
from gloam.synth.measures.pair_statistics import summary
from gloam.synth.measures.set_statistics import (
    Measured,
    MeasuredPair,
    measure_folders,
    read_reference,
    reference_yaml,
)


def test_folders_are_paired_by_name(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "sub/b"):
        for folder, suffix in (("low", "png"), ("normal", "jpg")):
            path = tmp_path / folder / f"{name}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode(rng.integers(0, 255, (60, 80, 3)).astype(np.uint8), suffix))
    low = tmp_path / "low" / "sub" / "b.png"
    np.save(low.with_suffix(".npy"), cv2.imread(str(low)))
    low.unlink()
    measured = measure_folders(tmp_path / "low", tmp_path / "normal", 100)
    assert len(measured.rows) == 2
    assert json.loads(json.dumps(measured.as_json()))["pairs"] == 2
    assert len(measure_folders(tmp_path / "low", None, 1).rows) == 1
    (tmp_path / "normal" / "a.jpg").unlink()
    with pytest.raises(SourceError, match=r"a\.png has no partner"):
        measure_folders(tmp_path / "low", tmp_path / "normal", 100)
    with pytest.raises(SourceError, match="not a folder"):
        image_files(tmp_path / "nowhere")
    (tmp_path / "low" / "a.jpg").write_bytes(b"")
    with pytest.raises(SourceError, match="same name"):
        image_files(tmp_path / "low")
    (tmp_path / "low" / "a.png").unlink()
    left = measure_folders(tmp_path / "low", None, 100)
    assert (len(left.rows), left.damaged) == (
        1,
        [f"{tmp_path / 'low/a.jpg'}: the file has no bytes"],
    )
    low.with_suffix(".npy").unlink()
    with pytest.raises(SourceError, match=r"a\.jpg"):
        measure_folders(tmp_path / "low", None, 100)


ROWS = [{"mean": 0.01 * i, "zeros": 0.5, "exposure_ev": float("nan")} for i in range(20)]
PAIRS = [MeasuredPair("", row) for row in ROWS]


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(reference_yaml(Measured(PAIRS), "mine"))
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
    values = yaml.safe_load(reference_yaml(Measured(PAIRS), "mine"))
    path = tmp_path / "other.yaml"
    path.write_text(yaml.safe_dump({**values, **change}))
    with pytest.raises(ConfigError, match=words):
        read_reference(path)
