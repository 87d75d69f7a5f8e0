"""Folders of compiled kernels: the first place that can be written; what is there already is read,
also from read-only places."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gloam
from gloam.errors import GloamWarning
from gloam.synth.kernels.compiling import cache_folders as kernel_places


@pytest.fixture
def places(monkeypatch, tmp_path):
    """The question asked anew, in a home of one's own, with `__pycache__` as given."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "GLOAM_SERVER"):
        monkeypatch.delenv(name, raising=False)

    def ask(beside: Path, temporary: Path | None = None):
        def folders():
            if os.environ.get("NUMBA_CACHE_DIR"):
                yield Path(os.environ["NUMBA_CACHE_DIR"])
            yield beside
            yield Path(os.environ["HOME"]) / ".cache" / "gloam"

        monkeypatch.setattr(kernel_places, "_folders", folders)
        monkeypatch.setattr(
            kernel_places.tempfile, "gettempdir", lambda: str(temporary or tmp_path / "temporary")
        )
        (temporary or tmp_path / "temporary").mkdir(exist_ok=True)
        kernel_places.places.cache_clear()
        try:
            return kernel_places.places()
        finally:
            kernel_places.places.cache_clear()

    return ask


def in_the_way(path: Path) -> Path:
    """A path below which nothing can be made, whoever asks (root may write into folders that are
    read-only)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("a file")
    return path


def name() -> str:
    return f"gloam-{kernel_places.sources_hash()[:16]}"


def test_the_first_place_that_can_be_written_is_taken(places, tmp_path, monkeypatch):
    assert places(tmp_path / "beside").writable == tmp_path / "beside" / name()
    assert (
        places(in_the_way(tmp_path / "file")).writable
        == tmp_path / "home" / ".cache" / "gloam" / name()
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "given"))
    assert places(tmp_path / "beside").writable == tmp_path / "given" / name()


def test_without_a_place_the_temporary_folder_serves_with_a_warning(places, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(in_the_way(tmp_path / "nobody")))
    with pytest.warns(GloamWarning, match="compiled kernels can be kept neither"):
        found = places(in_the_way(tmp_path / "file"))
    assert found.writable is not None
    assert found.writable.parent.parent == tmp_path / "temporary"
    assert found.writable.parent.stat().st_mode & 0o777 == 0o700


def test_a_temporary_folder_that_others_can_write_is_not_trusted(places, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(in_the_way(tmp_path / "nobody")))
    shared = tmp_path / "temporary" / f"gloam-kernels-{os.getuid()}"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.warns(GloamWarning):
        assert places(in_the_way(tmp_path / "file")).writable is None


def test_kernels_of_older_sources_beside_the_code_are_cleared(places, tmp_path):
    beside = tmp_path / "__pycache__"
    (beside / "gloam-0123456789abcdef").mkdir(parents=True)
    (beside / "other").mkdir()
    places(beside)
    assert sorted(path.name for path in beside.iterdir()) == [name(), "other"]


@pytest.mark.slow
def test_compiled_code_that_an_image_brings_is_read_where_nothing_can_be_written(tmp_path):
    """The whole command on a copy of the packages whose folders cannot be written: once compiled,
    nothing compiles again."""
    source = Path(gloam.__file__).parent
    copy = tmp_path / "site" / "gloam"
    for package in ("cli", "engines", "loaders", "manifests", "storage", "synth"):
        shutil.copytree(
            source / package, copy / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("__init__.py", "errors.py", "progress.py"):
        shutil.copy(source / file, copy)
    photo = tmp_path / "photo.png"
    Image.fromarray(np.full((32, 32, 3), 128, np.uint8)).save(photo)
    baked, nowhere = tmp_path / "baked", str(in_the_way(tmp_path / "nowhere"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(tmp_path),
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [
        sys.executable,
        "-c",
        "from gloam.cli.main import gloam; gloam()",
        "preview",
        str(photo),
    ]
    command += ["--recipe", "mbllen", "--out", str(tmp_path / "sheet.png")]

    def preview(**changes: str) -> str:
        environ = environment | changes
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environ,
            timeout=300,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stderr

    assert "compiling kernels" in preview(NUMBA_CACHE_DIR=str(baked))
    assert "compiling" not in preview(NUMBA_CACHE_DIR=str(baked))
    # Brought along beside the sources, where now nothing can be written, nor anywhere else:
    (copy / "synth" / "kernels" / "__pycache__").mkdir()
    shutil.copytree(baked / name(), copy / "synth" / "kernels" / "__pycache__" / name())
    before = sorted(path.name for path in (copy / "synth" / "kernels" / "__pycache__").rglob("*"))
    assert preview(HOME=nowhere, XDG_CACHE_HOME=nowhere) == ""
    assert (
        sorted(path.name for path in (copy / "synth" / "kernels" / "__pycache__").rglob("*"))
        == before
    )
