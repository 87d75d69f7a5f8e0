"""A model repository of Triton Inference Server that preprocesses as gloam's loaders do."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import ValidationError

from ...errors import ConfigError, SetError
from ...storage.atomic import canonical_json, temporary_beside
from ...storage.stores import in_store
from ..options import Options

if TYPE_CHECKING:
    from ...synth.recipes.load import Recipe

Backend = Literal["python", "dali"]
BACKENDS: tuple[Backend, ...] = ("python", "dali")
_MODELS = Path(__file__).parent / "models"
_LARGEST = 16384
_DALI = "What gloam's loaders do to an image, by DALI's backend: model.dali, or dali.py."
_BY_PYTHON = "The same by the Python backend, where there is no backend of DALI."
_LOWS = "Lows and normals of photographs, by gloam in the Python backend."
_PLACE = "A place for a network: it gives back what it is given."
PREPROCESS, PYTHON, DARKEN = "gloam_preprocess", "gloam_preprocess_python", "gloam_darken"
NETWORK, ENSEMBLE = "network", "gloam_ensemble"
_TYPES = {"float32": "TYPE_FP32", "float16": "TYPE_FP16", "uint8": "TYPE_UINT8"}
INPUT = "IMAGE"
_SERIALISED = "@autoserialize\n"


def export_triton(
    root: Path,
    size: int | tuple[int, int],
    *,
    device: Literal["cpu", "gpu"] = "cpu",
    dtype: Literal["float32", "float16", "uint8"] = "float32",
    value_range: tuple[float, float] = (0, 1),
    layout: Literal["CHW", "HWC"] = "CHW",
    max_batch: int = 64,
    threads: int = 4,
    ensemble: Backend = "python",
    live_recipe: Recipe | str | None = None,
    seed: int = 0,
) -> list[str]:
    """Write a model repository; returns its models.

    root: a folder that is not there yet, or is empty.
    size: int or (height, width); images are resized to it.
    device: device that the server decodes and resizes on.
    dtype, value_range, layout: see `PairLoader`.
    max_batch: images of a request, at most.
    threads: threads that decode on the CPU.
    ensemble: which of the models the ensemble begins with.
    live_recipe: make lows by this recipe; DALI's backend cannot.
    seed: random seed of the lows.

    Raises ConfigError when an option is wrong; SetError when the folder holds something.
    """
    try:
        options = Options(
            batch_size=max_batch,
            size=size,  # type: ignore[arg-type]
            dtype=dtype,
            value_range=value_range,
            layout=layout,
            device=device,
            workers=threads,
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"export-triton: {where} {first['msg']}".replace("  ", " ")) from error
    if live_recipe is not None and (device == "gpu" or ensemble == "dali"):
        raise ConfigError(
            "export-triton: lows are made by the Python backend on the CPU; leave device gpu and"
            " the ensemble of dali out"
        )
    assert options.size is not None
    if max(options.size) > _LARGEST:
        raise ConfigError(f"export-triton: size {size}: must be at most {_LARGEST}")
    if dtype == "uint8" and value_range[0] < 0:
        raise ConfigError("export-triton: uint8 holds 0 to 255; leave the signed range out")
    if in_store(root):
        raise ConfigError(f"export-triton {root}: write it to a folder, then copy it to the store")
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise SetError.at(root, "exists and is not empty; choose another folder")
    recipe = None
    if live_recipe is not None:
        from ...synth.recipes.load import load_recipe  # later than help is there

        recipe = load_recipe(live_recipe)
    root = root.resolve()  # it may be the user's own link to an empty folder
    root.parent.mkdir(parents=True, exist_ok=True)
    made = temporary_beside(root)
    made.mkdir()
    try:
        if recipe is None:
            models = _preprocessing(made, options)
            begins = PYTHON if ensemble == "python" else PREPROCESS
        else:
            models, begins = _darkening(made, options, recipe, seed), DARKEN
        outputs = _outputs(options, recipe is not None)
        _write_network(made, options, outputs[0])
        text = ensemble_config(options, begins, outputs)
        _write(made / ENSEMBLE / "config.pbtxt", text)
        (made / ENSEMBLE / "1").mkdir()
        if root.is_dir():
            root.rmdir()
        made.rename(root)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return [*models, NETWORK, ENSEMBLE]


def _outputs(options: Options, lows: bool) -> list[Tensor]:
    names = ("LOW", "NORMAL") if lows else ("TENSOR",)
    return [image_tensor(name, options) for name in names]


def _preprocessing(root: Path, options: Options) -> list[str]:
    """Write the model of DALI's backend, and that of the Python backend."""
    pipeline, outputs = serialize_pipeline(options), _outputs(options, lows=False)
    for name, backend, why in ((PREPROCESS, "dali", _DALI), (PYTHON, "python", _BY_PYTHON)):
        text = model_config(name, backend, options, [ENCODED], outputs, why=why)
        _write(root / name / "config.pbtxt", text)
        _write(root / name / "1" / "model.dali", pipeline)
    _write(root / PREPROCESS / "1" / "dali.py", source(options))
    _copy("preprocess", root / PYTHON)
    return [PREPROCESS, PYTHON]


