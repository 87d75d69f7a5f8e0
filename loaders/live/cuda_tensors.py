"""Darkening CUDA tensors of torch where they lie, on torch's current stream.

Needs numba-cuda.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...errors import LoaderError
from ...synth.camera.columns import draw_packed
from ...synth.camera.pack import Packed
from ...synth.camera.recipe import CameraRecipe
from ...synth.models import draw, render
from ...synth.recipes.load import Recipe

_cameras: dict[tuple[int, int], Any] = {}


def darken_tensors(images: Any, recipe: Recipe, seed: int, keys: Sequence[str]) -> Any:
    """Make the lows of a batch of CUDA tensors; see `darkening.darken_batch`.

    A recipe of the power_law model is rendered on the CPU.

    Raises
    ------
    ValueError
        When an image is not a contiguous uint8 tensor (H, W, 3).
    LoaderError
        When numba-cuda is not installed.
    """
    for image in images:
        if image.dtype != torch.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(
                f"image must be a uint8 tensor (H, W, 3), not {image.dtype} {tuple(image.shape)}"
            )
    whole = isinstance(images, torch.Tensor)
    held = [image.contiguous() for image in images]
    if not isinstance(recipe, CameraRecipe):
        lows = [
            torch.from_numpy(render(image.cpu().numpy(), draw(recipe, seed, key))).to(image.device)
            for image, key in zip(held, keys, strict=True)
        ]
        return torch.stack(lows) if whole else lows
    made: Any = (
        torch.empty(images.shape, dtype=torch.uint8, device=images.device) if whole else None
    )
    lows = list(made) if whole else [torch.empty_like(image) for image in held]
    with torch.cuda.device(held[0].device):
        render_tensors(draw_packed(recipe, seed, keys), held, lows)
    return made if whole else lows


def render_tensors(packed: Packed, normals: Sequence[Any], lows: Sequence[Any]) -> None:
    """Fill images with the lows of others, without waiting for them.

    Parameters
    ----------
    packed : Packed
        Their draws.
    normals, lows : sequences of uint8 CUDA tensors (H, W, 3)
        Contiguous, of torch or DALI, on torch's current device and stream.
    """
    camera, images = _camera_on_stream()
    sizes = [(int(height), int(width)) for height, width, _ in map(_shape, normals)]
    places = [
        images.at_addresses([image.data_ptr() for image in tensors], sizes)
        for tensors in (normals, lows)
    ]
    camera.prepare(packed, sizes, *places).launch()


def _shape(image: Any) -> Any:
    """Return the shape of a tensor: an attribute of torch's, a method of DALI's."""
    return image.shape() if callable(image.shape) else image.shape


def _camera_on_stream() -> tuple[Any, Any]:
    """Return the camera model on torch's current device and stream, and what places images.

    Raises
    ------
    LoaderError
        When numba-cuda is not installed.
    """
    try:
        from ...synth.camera.render_cuda import CameraOnCuda, Images
    except ImportError as error:
        raise LoaderError(
            "darkening on a GPU needs numba-cuda: pip install 'gloam[gpu]'"
        ) from error
    place = torch.cuda.current_device(), torch.cuda.current_stream().cuda_stream
    if place not in _cameras:
        _cameras[place] = CameraOnCuda(place[1], place[0])
    return _cameras[place], Images
