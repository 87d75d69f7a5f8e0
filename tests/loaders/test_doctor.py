"""`gloam.doctor` looks at the machine as it is, and says how to get what is missing."""

from __future__ import annotations

import resource
import sys
from importlib import metadata

import numpy as np
import pytest

import gloam
from gloam.loaders.doctor import _LEAST_FILES


def found(subject: str):
    return {one.subject: one for one in gloam.doctor().findings}[subject]


@pytest.mark.filterwarnings("ignore")  # of libraries that are imported
def test_it_names_versions_and_makes_known_lows():
    diagnosis = gloam.doctor()
    findings = {one.subject: one for one in diagnosis.findings}
    assert np.__version__ in findings["numpy"].found
    assert findings["lows of the CPU"].state == "ok"
    assert findings["kernels"].state == "ok"
    if sys.platform == "linux":
        assert metadata.version("nvidia-dali-cuda120") in findings["DALI"].found
    assert all(one.remedy for one in diagnosis.findings if one.state == "missing")
    assert diagnosis.healthy == all(one.state != "wrong" for one in diagnosis.findings)
    assert len(diagnosis.lines()) == len(diagnosis.as_json()["findings"]) == len(findings)


@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_comes_with_its_remedy(monkeypatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_LEAST_FILES - 1, hard))
    monkeypatch.setitem(sys.modules, "av", None)  # as where it is not installed
    try:
        assert found("open files").state == "wrong"
        assert found("open files").remedy == f"ulimit -n {hard}"
        assert not gloam.doctor().healthy
        assert "pip install 'gloam[video]'" in found("av").remedy
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
