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
Files = dict[str, str | bytes]
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
    form: dict[str, Any] = {"size": size, "value_range": value_range, "layout": layout}
    try:
        options = Options(batch_size=max_batch, dtype=dtype, device=device, workers=threads, **form)
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
    files = _repository_files(options, live_recipe, seed, ensemble)
    root = root.resolve()  # it may be the user's own link to an empty folder
    root.parent.mkdir(parents=True, exist_ok=True)
    made = temporary_beside(root)
    made.mkdir()
    try:
        for name, content in files.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        (made / ENSEMBLE / "1").mkdir()
        if root.is_dir():
            root.rmdir()
        made.rename(root)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return list(dict.fromkeys(name.partition("/")[0] for name in files))


def _repository_files(
    options: Options, live_recipe: Recipe | str | None, seed: int, ensemble: Backend
) -> Files:
    """Return the contents of the repository's files, by their paths in it."""
    models: dict[str, tuple[str, str, Files]]  # what runs each, why it is there, its own files
    if live_recipe is None:
        inputs, outputs = [ENCODED], [image_tensor("TENSOR", options)]
        begins = PYTHON if ensemble == "python" else PREPROCESS
        pipeline = serialize_pipeline(options)
        models = {
            PREPROCESS: ("dali", _DALI, {"model.dali": pipeline, "dali.py": source(options)}),
            PYTHON: ("preprocess", _BY_PYTHON, {"model.dali": pipeline}),
        }
    else:
        from ...synth.recipes.load import load_recipe, recipe_yaml  # later than help is there

        inputs, outputs = [ENCODED, KEY], [image_tensor(one, options) for one in ("LOW", "NORMAL")]
        said = canonical_json({"options": options.model_dump(mode="json"), "seed": seed})
        own: Files = {"made.json": said, "recipe.yaml": recipe_yaml(load_recipe(live_recipe))}
        begins, models = DARKEN, {DARKEN: ("darken", _LOWS, own)}
    files: Files = {}
    for name, (program, why, held) in models.items():
        backend = "dali" if program == "dali" else "python"
        config = model_config(name, backend, options, inputs, outputs, why=why)
        files |= _model_files(name, config, program, held)
    on_cpu = options.model_copy(update={"device": "cpu"})
    through = [outputs[0]._replace(name="INPUT")], [outputs[0]._replace(name="OUTPUT")]
    config = model_config(NETWORK, "python", on_cpu, *through, why=_PLACE)
    files |= _model_files(NETWORK, config, "network", {})
    return files | {f"{ENSEMBLE}/config.pbtxt": ensemble_config(options, begins, outputs)}


def _model_files(name: str, config: str, program: str, own: Files) -> Files:
    """Return a model's files: its configuration, its own ones, and the program of Python's."""
    if program != "dali":
        own = own | {"model.py": (_MODELS / f"{program}.py").read_bytes()}
    return {f"{name}/config.pbtxt": config} | {f"{name}/1/{file}": own[file] for file in own}


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
        f"{_tensor_list('input', inputs)}{_tensor_list('output', outputs)}"
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
        _ensemble_step(first, inputs, made, {given.name: "made"}, ","),
        _ensemble_step(NETWORK, [given._replace(name="INPUT")], outputs[:1], {"INPUT": "made"}),
    ]
    return (
        f"# Encoded images to a network's output: {first}, then {NETWORK}.\n"
        f'name: "{ENSEMBLE}"\n'
        'platform: "ensemble"\n'
        f"max_batch_size: {options.batch_size}\n"
        f"{_tensor_list('input', inputs)}{_tensor_list('output', outputs)}"
        f"ensemble_scheduling {{\n  step [\n{''.join(steps)}  ]\n}}\n"
    )


def _ensemble_step(
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


def _tensor_list(way: str, tensors: Sequence[Tensor]) -> str:
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