def _darkening(root: Path, options: Options, recipe: Recipe, seed: int) -> list[str]:
    """Write the model that makes lows."""
    from ...synth.recipes.load import recipe_yaml

    outputs = _outputs(options, lows=True)
    text = model_config(DARKEN, "python", options, [ENCODED, KEY], outputs, why=_LOWS)
    _write(root / DARKEN / "config.pbtxt", text)
    made: dict[str, Any] = {"options": options.model_dump(mode="json"), "seed": seed}
    _write(root / DARKEN / "1" / "made.json", canonical_json(made))
    _write(root / DARKEN / "1" / "recipe.yaml", recipe_yaml(recipe))
    _copy("darken", root / DARKEN)
    return [DARKEN]


def _write_network(root: Path, options: Options, given: Tensor) -> None:
    """Write what stands in the place of a network."""
    on_cpu = options.model_copy(update={"device": "cpu"})
    tensors = [given._replace(name="INPUT")], [given._replace(name="OUTPUT")]
    text = model_config(NETWORK, "python", on_cpu, *tensors, why=_PLACE)
    _write(root / NETWORK / "config.pbtxt", text)
    _copy("network", root / NETWORK)


def _copy(name: str, folder: Path) -> None:
    (folder / "1").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_MODELS / f"{name}.py", folder / "1" / "model.py")


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


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


def serialize_pipeline(options: Options) -> bytes:
    """Return the pipeline of `source` as DALI's backend of Triton reads it.

    It names no GPU, so that it is made without one: whoever reads it says which it runs on.
    """
    text = source(options).replace(_SERIALISED, "")
    names: dict[str, Any] = {}
    exec(compile(text, "dali.py", "exec"), names)
    made: bytes = names["preprocess"](device_id=None).serialize()
    return made


def source(options: Options) -> str:
    """Return the pipeline as a Python file, which DALI's backend reads too."""
    from nvidia import dali

    mean, std = options.mean_and_std
    kind = {"float32": "FLOAT", "float16": "FLOAT16", "uint8": "UINT8"}[options.dtype]
    gpu = options.device == "gpu"
    more = (
        f",\n        hw_decoder_load={options.hw_decoder_load},\n        jpeg_fancy_upsampling=True"
        if gpu
        else ""
    )
    return f'''"""What gloam's loaders do to an image.

model.dali beside it is this, serialised by DALI {dali.__version__}; where a server's
DALI is older than that, delete model.dali: its backend then reads this file.
"""

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.triton import autoserialize


@autoserialize
@pipeline_def(batch_size={options.batch_size}, num_threads={options.workers}, \
device_id={0 if gpu else None})
def preprocess():
    encoded = fn.external_source(name="{INPUT}", device="cpu", dtype=types.UINT8, ndim=1)
    image = fn.decoders.image(
        encoded,
        device="{"mixed" if gpu else "cpu"}",
        output_type=types.RGB{more},
    )
    image = fn.resize(image, size={list(options.size or ())}, antialias=True)
    return fn.crop_mirror_normalize(
        image, dtype=types.{kind}, output_layout="{options.layout}", mean=[{mean}], std=[{std}]
    )
'''
