"""Darkening CUDA tensors of torch where they lie, on torch's current stream.

Needs numba-cuda.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ...errors import LoaderError
from ...synth.models import draw_table, low_maker, model_of
from ...synth.recipes.load import Recipe
from ..options import Options

if TYPE_CHECKING:
    from ...synth.render.on_cuda import CameraOnCuda

Whole = npt.NDArray[np.integer[Any]]
_cameras: dict[tuple[int, int, int], CameraOnCuda] = {}


class DeviceImages(NamedTuple):
    """Normals of a batch in a GPU's memory, on torch's current stream.

    places: array (N); of their draws, among all that are loaded.
    sizes: array (N, 2); height, width.
    at: array (N); their addresses.
    """

    places: Whole
    sizes: Whole
    at: Whole


def darken_tensors(images: Any, recipe: Recipe, seed: int, keys: Sequence[str]) -> Any:
    """Make the lows of a batch of CUDA tensors; see `darkening.darken_batch`.

    A recipe of the power_law model is rendered on the CPU.

    Raises ValueError when an image is not a uint8 tensor (H, W, 3); LoaderError when numba-cuda is
    not installed.
    """
    whole = isinstance(images, torch.Tensor)
    for image in images[:1] if whole else images:
        if image.dtype != torch.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(
                f"image must be a uint8 tensor (H, W, 3), not {image.dtype} {tuple(image.shape)}"
            )
    if model_of(recipe) != "camera":
        maker = low_maker(recipe, seed, keys)
        lows = [
            torch.from_numpy(maker.low(i, image.cpu().numpy())).to(image.device)
            for i, image in enumerate(images)
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
        camera.load(draw_table(recipe, seed, keys))
        camera.launch(sizes, *places)
    return made


def addresses(tensors: Sequence[Any]) -> npt.NDArray[np.uint64]:
    """Return where tensors of torch or DALI lie."""
    return np.array([tensor.data_ptr() for tensor in tensors], np.uint64)


def new_camera() -> CameraOnCuda:
    """Make the camera model on torch's current device and stream, for one thread.

    Raises LoaderError when numba-cuda is not installed.
    """
    try:
        from ...synth.render.on_cuda import CameraOnCuda
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


def transformed_pairs(
    camera: CameraOnCuda,
    normals: DeviceImages,
    crops: Whole,
    options: Options,
    firsts: Whole | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make lows and normals as a model trains on them; of lows no more than their windows.

    They have the samples of `HostRenderer`.

    camera: renderer with draws loaded, on torch's current stream.
    crops: array (N, 7); see `augment.crops_of`.
    options: those of the loader, with a size.
    firsts: array (N); of frames of clips: addresses of the normals of the clips' first frames.

    Returns two tensors (N, 3, H, W) or (N, H, W, 3): low and normal.
    """
    from ...synth.render.on_cuda import OutputSpec

    assert options.size is not None
    count, (rows, columns) = len(crops), options.size
    resizes = bool((crops[:, 2:4] != options.size).any())
    last, floats = options.layout == "HWC", options.dtype != "uint8"
    shape = (2, count, rows, columns, 3) if last else (2, count, 3, rows, columns)
    made = torch.empty(shape, dtype=torch.float32 if floats else torch.uint8, device="cuda")
    samples = 3 * crops[:, 2:4].astype(np.uint64).prod(axis=1)
    ends = np.cumsum(samples)
    lows = torch.empty(int(ends[-1]), dtype=torch.uint8, device="cuda")
    steps = np.arange(count, dtype=np.uint64) * np.uint64(3 * rows * columns)
    low, normal = (np.uint64(t.data_ptr()) + steps * np.uint64(t.element_size()) for t in made)
    camera.launch(
        normals.sizes,
        normals.at,
        np.uint64(lows.data_ptr()) + ends - samples,
        firsts=firsts,
        numbers=normals.places,
        windows=crops,
        formed=OutputSpec(
            low,
            normal,
            floats,
            *options.levels_to_values,
            channels_last=last,
            size=options.size if resizes else None,
        ),
    )
    return (made[0].half(), made[1].half()) if options.dtype == "float16" else (made[0], made[1])


def transformed_maps(
    camera: CameraOnCuda, normals: DeviceImages, crops: Whole, options: Options
) -> dict[str, torch.Tensor]:
    """Make maps of a batch, transformed as its pixels are; see `extras.batch_maps`.

    camera, normals, crops: as of `transformed_pairs`.
    """
    from ...synth.render.maps import MAPS, MapSpec

    room, size = options.size, options.size
    if room is None:
        turned = crops[:, 6:] > 0
        room = tuple(np.where(turned, crops[:, 3:1:-1], crops[:, 2:4]).max(axis=0).tolist())
    spec = MapSpec(options.maps, room, size, *options.levels_to_values)
    into = camera.maps(normals.sizes, normals.at, spec, normals.places, crops)
    shape = len(crops), len(spec.kinds), *room
    planes = torch.as_tensor(into, device="cuda")[: math.prod(shape)].view(shape)
    made, parts = {}, planes.split([len(MAPS[name]) for name in options.maps], 1)
    for name, one in zip(options.maps, parts, strict=True):
        one = one.permute(0, 2, 3, 1) if options.layout == "HWC" else one
        kind = torch.float16 if options.dtype == "float16" else torch.float32
        made[name] = one.to(kind, copy=True, memory_format=torch.contiguous_format)
    return made
