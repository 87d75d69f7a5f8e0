"""Making lows a batch at a time, on a CPU or a GPU: the same bytes on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from ..errors import ConfigError
from ..manifests.sets.sample import LOW, NORMAL, Sample
from .draws.record import CameraDraw
from .draws.table import DrawTable, table_of_records
from .kernels.arrays import Pixels
from .models import Draw, LowMaker, parse_draw, render

Device = Literal["cpu", "cuda", "auto"]
Firsts = Sequence[int] | None
"""Numbers of images in a batch, by which others are lit; by default each by itself."""
DEVICES = ("cpu", "cuda", "auto")
NEEDS = "it needs an NVIDIA GPU with its driver, and: pip install 'gloam[gpu]'"


class Renderer(Protocol):
    """Makes lows: normals and draws in, lows out."""

    def render(
        self, normals: Sequence[Pixels], draws: Sequence[Draw], firsts: Firsts = None
    ) -> list[Pixels]:
        """Make the lows of a batch of images of any sizes, in order.

        Parameters
        ----------
        normals : sequence of uint8 arrays (H, W, 3)
        draws : sequence of Draw
            As many.
        firsts : sequence of int, optional
            Of frames of clips: the number in the batch of the first frame of each one's clip.
        """


class CpuRenderer:
    """One image after the other, on one core."""

    def render(
        self, normals: Sequence[Pixels], draws: Sequence[Draw], firsts: Firsts = None
    ) -> list[Pixels]:
        """Make the lows of a batch; see `Renderer`."""
        lit_as = range(len(normals)) if firsts is None else firsts
        maker = LowMaker(draws)
        return [
            maker.low(number, normal, lit_as=normals[first])
            for number, (normal, first) in enumerate(zip(normals, lit_as, strict=True))
        ]


class CudaRenderer:
    """All images at once, on the current CUDA device.

    Draws of the power_law model are made on the CPU.

    Raises
    ------
    ConfigError
        When there is no GPU, or numba-cuda is not installed.
    """

    def __init__(self) -> None:
        try:
            from .render.on_cuda import CameraOnCuda, is_available
        except ImportError as error:
            raise ConfigError(f"device cuda: {error}; {NEEDS}", key="device") from error
        if not is_available():
            raise ConfigError(f"device cuda: there is none; {NEEDS}", key="device", value="cuda")
        self._camera = CameraOnCuda()

    def render(
        self, normals: Sequence[Pixels], draws: Sequence[Draw], firsts: Firsts = None
    ) -> list[Pixels]:
        """Make the lows of a batch; see `Renderer`."""
        return render_by_model(normals, draws, self._camera.render, firsts)


def render_by_model(
    normals: Sequence[Pixels],
    draws: Sequence[Draw],
    by_camera: Callable[[list[Pixels], DrawTable, Firsts], list[Pixels]],
    firsts: Firsts = None,
) -> list[Pixels]:
    """Make the lows of a batch: those of the camera model by a function, others on this core.

    Parameters
    ----------
    normals, draws, firsts
        As of `Renderer.render`; the frames of a clip have draws of one model.
    by_camera : function of normals, their draw table and firsts
        Returns their lows.
    """
    chosen = [i for i, drawn in enumerate(draws) if isinstance(drawn, CameraDraw)]
    cameras = [drawn for drawn in draws if isinstance(drawn, CameraDraw)]
    place = {number: i for i, number in enumerate(chosen)}
    own = None if firsts is None else [place[firsts[i]] for i in chosen]
    made = []
    if chosen:
        made = by_camera([normals[i] for i in chosen], table_of_records(cameras), own)
    lows = dict(zip(chosen, made, strict=True))
    return [
        lows[i]
        if i in lows
        else render(normal, drawn, lit_as=None if firsts is None else normals[firsts[i]])
        for i, (normal, drawn) in enumerate(zip(normals, draws, strict=True))
    ]


def check_device(device: str) -> None:
    """Refuse what is the name of no device.

    Raises
    ------
    ConfigError
        With those that there are.
    """
    if device not in DEVICES:
        raise ConfigError(
            f"device {device!r}: must be one of {', '.join(DEVICES)}",
            key="device",
            value=device,
            allowed=DEVICES,
        )


def pixels_of(sample: Sample) -> tuple[Pixels, Pixels]:
    """Return the low and the normal of a sample, uint8 RGB (H, W, 3).

    The low of a live set, which holds none, is made of the stored draw. Of a clip they are those of
    its first frame.

    Raises
    ------
    ImageRefused
        When an image is damaged or not there.
    ValueError
        When the draw is.
    """
    clip = f"{NORMAL}.000" in sample.members
    low, normal = (f"{LOW}.000", f"{NORMAL}.000") if clip else (LOW, NORMAL)
    pixels = sample.decoded(normal)
    if low in sample.members:
        return sample.decoded(low), pixels
    return render(pixels, parse_draw(sample.record["draw"])), pixels


def renderer_on(device: Device) -> Renderer:
    """Return a renderer on a device; "auto" is a GPU where there is one.

    Raises
    ------
    ConfigError
        When there is no such device.

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
    check_device(device)
    if device == "cpu":
        return CpuRenderer()
    try:
        return CudaRenderer()
    except ConfigError:
        if device == "cuda":
            raise
        return CpuRenderer()
