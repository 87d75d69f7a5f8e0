"""What a user asks of a build: sources, selection, plan, recipe, output.

One validated object, and the YAML file that can hold it.
"""

from __future__ import annotations

import importlib.util
from importlib import metadata, resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ...manifests.images.header import MAX_PIXELS
from ...manifests.selection.bounds import EVERYTHING, Profile
from ...manifests.selection.measures import MEASURES
from ...manifests.selection.plan import PlanOptions
from ...manifests.sources import Source
from ..kernels.png.file import CODING
from ..models import MODEL
from ..recipes.load import DEFAULT, Recipe

_DECIDING = ("gloam", "simplejpeg", "opencv-python-headless", "pillow")
"""Distributions whose code decides bytes of a set; their versions are part of its fingerprint."""
_OF_CLIPS = ("frames", "stride", "step")
_RECORDED = ("numpy", "numba", "pyarrow", "pydantic", "scikit-image")


class OutputOptions(BaseModel):
    """Options of how a set is written; each field says what it is, and the command shows it.

    JPEG lows ("jpeg", kept as "jpg") are what hardware decodes, but lose noise: at a noise of 1.5
    of 255 levels, quality 95 keeps 0.74 of its variance and adds an error as large as the noise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="gloam", description="Name of the set, in set.json.")
    layout: Literal["shards", "files"] = Field(
        default="shards", description="Write tars with DALI indexes, or folders and lists."
    )
    low_codec: Literal["png", "jpg", "none"] = Field(
        default="png",
        description="Codec of lows. png is lossless; jpeg is small and decoded by hardware, but at"
        " quality 95 its error is as large as the noise of a low; none stores normals and draws"
        " alone, and loaders make the lows.",
    )
    low_quality: int = Field(default=95, ge=1, le=100, description="JPEG quality of lows.")
    low_chroma: Literal["444", "422", "420"] = Field(
        default="444", description="JPEG chroma subsampling of lows."
    )
    max_side: int | None = Field(
        default=None,
        ge=16,
        description="Shrink normals to this longer side, pixels; if left out, keep their size.",
    )
    max_pixels: int = Field(
        default=MAX_PIXELS, ge=1, lt=2**30, description="Refuse photographs with more pixels."
    )
    labels: bool = Field(
        default=False,
        description="Carry what classes, imagenet, voc and coco sources say: classes, boxes, masks,"
        " captions; moved with the photographs, in records, members and annotations/.",
    )

    @field_validator("low_codec", mode="before")
    @classmethod
    def _one_spelling(cls, value: Any) -> Any:
        return "jpg" if value == "jpeg" else value


class Request(BaseModel):
    """A whole build.

    Attributes
    ----------
    sources : tuple of Source
        With names of their own.
    profile : Profile
        Bounds on candidates; `EVERYTHING` to take whatever can be read.
    plan : PlanOptions
    recipe : Recipe
    low_seed : int, optional
        Of the lows, where it is not that of the plan: in sets that were regenerated with another
        one.
    output : OutputOptions
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[Source, ...]
    profile: Profile = EVERYTHING
    plan: PlanOptions = PlanOptions()
    recipe: Recipe
    low_seed: int | None = None
    output: OutputOptions = OutputOptions()

    @model_validator(mode="after")
    def _of_one_sort(self) -> Request:
        frames = {source.frames for source in self.sources}
        if len(frames) > 1:
            raise ValueError(
                "sources: clips of one number of frames, or photographs: every sample of a set has"
                " the same members"
            )
        if frames != {0} and self.output.labels:
            raise ValueError("labels: clips have none")
        return self

    @property
    def frames(self) -> int:
        """Frames of each clip; 0 for pairs of images."""
        return self.sources[0].frames if self.sources else 0

    @property
    def takes_everything(self) -> bool:
        """Whether every candidate becomes a pair, whatever it looks like."""
        unlimited = all(source.limit is None for source in self.sources)
        return self.profile == EVERYTHING and self.plan.pairs is None and unlimited

    def identity(self) -> dict[str, Any]:
        """Return what of the request decides the set's bytes, as JSON values.

        All but the places where the sources happen to lie.
        """
        whole = self.model_dump(mode="json")
        whole["sources"] = [
            {k: v for k, v in source.items() if k not in _OF_CLIPS or source["frames"]}
            for source in whole["sources"]
        ]
        for source in whole["sources"]:
            del source["path"]
        # As in sets of the time before there were labels and tests.
        if not self.output.labels:
            del whole["output"]["labels"]
        if not self.plan.test:
            del whole["plan"]["test"]
        return whole


class BuildFile(BaseModel):
    """A build as a file.

    Attributes
    ----------
    sources : list of Source
        Mappings of kind, path, limit, listing and name.
    select : bool
        False takes every photograph that can be read.
    profile : str, optional
        YAML file of suitability bounds; gloam's own if left out.
    plan : PlanOptions
        pairs, val, test, shard_size, seed.
    recipe : str
        A shipped recipe's name or a YAML file.
    set : dict
        Values of the recipe to change, such as `camera.iso: 3200`.
    output : OutputOptions
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[Source, ...] = ()
    select: bool = True
    profile: str | None = None
    plan: PlanOptions = PlanOptions()
    recipe: str = DEFAULT
    set: dict[str, Any] = Field(default_factory=dict)
    output: OutputOptions = OutputOptions()


def reference_config() -> str:
    """Return the build file of the reference set (153,856 pairs).

    It is to be copied and given the paths of one's sources.
    """
    return (resources.files(__package__) / "reference.yaml").read_text("utf-8")


def deciding_versions(request: Request | None = None) -> dict[str, str]:
    """Return versions of the code that decides a set's bytes.

    With a request also of what its photographs are chosen by.
    """
    deciding = (*_DECIDING, "av") if request is not None and _has_av(request) else _DECIDING
    versions = {name: metadata.version(name) for name in deciding} | {
        "model": str(MODEL),
        "png": str(CODING),
    }
    return (
        versions
        if request is None or request.takes_everything
        else versions | {"measures": str(MEASURES)}
    )


def _has_av(request: Request) -> bool:
    """Return whether PyAV decides bytes: that of clips, where it is installed."""
    return bool(request.frames) and importlib.util.find_spec("av") is not None


def recorded_versions() -> dict[str, str]:
    """Return versions of everything else that matters, for the record."""
    return {name: metadata.version(name) for name in _RECORDED}
