"""Darkening as a transform of albumentations: `pip install albumentations`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import albumentations
import numpy as np
import numpy.typing as npt

from ...synth.recipes.load import DEFAULT
from ..darkening import Darken as _Darken


class Darken(albumentations.ImageOnlyTransform):  # type: ignore[misc]
    """Make the low of an image, as one transform among others.

    recipe, seed, overrides: see `gloam.Darken`; each call has noise of its own, as that has without
    a key. p: the probability with which it is applied. Boxes, masks and keypoints stay as they are.
    """

    def __init__(
        self, recipe: str = DEFAULT, seed: int = 0, overrides: Iterable[str] = (), p: float = 1.0
    ) -> None:
        super().__init__(p=p)
        # Not as `seed`, which albumentations has for numbers of its own.
        self.recipe, self.low_seed = recipe, seed
        self.overrides = (overrides,) if isinstance(overrides, str) else tuple(overrides)
        self._darken = _Darken(recipe, seed=seed, overrides=self.overrides)

    def get_params(self) -> dict[str, Any]:
        """Return the key of a call: all images of it have the same draw."""
        return {"key": self._darken.next_key()}

    def apply(
        self, img: npt.NDArray[np.uint8], key: str = "image", **params: Any
    ) -> npt.NDArray[np.uint8]:
        """Darken an image, uint8 RGB (H, W, 3)."""
        low: npt.NDArray[np.uint8] = self._darken(img, key=key)
        return low

    def get_transform_init_args(self) -> dict[str, Any]:
        """Return what it was made with, which albumentations stores."""
        return {"recipe": self.recipe, "seed": self.low_seed, "overrides": self.overrides}
