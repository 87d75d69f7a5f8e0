"""A model repository of Triton Inference Server that preprocesses as gloam's loaders do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ...errors import ConfigError, SetError
from ...storage.atomic import canonical_json, temporary_beside
from ...storage.stores import in_store
from ...synth.recipes.load import Recipe, load_recipe, recipe_yaml
from ..options import Options
from . import configs
from .configs import DARKEN, ENCODED, ENSEMBLE, KEY, NETWORK, PREPROCESS, PYTHON

Backend = Literal["python", "dali"]
BACKENDS: tuple[Backend, ...] = ("python", "dali")
_MODELS = Path(__file__).parent / "models"
_LARGEST = 16384
_DALI = "What gloam's loaders do to an image, by DALI's backend: model.dali, or dali.py."
_BY_PYTHON = "The same by the Python backend, where there is no backend of DALI."
_LOWS = "Lows and normals of photographs, by gloam in the Python backend."
_PLACE = "A place for a network: it gives back what it is given."


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
    recipe = None if live_recipe is None else load_recipe(live_recipe)
    root = root.resolve()  # it may be the user's own link to an empty folder
    root.parent.mkdir(parents=True, exist_ok=True)
    made = temporary_beside(root)
    made.mkdir()
    try:
        models = _preprocessing(made, options) if recipe is None else []
        if recipe is not None:
            models = _darkening(made, options, recipe, seed)
        begins = DARKEN if recipe is not None else (PYTHON if ensemble == "python" else PREPROCESS)
        outputs = _outputs(options, recipe is not None)
        _write_network(made, options, outputs[0])
        text = configs.ensemble_config(options, begins, outputs)
        _write(made / ENSEMBLE / "config.pbtxt", text)
        (made / ENSEMBLE / "1").mkdir()
        if root.is_dir():
            root.rmdir()
        made.rename(root)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return [*models, NETWORK, ENSEMBLE]


def _outputs(options: Options, lows: bool) -> list[configs.Tensor]:
    names = ("LOW", "NORMAL") if lows else ("TENSOR",)
    return [configs.image_tensor(name, options) for name in names]


def _preprocessing(root: Path, options: Options) -> list[str]:
    """Write the model of DALI's backend, and that of the Python backend."""
    from .pipeline import serialize_pipeline, source

    pipeline, outputs = serialize_pipeline(options), _outputs(options, lows=False)
    for name, backend, why in ((PREPROCESS, "dali", _DALI), (PYTHON, "python", _BY_PYTHON)):
        text = configs.model_config(name, backend, options, [ENCODED], outputs, why=why)
        _write(root / name / "config.pbtxt", text)
        _write(root / name / "1" / "model.dali", pipeline)
    _write(root / PREPROCESS / "1" / "dali.py", source(options))
    _copy("preprocess", root / PYTHON)
    return [PREPROCESS, PYTHON]


def _darkening(root: Path, options: Options, recipe: Recipe, seed: int) -> list[str]:
    """Write the model that makes lows."""
    outputs = _outputs(options, lows=True)
    text = configs.model_config(DARKEN, "python", options, [ENCODED, KEY], outputs, why=_LOWS)
    _write(root / DARKEN / "config.pbtxt", text)
    made: dict[str, Any] = {"options": options.model_dump(mode="json"), "seed": seed}
    _write(root / DARKEN / "1" / "made.json", canonical_json(made))
    _write(root / DARKEN / "1" / "recipe.yaml", recipe_yaml(recipe))
    _copy("darken", root / DARKEN)
    return [DARKEN]


def _write_network(root: Path, options: Options, given: configs.Tensor) -> None:
    """Write what stands in the place of a network."""
    on_cpu = options.model_copy(update={"device": "cpu"})
    tensors = [given._replace(name="INPUT")], [given._replace(name="OUTPUT")]
    text = configs.model_config(NETWORK, "python", on_cpu, *tensors, why=_PLACE)
    _write(root / NETWORK / "config.pbtxt", text)
    _copy("network", root / NETWORK)


def _copy(name: str, folder: Path) -> None:
    (folder / "1").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_MODELS / f"{name}.py", folder / "1" / "model.py")


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
