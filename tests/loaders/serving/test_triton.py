"""Model repositories: a real server answers with the loaders' tensors."""

from __future__ import annotations

import importlib.util
import os
import shutil
import site
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gloam
from gloam.errors import ConfigError, SetError
from gloam.loaders.serving.triton import export_triton

PACKAGES = Path(np.__file__).parents[1]
SERVER = PACKAGES / "pytriton" / "tritonserver"
COUNT = 20


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def client() -> ModuleType:
    pytest.importorskip("tritonclient.http")
    return module_of(Path(__file__).parents[3] / "examples" / "triton_client.py")


@contextmanager
def served(repository: Path, models: list[str], folder: Path) -> Iterator[str]:
    """The server of the nvidia-pytriton wheel, which has the Python backend alone."""
    if not SERVER.is_dir():
        pytest.skip("the wheel nvidia-pytriton is not installed")
    backends = folder / "backends" / "python"
    shutil.copytree(SERVER / "backends" / "python", backends)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = "triton_python_backend_stub"
    shutil.copy(SERVER / "python_backend_stubs" / version / stub, backends / stub)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = [str(PACKAGES), *site.getsitepackages(), str(Path(gloam.__file__).parents[1])]
    libraries = str(PACKAGES / "nvidia_pytriton.libs")
    region = f"--backend-config=python,shm-region-prefix-name=gloam{port}"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # whose Python the stub is
    log = folder / "server.log"
    output = log.open("wb")
    process = subprocess.Popen(
        [
            *(str(SERVER / "bin" / "tritonserver"), "--model-repository", str(repository)),
            *("--backend-directory", str(backends.parent), "--allow-grpc=false", region),
            *("--http-address=127.0.0.1", f"--http-port={port}", "--allow-metrics=false"),
            "--exit-timeout-secs=1",
            *("--model-control-mode=explicit", *(f"--load-model={name}" for name in models)),
        ],
        env={
            **os.environ,
            "PATH": path,
            "PYTHONPATH": ":".join(paths),
            "LD_LIBRARY_PATH": libraries,
        },
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    try:
        while process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", port)):
                    break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError(log.read_text(errors="replace")[-3000:])
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        output.close()


@pytest.fixture(scope="module")
def made(photographs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("triton") / "set"
    gloam.build(root, f"folder={photographs}", layout="files", select=False, val=COUNT, seed=3)
    return root


def normals(root: Path) -> tuple[list[str], list[bytes]]:
    pairs = list(gloam.open_set(root).pairs("val"))
    return [pair.key for pair in pairs], [pair.normal.data for pair in pairs]


def loaded(root: Path, keys: list[str], **options: Any) -> tuple[Any, Any]:
    """Return what PairLoader gives for these keys: lows, normals."""
    loader = gloam.PairLoader(
        root, "val", batch_size=COUNT, shuffle=False, device="cpu", keys=True, **options
    )
    low, normal, given = next(iter(loader))
    order = [given.index(key) for key in keys]
    return low.numpy()[order], normal.numpy()[order]


@pytest.mark.parametrize(
    ("size", "options"),
    [
        (64, {}),
        ((48, 80), {"dtype": "uint8", "layout": "HWC"}),
        (32, {"dtype": "float16", "value_range": (-1, 1)}),
    ],
)
def test_pipelines_give_the_loaders_tensors(made, tmp_path, size, options):
    from nvidia.dali import Pipeline

    root = tmp_path / "models"
    export_triton(root, size, max_batch=COUNT, **options)
    keys, images = normals(made)
    batch = client().filled(images)
    _, wanted = loaded(made, keys, size=size, **options)
    folder = root / "gloam_preprocess" / "1"
    text = (folder / "dali.py").read_text()
    names: dict[str, Any] = {}
    exec(text.replace("@autoserialize\n", ""), names)
    read = Pipeline.deserialize((folder / "model.dali").read_bytes(), batch_size=COUNT)
    for pipeline in (read, names["preprocess"](device_id=None)):
        pipeline.build()
        pipeline.feed_input("IMAGE", list(batch))
        found = np.array(pipeline.run()[0].as_tensor())
        assert found.dtype == wanted.dtype
        assert (found == wanted).all()


@pytest.mark.slow
def test_a_server_gives_the_loaders_tensors_and_lows(made, tmp_path):
    ask = client().ask
    keys, images = normals(made)
    repository = tmp_path / "models"
    export_triton(repository, 64, max_batch=COUNT)
    export_triton(tmp_path / "live", 64, max_batch=COUNT, live_recipe="even", seed=3)
    shutil.copytree(tmp_path / "live" / "gloam_darken", repository / "gloam_darken")
    names = ["gloam_ensemble", "gloam_preprocess_python", "gloam_darken"]
    with served(repository, names, tmp_path) as url:
        _, wanted = loaded(made, keys, size=64)
        assert (ask(url, "gloam_ensemble", images)["OUTPUT"] == wanted).all()
        assert (ask(url, "gloam_preprocess_python", images[:3])["TENSOR"] == wanted[:3]).all()
        with pytest.raises(Exception, match="IMAGE cannot be decoded"):
            ask(url, "gloam_ensemble", [images[0], b"no photograph at all"])
        assert (ask(url, "gloam_ensemble", images)["OUTPUT"] == wanted).all()

        live = {"live": True, "recipe": "even", "draws": "set"}
        low, normal = loaded(made, keys, size=64, **live)
        found = ask(url, "gloam_darken", images, keys=keys)
        assert (found["LOW"] == low).all()
        assert (found["NORMAL"] == normal).all()
        alone = ask(url, "gloam_darken", images[:2])["LOW"]
        assert (alone == ask(url, "gloam_darken", images)["LOW"][:2]).all()
        with pytest.raises(Exception, match="IMAGE 1 of the request: not an image"):
            ask(url, "gloam_darken", [images[0], b"no photograph at all"])


@pytest.mark.parametrize("options", [{}, {"device": "gpu"}, {"live_recipe": "even"}])
def test_configurations_are_read_strictly(tmp_path, options):
    found = importlib.util.find_spec("tritonclient")
    if found is None or not found.submodule_search_locations:
        pytest.skip("tritonclient is not installed")
    text_format = pytest.importorskip("google.protobuf.text_format")
    here = Path(found.submodule_search_locations[0])
    messages = module_of(here / "grpc" / "model_config_pb2.py")  # beside gRPC, without it
    names = export_triton(tmp_path / "models", (48, 80), max_batch=7, **options)
    for name in names:
        text = (tmp_path / "models" / name / "config.pbtxt").read_text()
        config = text_format.Parse(text, messages.ModelConfig())
        assert config.name == name
        assert config.max_batch_size == 7
        gpu = options.get("device") == "gpu" and name.startswith("gloam_preprocess")
        if config.instance_group:
            assert (config.instance_group[0].kind == messages.ModelInstanceGroup.KIND_GPU) == gpu
        for step in config.ensemble_scheduling.step:
            assert (tmp_path / "models" / step.model_name / "config.pbtxt").is_file()
    assert str(tmp_path) not in "".join(
        path.read_bytes().decode("latin-1")
        for path in (tmp_path / "models").rglob("*")
        if path.is_file()
    )


def test_wrong_use_is_told(tmp_path):
    with pytest.raises(ConfigError, match="size"):
        export_triton(tmp_path / "a", 0)
    with pytest.raises(ConfigError, match="at most 16384"):
        export_triton(tmp_path / "a", 20_000)
    with pytest.raises(ConfigError, match="uint8 holds 0 to 255"):
        export_triton(tmp_path / "a", 64, dtype="uint8", value_range=(-1, 1))
    with pytest.raises(ConfigError, match="the Python backend on the CPU"):
        export_triton(tmp_path / "a", 64, live_recipe="even", device="gpu")
    with pytest.raises(ConfigError, match="recipe nothing"):
        export_triton(tmp_path / "a", 64, live_recipe="nothing")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(SetError, match="not empty"):
        export_triton(tmp_path / "full", 64)
    assert {path.name for path in tmp_path.iterdir()} == {"full"}
