"""Darkening CUDA tensors of torch where they lie, on torch's current stream.

Needs numba-cuda.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from ...errors import LoaderError
from ...synth.camera.batch.draws import draw_packed
from ...synth.camera.recipe import CameraRecipe
from ...synth.models import draw, render
from ...synth.recipes.load import Recipe
from ..options import Options

if TYPE_CHECKING:
    from ...synth.camera.batch.on_cuda import CameraOnCuda

Whole = npt.NDArray[np.integer[Any]]
_cameras: dict[tuple[int, int, int], CameraOnCuda] = {}


def darken_tensors(images: Any, recipe: Recipe, seed: int, keys: Sequence[str]) -> Any:
    """Make the lows of a batch of CUDA tensors; see `darkening.darken_batch`.

    A recipe of the power_law model is rendered on the CPU.

    Raises
    ------
    ValueError
        When an image is not a uint8 tensor (H, W, 3).
    LoaderError
        When numba-cuda is not installed.
    """
    whole = isinstance(images, torch.Tensor)
    for image in images[:1] if whole else images:
        if image.dtype != torch.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(
                f"image must be a uint8 tensor (H, W, 3), not {image.dtype} {tuple(image.shape)}"
            )
    if not isinstance(recipe, CameraRecipe):
        lows = [
            torch.from_numpy(render(image.cpu().numpy(), draw(recipe, seed, key))).to(image.device)
            for image, key in zip(images, keys, strict=True)
        ]
        return torch.stack(lows) if whole else lows
    with torch.cuda.device(images[0].device):
        camera = _camera_on_stream()
        if whole:
            held: Any = images.contiguous()
            made: Any = torch.empty_like(held)
            steps = np.arange(len(held), dtype=np.uint64) * np.uint64(held[0].numel())
            sizes = np.tile(held.shape[1:3], (len(held), 1))
            places = [np.uint64(tensor.data_ptr()) + steps for tensor in (held, made)]
        else:
            held = [image.contiguous() for image in images]
            made = [torch.empty_like(image) for image in held]
            sizes = np.array([image.shape[:2] for image in held])
            places = [addresses(tensors) for tensors in (held, made)]
        camera.load(draw_packed(recipe, seed, keys))
        camera.launch(sizes, *places)
    return made


def addresses(tensors: Sequence[Any]) -> npt.NDArray[np.uint64]:
    """Return where tensors of torch or DALI lie."""
    return np.array([tensor.data_ptr() for tensor in tensors], np.uint64)


def new_camera() -> CameraOnCuda:
    """Make the camera model on torch's current device and stream, for one thread.

    Raises
    ------
    LoaderError
        When numba-cuda is not installed.
    """
    try:
        from ...synth.camera.batch.on_cuda import CameraOnCuda
    except ImportError as error:
        raise LoaderError(
            "darkening on a GPU needs numba-cuda: pip install 'gloam[gpu]'"
        ) from error
    return CameraOnCuda(torch.cuda.current_stream().cuda_stream, torch.cuda.current_device())


def _camera_on_stream() -> CameraOnCuda:
    """Return this thread's camera on torch's current device and stream."""
    place = (
        torch.cuda.current_device(),
        torch.cuda.current_stream().cuda_stream,
        threading.get_ident(),
    )
    if place not in _cameras:
        _cameras[place] = new_camera()
    return _cameras[place]


def formed_windows(
    camera: CameraOnCuda,
    sizes: Whole,
    normals: Whole,
    windows: Whole,
    options: Options,
    numbers: Whole,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make windows of lows and normals, as a model trains on them, and nothing beside them.

    Parameters
    ----------
    camera : CameraOnCuda
        With draws loaded, on torch's current stream.
    sizes : array (N, 2)
        Height, width of the normals.
    normals : array (N)
        Their addresses.
    windows : array (N, 7)
        `forms.Change`, all as large as `options.size`.
    options : Options
    numbers : array (N)
        Of their draws.

    Returns
    -------
    two tensors (N, 3, H, W) or (N, H, W, 3)
        Low and normal.
    """
    from ...synth.camera.batch.on_cuda import Formed

    assert options.size is not None
    count, (rows, columns) = len(sizes), options.size
    last, floats = options.layout == "HWC", options.dtype != "uint8"
    shape = (2, count, rows, columns, 3) if last else (2, count, 3, rows, columns)
    made = torch.empty(shape, dtype=torch.float32 if floats else torch.uint8, device="cuda")
    lows = torch.empty(3 * count * rows * columns, dtype=torch.uint8, device="cuda")
    steps = np.arange(count, dtype=np.uint64) * np.uint64(3 * rows * columns)
    low, normal = (
        np.uint64(one.data_ptr()) + steps * np.uint64(one.element_size()) for one in made
    )
    shift, scale = options.levels_to_values
    camera.launch(
        sizes,
        normals,
        np.uint64(lows.data_ptr()) + steps,
        numbers=numbers,
        windows=windows,
        formed=Formed(low, normal, floats, shift, scale, last),
    )
    return (made[0].half(), made[1].half()) if options.dtype == "float16" else (made[0], made[1])


def fits_windows(options: Options, sizes: Whole) -> bool:
    """Return whether pairs are formed by `formed_windows`: of random crops out of images (N, 2)."""
    return (
        options.size is not None
        and options.crop == "random"
        and bool((sizes >= np.array(options.size)).all())
    )
