"""Selection of candidates that make good normals: bounds on their measures, from a YAML profile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from ...storage.yaml_files import load_shipped, load_yaml
from ..config import Frozen, validate
from .measures import FIELDS

KEPT = ""
"""The reason of a candidate that is not refused."""


class Profile(Frozen):
    """Bounds that a candidate must keep; None applies no bound.

    `Measures` says what each measure is, the comments in the profile that gloam ships,
    `bounds.yaml`, why its bounds are what they are.
    """

    min_side: int | None = Field(default=None, ge=1)
    max_side: int | None = Field(default=None, ge=1)
    max_aspect: float | None = Field(default=None, ge=1)
    min_mean: float | None = Field(default=None, ge=0, le=1)
    max_mean: float | None = Field(default=None, ge=0, le=1)
    max_clipped: float | None = Field(default=None, ge=0, le=1)
    max_dark: float | None = Field(default=None, ge=0, le=1)
    min_bright: float | None = Field(default=None, ge=0, le=1)
    min_laplacian: float | None = Field(default=None, ge=0)
    min_colourfulness: float | None = Field(default=None, ge=0)
    duplicate_bits: int | None = Field(default=None, ge=0, le=3)


EVERYTHING = Profile()
"""The profile of `--no-select`: whatever can be read is kept."""


def load_profile(path: Path | None = None) -> Profile:
    """Read a profile, or the one that gloam ships.

    Raises ConfigError when the file is missing or holds an unknown key or a wrong value.
    """
    values = load_yaml(path) if path else load_shipped(__package__, "bounds.yaml")
    return validate(Profile, values, str(path or "bounds.yaml"))


def refusal_of(candidates: pa.Table, profile: Profile) -> npt.NDArray[np.object_]:
    """Return the reason why each candidate is refused, or `KEPT`.

    candidates: with a column for each of `gloam.manifests.selection.measures.FIELDS` and `reason`,
      not "" where measuring failed already.
    """
    reasons = candidates.column("reason").to_numpy(zero_copy_only=False).astype(object)
    if all(getattr(profile, bound) is None for bound in Profile.model_fields):
        return reasons
    column = {name: candidates.column(name).to_numpy(zero_copy_only=False) for name in FIELDS}
    short = np.minimum(column["width"], column["height"])
    long = np.maximum(column["width"], column["height"])
    for field, reason, values in (
        ("min_side", "too small", short),
        ("max_side", "too large", long),
        ("max_aspect", "too elongated", long),
        ("min_mean", "too dark", column["mean"]),
        ("max_mean", "too bright", column["mean"]),
        ("max_clipped", "clipped", column["clipped"]),
        ("max_dark", "dark areas", column["dark"]),
        ("min_bright", "too few bright areas", column["bright"]),
        ("min_laplacian", "blurred", column["laplacian"]),
        ("min_colourfulness", "colourless", column["colourfulness"]),
    ):
        bound = getattr(profile, field)
        if bound is not None:
            limit = bound * np.maximum(short, 1) if field == "max_aspect" else bound
            breach = values < limit if field.startswith("min_") else values > limit
            reasons[(reasons == KEPT) & breach] = reason
    return reasons
