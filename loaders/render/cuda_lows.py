"""Lows and maps that a GPU makes of images in its memory, on torch's current stream.

Their draws are made ahead: a GPU darkens more images in a second than are drawn by the way.
Needs numba-cuda.
"""

from __future__ import annotations

import math
import multiprocessing
import threading
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ...engines.process import begin_child, main_left_alone, may_have_children, prepare_workers
from ...errors import LoaderError
from ...synth.draws.table import DrawTable, concat, frame_table
from ...synth.models import draw_table, low_maker, model_of
from ...synth.recipes.load import Recipe
from ..lows import LiveLows
from ..options import Options
from ..prefetch import BegunAhead

if TYPE_CHECKING:
    from ...synth.render.on_cuda import CameraOnCuda

Whole = npt.NDArray[np.integer[Any]]
_CHUNK = 2048  # pairs that are drawn at once
_MANY = _CHUNK  # pairs of an epoch, beyond which processes draw
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

    They have the samples of `CpuRenderer`.

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


class CudaLows:
    """Lows that a GPU makes, on the stream of the thread that asks first.

    live: lows of a recipe of the camera model.
    keys: those of all pairs that may come.
    """

    def __init__(self, live: LiveLows, options: Options, keys: Sequence[str]) -> None:
        self._options = options
        self.draws = EpochDraws(live, keys, options.workers)
        self._camera: Any = None
        self._loaded: Any = None

    def whole(self, normals: DeviceImages, epoch: int, lows: Sequence[Any]) -> None:
        """Fill whole lows."""
        at = normals.at, addresses(lows)
        self._with_draws(epoch).launch(normals.sizes, *at, numbers=normals.places)

    def pairs(
        self, normals: DeviceImages, epoch: int, crops: Whole, frames: int = 1
    ) -> tuple[Any, Any]:
        """Make lows and normals of a size; see `transformed_pairs`.

        frames: of each sample, which has one draw, and the light of its first frame.
        """
        if frames == 1:
            return transformed_pairs(self._with_draws(epoch), normals, crops, self._options)
        camera = self._own_camera()
        camera.load(frame_table(self.draws.table(epoch).take(normals.places), frames))
        self._loaded = None
        firsts = np.repeat(normals.at[::frames], frames)
        each = normals._replace(places=np.arange(len(normals.at)))
        return transformed_pairs(camera, each, crops, self._options, firsts)

    def maps(
        self, normals: DeviceImages, epoch: int, crops: Whole, options: Options
    ) -> dict[str, torch.Tensor]:
        """Make maps of pairs, transformed as their pixels are; see `extras.batch_maps`."""
        from ...synth.render.maps import MAPS, MapSpec

        room, size = options.size, options.size
        if room is None:
            turned = crops[:, 6:] > 0
            room = tuple(np.where(turned, crops[:, 3:1:-1], crops[:, 2:4]).max(axis=0).tolist())
        spec = MapSpec(options.maps, room, size, *options.levels_to_values)
        into = self._with_draws(epoch).maps(normals.sizes, normals.at, spec, normals.places, crops)
        shape = len(crops), len(spec.kinds), *room
        planes = torch.as_tensor(into, device="cuda")[: math.prod(shape)].view(shape)
        made, parts = {}, planes.split([len(MAPS[name]) for name in options.maps], 1)
        for name, one in zip(options.maps, parts, strict=True):
            one = one.permute(0, 2, 3, 1) if options.layout == "HWC" else one
            kind = torch.float16 if options.dtype == "float16" else torch.float32
            made[name] = one.to(kind, copy=True, memory_format=torch.contiguous_format)
        return made

    def close(self) -> None:
        """End the threads that draw."""
        self.draws.close()

    def _with_draws(self, epoch: int) -> Any:
        """Return the camera, with an epoch's draws loaded."""
        camera, table = self._own_camera(), self.draws.table(epoch)
        if table is not self._loaded:
            camera.load(table)
            self._loaded = table
        return camera

    def _own_camera(self) -> Any:
        if self._camera is None:
            self._camera = new_camera()
        return self._camera


class EpochDraws:
    """The draws of some pairs, epoch by epoch.

    keys: those of all pairs that may be asked for.
    live: lows of a recipe of the camera model.
    workers: threads that draw the first epoch, and processes that draw the next ones of many pairs:
      they leave the interpreter to whoever trains.
    """

    def __init__(self, live: LiveLows, keys: Sequence[str], workers: int) -> None:
        self._live, self._keys = live, keys
        self._workers = max(workers, 1)
        self._pool: Executor = ThreadPoolExecutor(self._workers)
        self._same: DrawTable | None = None
        self._thread = ThreadPoolExecutor(1)
        # An epoch's draws are made while the one before is gone through.
        self._epochs = BegunAhead(lambda epoch: self._thread.submit(self._draw_epoch, epoch), 1)

    def table(self, epoch: int) -> DrawTable:
        """Return the draws of an epoch; the same object where epochs do not differ."""
        return self._epochs.of(epoch).result()

    def close(self) -> None:
        """End threads and processes."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        # A child of multiprocessing waits for its own ones, which are told to end by a thread.
        waits = isinstance(self._pool, ProcessPoolExecutor)
        self._pool.shutdown(wait=waits, cancel_futures=True)

    def _draw_epoch(self, epoch: int) -> DrawTable:
        if self._same is not None:
            return self._same
        recipe, seed = self._live.recipe, self._live.seed_of(epoch)
        with main_left_alone():
            parts = [
                self._pool.submit(draw_table, recipe, seed, self._keys[i : i + _CHUNK])
                for i in range(0, len(self._keys), _CHUNK)
            ]
        whole = concat([part.result() for part in parts])
        many = len(self._keys) > _MANY and may_have_children()
        if self._live.draws == "set":
            self._same = whole
        elif many and isinstance(self._pool, ThreadPoolExecutor):
            self._pool.shutdown(wait=False)
            context = multiprocessing.get_context(prepare_workers([__name__], self._workers))
            self._pool = ProcessPoolExecutor(self._workers, context, begin_child)
        return whole
