"""`gloam cameras`."""

from __future__ import annotations

from .running import error_line, run


def test_cameras_are_listed_with_their_isos(tmp_path):
    output = run("cameras").output
    assert [line.split()[0] for line in output.splitlines()][:2] == ["sony-a7s2", "imx686-phone"]
    assert "ISO 50 to 25600" in output
    (tmp_path / "mine.yaml").write_text(
        'cameras: {"mine\\e[2J\\n": {source: "\\a", black: 64, white: 4095,'
        " by_iso: [[100, 0.2, 1.5, 0.9, 0.05, 0.1]]}}"
    )
    last = run("cameras", "--file", tmp_path / "mine.yaml").output.splitlines()[-1]
    assert last.startswith(r"mine\x1b[2J\n")  # nothing that a terminal obeys
    assert "nothing.yaml: No such file" in error_line(
        "cameras", "--file", tmp_path / "nothing.yaml"
    )
