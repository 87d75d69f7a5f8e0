"""The request of a build, as a set records it: sources, selection, plan, recipe, output."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_serializer, model_validator

from ..storage.untrusted import Digest
from .config import Frozen
from .images.header import MAX_PIXELS
from .selection.bounds import Profile
from .selection.plan import PlanOptions
from .sources import Source


class OutputOptions(Frozen):
    """Options of a set's files; `gloam build --help` shows the descriptions.

    JPEG lows ("jpeg", kept as "jpg") are what hardware decodes, but lose noise: at a noise of 1.5
    of 255 levels, quality 95 keeps 0.74 of its variance and adds an error as large as the noise.
    """

    name: str = Field(default="gloam", description="Name of the set, in set.json.")
    layout: Literal["shards", "files"] = Field(
        default="shards", description="Write tars with DALI indexes, or folders and lists."
    )
    low_codec: Literal["png", "jpg", "none"] = Field(
        default="png",
        description="Codec of lows. png is lossless; jpeg is small and decoded by hardware, but at"
        " quality 95 its error is as large as the noise of a low; none stores normals and draws"
        " (drawn parameters) alone, and loaders make the lows.",
    )
    low_quality: int = Field(default=95, ge=1, le=100, description="JPEG quality of lows.")
    low_chroma: Literal["444", "422", "420"] = Field(
        default="444", description="JPEG chroma subsampling of lows."
    )
    max_side: int | None = Field(
        default=None,
        ge=16,
        le=1 << 20,
        description="Shrink normals to this longer side, pixels; if left out, keep their size.",
    )
    max_pixels: int = Field(
        default=MAX_PIXELS,
        ge=1,
        lt=2**30,
        description="Refuse photographs with more pixels. What reads a set of more than 50 million"
        " wants GLOAM_MAX_PIXELS, too.",
    )
    labels: bool = Field(
        default=False,
        description="Carry labels of classes, imagenet, voc and coco sources: classes, boxes,"
        " masks, captions; moved with the photographs, in records, members and annotations/.",
    )

    @field_validator("low_codec", mode="before")
    @classmethod
    def _one_spelling(cls, value: Any) -> Any:
        return "jpg" if value == "jpeg" else value


class RequestBase(Frozen):
    """Request of a build, whatever its recipe.

    sources: tuple of Source; with names of their own.
    profile: bounds on candidates; `EVERYTHING` to take whatever can be read.
    low_seed: seed of the lows, where it is not that of the plan: in sets that were regenerated with
      another one.
    not_like: tuple of str; sets whose scenes are kept out, see `gloam.leaks`; what is recorded is a
      sum of them.
    """

    sources: tuple[Source, ...]
    profile: Profile
    plan: PlanOptions
    low_seed: int | None = Field(default=None, ge=0, lt=2**63)
    output: OutputOptions
    not_like: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _of_one_sort(self) -> Self:
        frames = {source.frames for source in self.sources}
        if len(frames) > 1:
            raise ValueError(
                "sources: clips of one number of frames, or photographs: every sample of a set has"
                " the same members"
            )
        if self.frames and self.output.labels:
            raise ValueError("labels: clips have no labels")
        return self

    @property
    def frames(self) -> int:
        """Frames of each clip; 0 for pairs of images."""
        return self.sources[0].frames if self.sources else 0

    @property
    def seed(self) -> int:
        """Seed that the lows are drawn with: the plan's, or one of their own."""
        return self.plan.seed if self.low_seed is None else self.low_seed


class RecordedRequest(RequestBase):
    """The request that a set records; its sources have no places.

    Options that were not given are not written, so that a set's bytes and fingerprint are
    those of the gloam that made it, which may not have known all options of this one.

    recipe: the values of a `gloam.synth.recipes.load.Recipe`.
    not_like: checksum of the scenes of those sets.
    """

    recipe: dict[str, Any]
    not_like: tuple[Digest, ...] = ()

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        given = ((name, getattr(self, name)) for name in sorted(self.model_fields_set))
        return {name: _given_values(value) for name, value in given}


def _given_values(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_given_values(one) for one in value]
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    return value
