"""A placeholder network for Triton's Python backend: it returns its input.

Put one's own model here, of ONNX or TensorRT say: config.pbtxt has its input and output.
"""

from __future__ import annotations

from typing import Any

import triton_python_backend_utils as pb_utils  # type: ignore[import-not-found]


class TritonPythonModel:
    """The model that the backend makes and calls."""

    def execute(self, requests: list[Any]) -> list[Any]:
        """Give back each request's tensor."""
        return [_given_back(request) for request in requests]


def _given_back(request: Any) -> Any:
    given = pb_utils.get_input_tensor_by_name(request, "INPUT").to_dlpack()
    return pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("OUTPUT", given)])
