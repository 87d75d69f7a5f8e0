"""Darkening inside other people's pipelines: as an augmentation, and of whole batches.

Needs no torch for NumPy arrays; a batch of CUDA tensors is darkened where it lies.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..manifests.images.decode import decode_as_rgb
from ..storage.untrusted import whole
from ..synth.input_images import image_of
from ..synth.kernels.arrays import Pixels, Window
from ..synth.kernels.resize import flip_normalize, resized
from ..synth.models import LowMaker, draw_many, low_maker
from ..synth.recipes.load import DEFAULT, Recipe, load_recipe
from ..synth.recipes.overrides import Overrides
from .options import Options
from .ranks import find_rank

_AHEAD = 64  # calls whose parameters are drawn at once, at a tenth of the time
Samples = npt.NDArray[Any]


class Darken:
    """Darken images, one after the other, in a data pipeline.

    An instance is a function of an image: a uint8 RGB array or tensor (H, W, 3) or (3, H, W), or a
    Pillow image; it returns the low in the same form. See `gloam.loaders.albumentations` and
    `gloam.loaders.torchvision` for those libraries' own kind of transform.

    Parameters
    ----------
    recipe : Recipe or str
        A shipped recipe's name, a YAML file, or a loaded recipe.
    seed : int
        Random seed of the lows.
    overrides : dict, str or iterable of str
        Single values of the recipe to change, such as `camera.iso=3200`.

    Raises
    ------
    gloam.errors.ConfigError
        When the recipe is unknown or wrong.

    Notes
    -----
    With a key, the low is `gloam.darken(image, recipe, seed=seed, key=key)`. Without one, each call
    has a key of its own: of the rank, of the DataLoader's worker and the seed that torch gives it
    for the epoch, and of a number that counts up. So no two workers, ranks or epochs share noise,
    and a program that seeds torch gets the same lows again.

    Examples
    --------
    >>> import numpy as np, gloam
    >>> darker = gloam.Darken("even", seed=1)
    >>> image = np.full((48, 64, 3), 160, np.uint8)
    >>> bool((darker(image) == darker(image)).all())
    False
    >>> same = gloam.darken(image, "even", seed=1, key="street-17")
    >>> bool((darker(image, key="street-17") == same).all())
    True
    """

    def __init__(
        self, recipe: Recipe | str = DEFAULT, *, seed: int = 0, overrides: Overrides = ()
    ) -> None:
        self.recipe = load_recipe(recipe, overrides)
        self.seed = whole("seed", seed)
        self._calls = 0
        # The next calls' numbers, and what makes their lows.
        self._ahead: tuple[dict[str, int], LowMaker | None] = {}, None

    def __repr__(self) -> str:
        return f"Darken({self.recipe.name!r}, seed={self.seed})"

    def __call__(self, image: Any, key: str | None = None) -> Any:
        """Darken an image.

        Parameters
        ----------
        image : uint8 array or tensor (H, W, 3) or (3, H, W), or Pillow image
        key : str, optional
            The image's name in its set.

        Raises
        ------
        ValueError
            When it is none of those.
        """
        given = image_of(image)
        key = self.next_key() if key is None else key
        numbers, maker = self._ahead
        if maker is None or key not in numbers:
            numbers, maker = {key: 0}, low_maker(self.recipe, self.seed, [key])
        return given.back(maker.low(numbers[key], given.pixels))

    def next_key(self) -> str:
        """Return a key that no other worker, rank, epoch or call has."""
        self._calls += 1
        mine = f"rank{find_rank().rank}-{_worker_name()}"
        key = f"{mine}-{self._calls}"
        if key not in self._ahead[0]:
            keys = [f"{mine}-{self._calls + i}" for i in range(_AHEAD)]
            self._ahead = (
                {k: i for i, k in enumerate(keys)},
                low_maker(self.recipe, self.seed, keys),
            )
        return key


def _worker_name() -> str:
    """Tell this process from others that may hold a copy of the same transform."""
    data = sys.modules.get("torch.utils.data")
    info = None if data is None else data.get_worker_info()
    if info is not None:
        return f"worker{info.seed}"  # the epoch's own, plus the worker's number
    return "main" + "".join(f"-{n}" for n in multiprocessing.current_process()._identity)


def darken_batch(
    images: Any,
    recipe: Recipe | str = DEFAULT,
    *,
    seed: int = 0,
    keys: Sequence[str] | None = None,
    overrides: Overrides = (),
    device: Literal["cpu", "cuda", "auto"] = "cpu",
) -> Any:
    """Make the lows of a batch of images.

    Parameters
    ----------
    images : sequence of images, or a uint8 array or tensor (N, H, W, 3) or (N, 3, H, W)
        Images as `darken` takes, of any sizes. CUDA tensors (H, W, 3) are darkened where they lie,
        without a copy, on torch's current stream; all of them lie on one GPU. Those of (3, H, W)
        go through the host.
    recipe : Recipe or str
    seed : int
        Random seed of the set.
    keys : sequence of str, optional
        The images' names in it; "0", "1", ... where they are not given.
    overrides : dict, str or iterable of str
        Single values of the recipe to change.
    device : str
        Device that darkens arrays in host memory: "cpu", "cuda", or "auto" for a GPU if there is
        one. The lows are the same.

    Returns
    -------
    list, array or tensor
        Like `images`: the samples of `gloam.darken(image, recipe, seed=seed, key=key)` for each.

    Raises
    ------
    gloam.errors.ConfigError
        When the recipe is wrong, or there is no such device.
    ValueError
        When an image is not of that type and shape, or there is another number of keys.

    Examples
    --------
    >>> import numpy as np, gloam
    >>> images = [np.full((48, 64, 3), 160, np.uint8), np.full((20, 30, 3), 200, np.uint8)]
    >>> lows = gloam.darken_batch(images, "even", seed=1, keys=["a", "b"])
    >>> bool((lows[1] == gloam.darken(images[1], "even", seed=1, key="b")).all())
    True
    """
    chosen = load_recipe(recipe, overrides)
    seed = whole("seed", seed)
    names = [str(i) for i in range(len(images))] if keys is None else list(keys)
    if len(names) != len(images):
        raise ValueError(f"{len(images)} images, {len(names)} keys: each image needs one")
    if not len(images):
        return images
    if getattr(images[0], "is_cuda", False) and all(image.shape[-1] == 3 for image in images):
        from .render.cuda_lows import darken_tensors

        return darken_tensors(images, chosen, seed, names)
    from ..synth.renderers import render_batch

    given = [image_of(image) for image in images]
    normals = [image.pixels for image in given]
    lows = render_batch(normals, draw_many(chosen, seed, names), device)
    made = [image.back(low) for image, low in zip(given, lows, strict=True)]
    if isinstance(images, np.ndarray):
        return np.stack(made)
    torch = sys.modules.get("torch")  # whoever gives a tensor has imported it
    return torch.stack(made) if torch and isinstance(images, torch.Tensor) else made


def transform_photograph(
    data: bytes, recipe: Recipe, seed: int, key: str, options: Options
) -> tuple[Samples, Samples]:
    """Decode a photograph, darken it, and transform both.

    data: an encoded image.
    options: with a size; whole images are resized to it.

    Returns two arrays (3, H, W) or (H, W, 3): low and normal. Raises ImageRefused when it cannot be
    decoded.
    """
    normal = decode_as_rgb(data)
    low = low_maker(recipe, seed, [key]).low(0, normal)
    return _transform_image(low, options), _transform_image(normal, options)


def _transform_image(image: Pixels, options: Options) -> Samples:
    """Transform an image: what `render.cpu_renderer.BatchTensors` does, without torch."""
    height, width = options.size or image.shape[:2]
    if image.shape[:2] != (height, width):
        image = resized(image, Window(0, 0, *image.shape[:2]), (height, width))
    last = options.layout == "HWC"
    kind = np.uint8 if options.dtype == "uint8" else np.float32
    made = np.empty((height, width, 3) if last else (3, height, width), kind)
    steps = (1, 3 * width, 3) if last else (height * width, width, 1)
    shift, scale = map(np.float32, options.levels_to_values)
    flip_normalize(np.ascontiguousarray(image), (0, 0, 0), shift, scale, steps, made.reshape(-1))
    return made.astype(np.float16) if options.dtype == "float16" else made
