"""Pairs that carry their number in red, so that a batch tells which pairs are in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gloam.manifests.images.normals import encode
from gloam.manifests.selection.bounds import EVERYTHING
from gloam.manifests.selection.plan import PlanOptions
from gloam.manifests.sources import Source
from gloam.synth.building.build import build_request
from gloam.synth.building.request import OutputOptions, Request
from gloam.synth.recipes.load import load_recipe

TRAIN, VAL = 37, 11


def numbered(i: int, height: int = 40, width: int = 56) -> np.ndarray:
    """A picture that carries its number in red; green and blue tell where one is in it."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([np.full_like(x, 4 * i), y * 255 // height, x * 255 // width], axis=2).astype(
        np.uint8
    )


def make_set(root: Path, photos: Path, layout: str, **changes: object) -> Path:
    """A set whose lows are half of their normals."""
    source = Source(kind="folder", path=str(photos), name="n")
    recipe = load_recipe("gamma", ["curve.gamma=1", "curve.beta=0.5"])
    plan = PlanOptions(val=VAL, shard_size=5, **changes)
    build_request(
        Request(
            sources=(source,),
            profile=EVERYTHING,
            plan=plan,
            recipe=recipe,
            output=OutputOptions(layout=layout),
        ),
        root,
    )
    return root


def numbers(normal) -> list[int]:
    """The numbers that the pictures of a batch carry."""
    red = (normal[:, 0] * 255).round().long()
    assert (red == red[:, :1, :1]).all()
    return (red[:, 0, 0] // 4).tolist()


def epoch_numbers(loader) -> list[int]:
    found = []
    for low, normal in loader:
        assert len(low) == len(normal) > 0
        assert (low - normal / 2).abs().max() <= 0.5 / 255 + 1e-6
        found += numbers(normal)
    return found


def mixed_sizes():
    return [
        (encode(numbered(i, 30 + i, 50), "png"), encode(numbered(i, 30 + i, 50), "png"))
        for i in range(6)
    ]
