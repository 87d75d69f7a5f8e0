"""The configurations of Triton's models, as text of its protobuf messages.

Triton Inference Server's model_config.proto, of its core's `protobuf` repository, says what they
may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..options import Options

PREPROCESS, PYTHON, DARKEN = "gloam_preprocess", "gloam_preprocess_python", "gloam_darken"
NETWORK, ENSEMBLE = "network", "gloam_ensemble"
_TYPES = {"float32": "TYPE_FP32", "float16": "TYPE_FP16", "uint8": "TYPE_UINT8"}


class Tensor(NamedTuple):
    """An input or output: its name, type and sides without the batch's."""

    name: str
    kind: str
    dims: Sequence[int]
    optional: bool = False


def image_tensor(name: str, options: Options) -> Tensor:
    """Return an output that holds images in form."""
    assert options.size is not None
    height, width = options.size
    dims = (height, width, 3) if options.layout == "HWC" else (3, height, width)
    return Tensor(name, _TYPES[options.dtype], dims)


ENCODED = Tensor("IMAGE", "TYPE_UINT8", (-1,))
"""Encoded images, filled up with zeros to one length."""
KEY = Tensor("KEY", "TYPE_UINT8", (-1,), optional=True)
"""Their keys as UTF-8, likewise; strings break where a backend was built for another NumPy."""


def model_config(
    name: str,
    backend: str,
    options: Options,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    *,
    why: str,
) -> str:
    """Return the configuration of a model of one backend.

    options: those of batches and of the device.
    why: a line that stands above it.
    """
    kind = "KIND_GPU" if options.device == "gpu" else "KIND_CPU"
    return (
        f"# {why}\n"
        f'name: "{name}"\n'
        f'backend: "{backend}"\n'
        f"max_batch_size: {options.batch_size}\n"
        f"{_tensors('input', inputs)}{_tensors('output', outputs)}"
        "# Requests of equal shapes are answered together.\n"
        "dynamic_batching {}\n"
        f"instance_group [ {{ count: 1 kind: {kind} }} ]\n"
    )


def ensemble_config(options: Options, first: str, made: Sequence[Tensor]) -> str:
    """Return the configuration of the ensemble: a model of gloam, then the network.

    first: the model that makes tensors.
    made: its outputs; the first of them goes to the network.
    """
    inputs = [ENCODED]  # keys are for whoever asks gloam_darken itself
    given, *others = made
    outputs = [given._replace(name="OUTPUT"), *others]
    steps = [
        _step(first, inputs, made, {given.name: "made"}, ","),
        _step(NETWORK, [given._replace(name="INPUT")], outputs[:1], {"INPUT": "made"}),
    ]
    return (
        f"# Encoded images to a network's output: {first}, then {NETWORK}.\n"
        f'name: "{ENSEMBLE}"\n'
        'platform: "ensemble"\n'
        f"max_batch_size: {options.batch_size}\n"
        f"{_tensors('input', inputs)}{_tensors('output', outputs)}"
        f"ensemble_scheduling {{\n  step [\n{''.join(steps)}  ]\n}}\n"
    )


def _step(
    model: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    between: dict[str, str],
    end: str = "",
) -> str:
    """Return a step of an ensemble; tensors have its names but for those in between."""
    maps = "".join(
        f'      {way}_map {{ key: "{name}" value: "{between.get(name, name)}" }}\n'
        for way, tensors in (("input", inputs), ("output", outputs))
        for name in (tensor.name for tensor in tensors)
    )
    return f'    {{\n      model_name: "{model}"\n      model_version: -1\n{maps}    }}{end}\n'


def _tensors(way: str, tensors: Sequence[Tensor]) -> str:
    lines = [
        f'  {{ name: "{tensor.name}" data_type: {tensor.kind}'
        f" dims: [ {', '.join(map(str, tensor.dims))} ]{' optional: true' * tensor.optional} }}"
        for tensor in tensors
    ]
    return f"{way} [\n" + ",\n".join(lines) + "\n]\n"
