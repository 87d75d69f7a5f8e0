"""Lows and normals of photographs, for Triton's Python backend: gloam darkens.

Needs gloam, and no GPU. IMAGE (N, bytes): encoded photographs, filled up with zeros to one length;
KEY (N, bytes), optional: their keys, UTF-8, likewise; by default the SHA-256 of their bytes. LOW
and NORMAL, (N, 3, H, W) or (N, H, W, 3). The same photograph, key and seed give the same low.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found]

from gloam.errors import GloamError
from gloam.loaders.darkening import transform_photograph
from gloam.loaders.options import Options
from gloam.synth.recipes.load import load_recipe

_TAKEN = b"used_dltensor"


class TritonPythonModel:
    """The model that the backend makes and calls."""

    def initialize(self, args: dict[str, Any]) -> None:
        """Read the recipe and the options from this file's folder."""
        folder = Path(args["model_repository"]) / args["model_version"]
        made = json.loads((folder / "made.json").read_text("utf-8"))
        self._options = Options(**made["options"])
        self._seed = int(made["seed"])
        self._recipe = load_recipe(str(folder / "recipe.yaml"))

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer each request; one whose images cannot be decoded gets a line that says so."""
        return [self._answered(request) for request in requests]

    def _answered(self, request: Any) -> Any:
        images = np.from_dlpack(pb_utils.get_input_tensor_by_name(request, "IMAGE"))
        named = pb_utils.get_input_tensor_by_name(request, "KEY")
        keys = (
            []
            if named is None
            else [_bytes(key).decode("utf-8", "replace") for key in np.from_dlpack(named)]
        )
        pairs = []
        try:
            for number, image in enumerate(images):
                data = _bytes(image)
                key = keys[number] if keys else hashlib.sha256(data).hexdigest()
                pairs.append(
                    transform_photograph(data, self._recipe, self._seed, key, self._options)
                )
        except GloamError as error:
            text = f"IMAGE {number} of the request: {error}"
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(text))
        lows, normals = (np.stack(members) for members in zip(*pairs, strict=True))
        tensors = [_tensor("LOW", lows), _tensor("NORMAL", normals)]
        return pb_utils.InferenceResponse(tensors)


def _bytes(filled: Any) -> bytes:
    """Return what zeros were put behind."""
    whole: bytes = filled.tobytes()
    return whole.rstrip(b"\0")


def _tensor(name: str, array: Any) -> Any:
    """Return what the backend answers with: the array's memory.

    NumPy looks for another name of a capsule that was taken than the backend gives it.
    """
    capsule = np.ascontiguousarray(array).__dlpack__()
    made = pb_utils.Tensor.from_dlpack(name, capsule)
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), _TAKEN)
    return made
