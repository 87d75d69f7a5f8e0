"""Making lows a batch at a time, on a CPU or a GPU: the same bytes on both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from ..errors import ConfigError
from ..manifests.sets.sample import LOW, NORMAL, Sample
from .decode import decode_image
from .draws.record import CameraDraw
from .draws.table import table_of_records
from .kernels.arrays import Pixels
from .models import Draw, LowMaker, parse_draw, render

Device = Literal["cpu", "cuda", "auto"]
DEVICES = ("cpu", "cuda", "auto")
NEEDS = "it needs an NVIDIA GPU with its driver, and: pip install 'gloam[gpu]'"


class Renderer(Protocol):
    """Makes lows: normals and draws in, lows out."""

    def render(self, normals: Sequence[Pixels], draws: Sequence[Draw]) -> list[Pixels]:
        """Make the lows of a batch of images of any sizes, in order.

        normals: sequence of uint8 arrays (H, W, 3). draws: one for each.
        """


class CpuRenderer:
    """One image after the other, on one core."""

    def render(self, normals: Sequence[Pixels], draws: Sequence[Draw]) -> list[Pixels]:
        """Make the lows of a batch; see `Renderer`."""
        maker = LowMaker(draws)
        return [
            maker.low(number, normal)
            for number, (normal, _) in enumerate(zip(normals, draws, strict=True))
        ]


class CudaRenderer:
    """All images at once, on the current CUDA device.

    Draws of the power_law model are made on the CPU.

    Raises ConfigError when there is no GPU, or numba-cuda is not installed.
    """

    def __init__(self) -> None:
        try:
            from .render.on_cuda import CameraOnCuda, is_available
        except ImportError as error:
            raise ConfigError(f"device cuda: {error}; {NEEDS}", key="device") from error
        if not is_available():
            raise ConfigError(f"device cuda: no GPU found; {NEEDS}", key="device", value="cuda")
        self._camera = CameraOnCuda()

    def render(self, normals: Sequence[Pixels], draws: Sequence[Draw]) -> list[Pixels]:
        """Make the lows of a batch; see `Renderer`."""
        cameras = {i: drawn for i, drawn in enumerate(draws) if isinstance(drawn, CameraDraw)}
        made = []
        if cameras:
            table = table_of_records(list(cameras.values()))
            made = self._camera.render([normals[i] for i in cameras], table)
        lows = dict(zip(cameras, made, strict=True))
        return [
            lows[i] if i in lows else render(normal, drawn)
            for i, (normal, drawn) in enumerate(zip(normals, draws, strict=True))
        ]


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


def renderer_on(device: Device) -> Renderer:
    """Return a renderer on a device; "auto" is a GPU where there is one.

    Raises ConfigError when there is no such device.

    Examples
    --------
    >>> import numpy as np
    >>> from gloam.synth.models import draw
    >>> from gloam.synth.recipes.load import load_recipe
    >>> normals = [np.full((48, 64, 3), 160, np.uint8)] * 2
    >>> draws = [draw(load_recipe("even"), 0, key) for key in ("a", "b")]
    >>> lows = renderer_on("cpu").render(normals, draws)
    >>> len(lows), lows[0].shape
    (2, (48, 64, 3))
    """
    if device not in DEVICES:
        raise ConfigError(
            f"device {device!r}: must be one of {', '.join(DEVICES)}",
            key="device",
            value=device,
            allowed=DEVICES,
        )
    if device == "cpu":
        return CpuRenderer()
    try:
        return CudaRenderer()
    except ConfigError:
        if device == "cuda":
            raise
        return CpuRenderer()
