"""Darkening CUDA tensors of torch where they lie, on torch's current stream.

Needs numba-cuda.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from ...errors import LoaderError
from ...synth.camera.columns import draw_packed
from ...synth.camera.pack import Packed
from ...synth.camera.recipe import CameraRecipe
from ...synth.models import draw, render
from ...synth.recipes.load import Recipe
from .lows import LiveLows

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
    render_tensors(draw_packed(recipe, seed, keys), held, lows)
    return made if whole else lows


def render_tensors(packed: Packed, normals: Any, lows: Any) -> None:
    """Fill contiguous CUDA tensors (H, W, 3) with the lows of others, without waiting for them."""
    camera, images = _camera_on_stream(normals[0].device)
    sizes = [(int(image.shape[0]), int(image.shape[1])) for image in normals]
    places = [
        images.at_addresses([image.data_ptr() for image in tensors], sizes)
        for tensors in (normals, lows)
    ]
    camera.prepare(packed, sizes, *places).launch()


def _camera_on_stream(device: torch.device) -> tuple[Any, Any]:
    """Return the camera model on torch's current stream of a device, and what places images.

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
    place = device.index or 0, torch.cuda.current_stream(device).cuda_stream
    if place not in _cameras:
        _cameras[place] = CameraOnCuda(place[1], place[0])
    return _cameras[place], Images


def darken_dali(
    normals: Any, live: LiveLows, keys: Sequence[str], sizes: Sequence[tuple[int, int]], epoch: int
) -> Any:
    """Make the lows of a batch of DALI's, a TensorListGPU of uint8 (H, W, 3).

    Parameters
    ----------
    normals : TensorListGPU
        On torch's current stream.
    live : LiveLows
    keys : sequence of str
        Of the pairs.
    sizes : sequence of (height, width)
    epoch : int

    Returns
    -------
    list of uint8 CUDA tensors (H, W, 3)
        On the same stream; kernels may still be at work.
    """
    device = torch.device("cuda", torch.cuda.current_device())
    ends = list(accumulate(3 * height * width for height, width in sizes))
    flat = torch.empty(ends[-1], dtype=torch.uint8, device=device)
    lows = [
        flat[end - 3 * height * width : end].view(height, width, 3)
        for end, (height, width) in zip(ends, sizes, strict=True)
    ]
    if not isinstance(live.recipe, CameraRecipe):
        arrays = normals.as_cpu()
        for i, (low, key) in enumerate(zip(lows, keys, strict=True)):
            made = live.low(np.ascontiguousarray(arrays.at(i)), key, epoch)
            low.copy_(torch.from_numpy(made))
        return lows
    packed = draw_packed(live.recipe, live.seed_of(epoch), keys)
    camera, images = _camera_on_stream(device)
    addresses = [normals[i].data_ptr() for i in range(len(sizes))]
    places = [low.data_ptr() for low in lows]
    normal_images, low_images = (images.at_addresses(one, sizes) for one in (addresses, places))
    camera.prepare(packed, sizes, normal_images, low_images).launch()
    return lows
