"""Darkening as a transform of torchvision's v2: `pip install torchvision`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import PIL.Image
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from ...synth.recipes.load import DEFAULT, Recipe
from ..darkening import Darken as _Darken


class Darken(v2.Transform):  # type: ignore[misc]
    """Make the low of an image, as one transform among others.

    It takes Pillow images, `tv_tensors.Image` and plain tensors (3, H, W) of uint8; boxes, masks
    and labels beside them stay as they are. Several images of one call have the same draw.

    recipe, seed, overrides: see `gloam.Darken`; each call has noise of its own, as that has without
    a key.
    """

    _transformed_types = (PIL.Image.Image, tv_tensors.Image, torch.Tensor)

    def __init__(
        self, recipe: Recipe | str = DEFAULT, *, seed: int = 0, overrides: Iterable[str] = ()
    ) -> None:
        super().__init__()
        self.darken = _Darken(recipe, seed=seed, overrides=overrides)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Return the key of a call."""
        return {"key": self.darken.next_key()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Darken an image; whatever else it is stays as it is."""
        if isinstance(inpt, tv_tensors.TVTensor) and not isinstance(inpt, tv_tensors.Image):
            return inpt
        low = self.darken(inpt, key=params["key"])
        return tv_tensors.wrap(low, like=inpt) if isinstance(inpt, tv_tensors.Image) else low


class MakePair(Darken):
    """Make a pair (low, normal) from an image, for transforms that crop and flip both.

    It takes one image: `v2.Compose([MakePair("uneven"), v2.RandomCrop(192)])(image)`.
    """

    def forward(self, *inputs: Any) -> Any:
        """Return low and normal of an image."""
        (image,) = inputs
        if isinstance(image, torch.Tensor) and not isinstance(image, tv_tensors.Image):
            image = tv_tensors.Image(image)  # or transforms would take one of the two alone
        return super().forward(image), image
