"""`gloam doctor` prints a line for each finding, and exits by them."""

from __future__ import annotations

import json

import pytest

from .running import run


@pytest.mark.filterwarnings("ignore")  # of libraries that are imported
def test_doctor_prints_what_it_found():
    result = run("doctor", "--json")
    findings = json.loads(result.stdout)
    assert result.exit_code == (0 if findings["healthy"] else 1)
    table = run("doctor").stdout
    for finding in findings["findings"]:
        assert finding["subject"] in table
