"""Finds of fuzzing, and what it began with, end as a pair or as a refusal."""

from __future__ import annotations

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from .targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_corpus(path):
    assert isinstance(TARGETS[path.parent.name](path.read_bytes()), str)


def test_thousands_of_scans_are_refused_before_they_are_decoded():
    assert TARGETS["image"]((CORPUS / "image" / "120-scans.jpg").read_bytes()) == "damaged"


def test_tars_nested_too_deep_are_refused():
    data = b""
    for _ in range(400):
        buffer = BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            header = tarfile.TarInfo("a.tar")
            header.size = len(data)
            archive.addfile(header, BytesIO(data))
        data = buffer.getvalue()[
            : 512 + -(-len(data) // 512) * 512 + 1024
        ]  # without the padding of a whole record
    assert "not a readable tar" in TARGETS["archive"](data)
