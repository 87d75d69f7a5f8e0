"""Scenes of a benchmark are kept out of a set, and counted."""

from __future__ import annotations

import cv2
import pyarrow.parquet as pq
import pytest

import gloam
from gloam.errors import ConfigError, GloamWarning, SetError


def test_scenes_of_a_benchmark_are_kept_out(photographs, tmp_path):
    photos = sorted(photographs.iterdir())[5:11]
    (tmp_path / "photos").mkdir()
    (tmp_path / "benchmark").mkdir()
    for i, photo in enumerate(photos):
        image = cv2.imread(str(photo))
        cv2.imwrite(str(tmp_path / "photos" / f"{i}.png"), image)
        if i < 2:
            darker = cv2.convertScaleAbs(image[2:, 3:], alpha=0.6)
            cv2.imwrite(str(tmp_path / "benchmark" / f"{i}.png"), darker)
    options = {"val": 1, "select": False, "workers": 1}
    given = f"folder={tmp_path / 'photos'}"
    report = gloam.build(tmp_path / "set", given, exclude=tmp_path / "benchmark", **options)
    assert sum(report.info.units.values()) == 4
    assert [own["of a scene to keep out"] for own in report.reasons.values()] == [2]
    table = pq.read_table(tmp_path / "set" / "candidates.parquet")
    assert sum(detail.endswith("bits apart") for detail in table["detail"].to_pylist()) == 2
    recorded = report.info.build.request.not_like
    assert len(recorded) == 1
    assert str(tmp_path) not in recorded[0]
    moved = (tmp_path / "benchmark").rename(tmp_path / "elsewhere")
    with pytest.warns(GloamWarning, match="not_like is called exclude now"):
        again = gloam.build(tmp_path / "set", given, not_like=[moved], **options)
    assert not again.made
    with pytest.raises(SetError, match="not_like"):
        gloam.build(tmp_path / "set", given, **options)
    rebuilt = gloam.rebuild(tmp_path / "set", tmp_path / "rebuilt", [given])
    assert rebuilt.info == report.info
    (moved / "broken.png").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"--exclude: .*broken\.png"):
        gloam.build(tmp_path / "other", given, exclude=moved, **options)
