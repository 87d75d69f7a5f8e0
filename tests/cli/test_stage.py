"""`gloam export` and `gloam stage`: the pairs elsewhere."""

from __future__ import annotations

from .running import error_line, run


def test_export_and_stage(finished, tmp_path):
    assert run("export", finished, tmp_path / "files", "--workers", 1).exit_code == 0
    assert len(list((tmp_path / "files" / "train" / "low").iterdir())) == 20
    result = run("stage", finished, tmp_path / "staged")
    assert result.exit_code == 0
    assert run("verify", tmp_path / "staged").exit_code == 0
    assert "0 were there" not in run("stage", finished, tmp_path / "staged").output
    assert "another set" in error_line("stage", tmp_path / "files", tmp_path / "staged")
