"""A check of this machine: versions, GPU, decoders, kernels, limits, and known lows."""

from __future__ import annotations

import importlib
import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ..engines.process import available_cores
from ..synth.kernels.compiling.cache_folders import are_compiled, places
from ..synth.render.self_test import cpu_fault, gpu_fault

_SHARED_MEMORY = Path("/dev/shm")
_LEAST_SHARED = 1 << 30  # bytes: a few batches of a DataLoader's workers
_LEAST_FILES = 1024  # a descriptor for each shard, worker and shared tensor
_OPTIONAL = {
    "torch": ("torch", "TorchLoader, tensors", "pip install 'gloam[torch]'"),
    "pillow-heif": ("pillow_heif", "HEIC photographs", "pip install 'gloam[heif]'"),
    "av": ("av", "video files", "pip install 'gloam[video]'"),
    "rawpy": ("rawpy", "gloam calibrate", "pip install 'gloam[raw]'"),
    "scikit-learn": ("sklearn", "gloam realism", "pip install 'gloam[realism]'"),
    "lpips": ("lpips", "LPIPS of gloam judge", "pip install 'gloam[judge]'"),
    "matplotlib": ("matplotlib", "figures", "pip install 'gloam[figures]'"),
    "obstore": ("obstore", "sets in object stores", "pip install 'gloam[cloud]'"),
    "ray": ("ray", "builds on a cluster", "pip install 'gloam[ray]'"),
    "lmdb": ("lmdb", "gloam export --for basicsr-lmdb", "pip install 'gloam[lmdb]'"),
}
_DECODERS = {
    "simplejpeg": "simplejpeg",
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "tifffile": "tifffile",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    subject: such as "DALI".
    state: "ok", "missing" (something optional is not there) or "wrong" (gloam cannot work as it
      should).
    found: version, size or fault, in words.
    remedy: how to get what is missing, or to mend what is wrong; "" where nothing is to be done.
    """

    subject: str
    state: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The findings of `doctor`."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """True if nothing is wrong; optional things may be missing."""
        return all(one.state != "wrong" for one in self.findings)

    def lines(self) -> list[str]:
        """Write a line for each finding."""
        return [
            f"{one.subject:23} {one.state:8} {one.found}"
            + (f"; {one.remedy}" if one.remedy else "")
            for one in self.findings
        ]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"healthy": self.healthy, "findings": [asdict(one) for one in self.findings]}


def doctor() -> Diagnosis:
    """Look at everything that gloam needs of this machine, and make known lows to compare bits.

    Kernels that were never compiled here are compiled, which takes a minute or so, and some 8
    seconds on a GPU.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import gloam
    >>> found = gloam.doctor()
    >>> [one.state for one in found.findings if one.subject == "lows of the CPU"]
    ['ok']
    """
    return Diagnosis(tuple(_findings()))


def _findings() -> Iterator[Finding]:
    yield Finding("gloam", "ok", f"{_version('gloam')}, Python {platform.python_version()}")
    yield Finding(
        "machine", "ok", f"{platform.system()} {platform.machine()}, {available_cores()} cores"
    )
    yield from _check_libraries()
    yield _check_dali()
    gpu = _find_gpu()
    yield gpu
    yield _chosen_backends(gpu)
    yield from _check_limits()
    yield _check_kernels()
    yield _check_lows("CPU", cpu_fault)
    if gpu.state == "ok":
        yield _check_lows("GPU", _lows_of_gpu)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _check_libraries() -> Iterator[Finding]:
    """Import each library, as one that is installed may still lack one of the system's."""
    for name in ("numpy", "numba", "llvmlite", "pyarrow", "pydantic", "webdataset"):
        yield _imported(name, name, "wrong", "", "pip install --force-reinstall gloam")
    for name, module in _DECODERS.items():
        yield _imported(name, module, "wrong", "decoder", "pip install --force-reinstall gloam")
    for name, (module, use, remedy) in _OPTIONAL.items():
        yield _imported(name, module, "missing", use, remedy)


def _imported(name: str, module: str, state: str, use: str, remedy: str) -> Finding:
    about = f" ({use})" if use else ""
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever a library raises while it is imported
        said = "not installed" if not _version(name) else str(error).splitlines()[0]
        return Finding(name, state, said + about, remedy)
    return Finding(name, "ok", _version(name) + about)


def _check_dali() -> Finding:
    """Have DALI decode an image on the CPU."""
    found = next(filter(_version, ("nvidia-dali-cuda120", "nvidia-dali-cuda130")), "")
    remedy = "pip install nvidia-dali-cuda120 (Linux); TorchLoader does without"
    if not found:
        return Finding("DALI", "missing", "not installed (PairLoader)", remedy)
    try:
        _decode_by_dali()
    except Exception as error:  # DALI raises RuntimeError, ImportError, and its own
        return Finding("DALI", "wrong", f"{_version(found)}: {str(error).splitlines()[0]}", remedy)
    return Finding("DALI", "ok", f"{_version(found)}, decodes JPEG")


def _decode_by_dali() -> None:
    import numpy as np
    import simplejpeg

    from .dali.pipelines import one_by_one
    from .options import Options

    data = simplejpeg.encode_jpeg(np.full((16, 16, 3), 128, np.uint8))
    (images,) = one_by_one([data], Options(batch_size=1)).run()
    if np.array(images[0]).shape != (16, 16, 3):
        raise RuntimeError("decodes a JPEG to another shape")


def _find_gpu() -> Finding:
    """Look for a GPU by the library that makes lows on it."""
    remedy = "an NVIDIA driver, and: pip install 'gloam[gpu]'"
    try:
        from ..synth.render import on_cuda

        if on_cuda.is_available():
            return Finding(
                "GPU", "ok", f"{on_cuda.gpu_name()}, numba-cuda {_version('numba-cuda')}"
            )
    except ImportError as error:
        return Finding("GPU", "missing", f"not usable: {error}", remedy)
    there = "nvidia-smi is there, CUDA is not" if shutil.which("nvidia-smi") else "none"
    return Finding("GPU", "missing", f"{there} (lows and decoding on a GPU)", remedy)


def _chosen_backends(gpu: Finding) -> Finding:
    """Say which backends loaders choose here by themselves."""
    from .backend import choose_backend

    device = {"device": "cuda" if gpu.state == "ok" else "cpu"}
    alone, mixed = (choose_backend(device, mixture) for mixture in (False, True))
    return Finding("loaders", "ok", f'backend="auto" is {alone}; of mixtures {mixed}')


def _lows_of_gpu() -> str:
    from ..synth.render.on_cuda import CameraOnCuda

    return gpu_fault(CameraOnCuda().render)


def _check_limits() -> Iterator[Finding]:
    if sys.platform == "linux":
        try:
            free = shutil.disk_usage(_SHARED_MEMORY).free
        except OSError:
            free = 0
        remedy = "docker run --shm-size=8g, or fewer workers"
        enough = free >= _LEAST_SHARED
        yield _checked(str(_SHARED_MEMORY), enough, f"{free / 1e9:.1f} GB free", remedy)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = soft == resource.RLIM_INFINITY or soft >= _LEAST_FILES
    remedy = f"ulimit -n {hard if hard > 0 else 65536}"
    yield _checked("open files", enough, f"{soft:,} allowed", remedy)


def _check_kernels() -> Finding:
    folder = places().writable
    state = "compiled" if are_compiled() else "not compiled yet"
    kept = "no folder to keep them" if folder is None else f"kept in {folder}"
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    remedy = f"NUMBA_CACHE_DIR names one; {cache} cannot be written"
    return _checked("kernels", folder is not None, f"{state}; {kept}", remedy)


def _check_lows(device: str, fault_of: Callable[[], str]) -> Finding:
    fault = fault_of()
    return _checked(f"lows of the {device}", not fault, fault or "known lows have the known bits")


def _checked(subject: str, fine: bool, found: str, remedy: str = "") -> Finding:
    return Finding(subject, "ok" if fine else "wrong", found, "" if fine else remedy)
