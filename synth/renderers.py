"""Making lows a batch at a time, on a CPU or a GPU: the same bytes on both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from ..errors import ConfigError
from ..manifests.sets.sample import LOW, NORMAL, Sample
from .draws.record import CameraDraw
from .draws.table import table_of_records
from .input_images import decode_image
from .kernels.arrays import Pixels
from .models import Draw, LowMaker, parse_draw, render

Device = Literal["cpu", "cuda", "auto"]


def render_batch(
    normals: Sequence[Pixels], draws: Sequence[Draw], device: Device = "cpu"
) -> list[Pixels]:
    """Make the lows of a batch of images of any sizes, in order.

    On a CPU they are made one after the other, on one core; on a GPU (the current CUDA device)
    those of the camera model all at once, others on the CPU.

    normals: sequence of uint8 arrays (H, W, 3). draws: one for each. device: "auto" is a GPU where
    there is one.

    Raises ConfigError when there is no such device, or numba-cuda is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from gloam.synth.models import draw
    >>> from gloam.synth.recipes.load import load_recipe
    >>> normals = [np.full((48, 64, 3), 160, np.uint8)] * 2
    >>> draws = [draw(load_recipe("even"), 0, key) for key in ("a", "b")]
    >>> lows = render_batch(normals, draws)
    >>> len(lows), lows[0].shape
    (2, (48, 64, 3))
    """
    camera = None if device == "cpu" else _camera_on_cuda(device)
    there = {i: one for i, one in enumerate(draws) if camera and isinstance(one, CameraDraw)}
    lows = {}
    if camera and there:
        made = camera.render([normals[i] for i in there], table_of_records([*there.values()]))
        lows = dict(zip(there, made, strict=True))
    maker = LowMaker([None if i in lows else drawn for i, drawn in enumerate(draws)])
    numbered = enumerate(zip(normals, draws, strict=True))
    return [lows[i] if i in lows else maker.low(i, normal) for i, (normal, _) in numbered]


def _camera_on_cuda(device: Device) -> Any:
    """Return the camera model on a GPU; None where there is none and "auto" is asked for."""
    known = get_args(Device)
    if device not in known:
        raise ConfigError(
            f"device {device!r}: must be one of {', '.join(known)}",
            key="device",
            value=device,
            allowed=known,
        )
    try:
        from .render.on_cuda import CameraOnCuda, is_available

        if is_available():
            return CameraOnCuda()
        missing = "no GPU found"
    except ImportError as error:
        missing = str(error)
    if device == "auto":
        return None
    raise ConfigError(
        f"device cuda: {missing}; it needs an NVIDIA GPU with its driver, and: pip install"
        " 'gloam[gpu]'",
        key="device",
        value="cuda",
    )


def pixels_of(sample: Sample) -> tuple[Pixels, Pixels]:
    """Return the low and the normal of a sample, uint8 RGB (H, W, 3).

    The low of a live set, which holds none, is made of the stored draw. Of a clip they are those of
    its first frame.

    Raises ImageRefused when an image is damaged or not there; ValueError when the draw is.
    """
    clip = f"{NORMAL}.000" in sample.members
    low, normal = (f"{LOW}.000", f"{NORMAL}.000") if clip else (LOW, NORMAL)
    pixels = sample.decoded(normal, decode_image)
    if low in sample.members:
        return sample.decoded(low, decode_image), pixels
    return render(pixels, parse_draw(sample.record["draw"])), pixels
