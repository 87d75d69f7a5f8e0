"""The transforms of gloam's loaders, for Triton's Python backend: DALI runs `model.dali`.

Needs nvidia-dali, not gloam. IMAGE (N, bytes): encoded images, filled up with zeros to one length;
TENSOR (N, 3, H, W) or (N, H, W, 3). Tensors pass by DLPack: `as_numpy` of backends that were built
for NumPy 1 gives wrong samples where NumPy is 2.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found]
from nvidia.dali import Pipeline

_TAKEN = b"used_dltensor"


class TritonPythonModel:
    """The model that the backend makes and calls."""

    def initialize(self, args: dict[str, Any]) -> None:
        """Read the pipeline from this file's folder."""
        config = json.loads(args["model_config"])
        self._most = max(int(config["max_batch_size"]), 1)
        on_gpu = args["model_instance_kind"] == "GPU"
        self._device = int(args["model_instance_device_id"]) if on_gpu else None
        folder = Path(args["model_repository"]) / args["model_version"]
        self._serialised = (folder / "model.dali").read_bytes()
        self._pipeline = self._build_pipeline()

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer each request; one whose images cannot be decoded gets DALI's words."""
        batches = [
            np.from_dlpack(pb_utils.get_input_tensor_by_name(request, "IMAGE"))
            for request in requests
        ]
        try:
            made = self._run([image for batch in batches for image in batch])
        except RuntimeError:
            self._pipeline = self._build_pipeline()  # one that failed cannot go on
            return [self._answer_alone(batch) for batch in batches]
        ends = np.cumsum([len(batch) for batch in batches])[:-1]
        return [_response(part) for part in np.split(made, ends)]

    def _answer_alone(self, batch: Any) -> Any:
        try:
            return _response(self._run(list(batch)))
        except RuntimeError as error:
            self._pipeline = self._build_pipeline()
            pb_utils.Logger.log_error(str(error))
            why = str(error).partition("encountered:")[2] or str(error)
            text = f"IMAGE cannot be decoded: {' '.join(why.split())}"
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(text))

    def _run(self, images: list[Any]) -> Any:
        made = []
        for first in range(0, len(images), self._most):
            self._pipeline.feed_input("IMAGE", images[first : first + self._most])
            (tensors,) = self._pipeline.run()
            made.append(np.array(tensors.as_cpu().as_tensor()))
        return np.concatenate(made)

    def _build_pipeline(self) -> Any:
        pipeline = Pipeline.deserialize(
            self._serialised, device_id=self._device, batch_size=self._most, prefetch_queue_depth=1
        )
        pipeline.build()
        return pipeline


def _response(array: Any) -> Any:
    return pb_utils.InferenceResponse([_tensor("TENSOR", array)])


def _tensor(name: str, array: Any) -> Any:
    """Return what the backend answers with: the array's memory.

    NumPy looks for another name of a capsule that was taken than the backend gives it.
    """
    capsule = np.ascontiguousarray(array).__dlpack__()
    made = pb_utils.Tensor.from_dlpack(name, capsule)
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), _TAKEN)
    return made
