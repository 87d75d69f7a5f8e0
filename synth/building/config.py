"""Build files: everything that `gloam build` can be told, in YAML."""

from __future__ import annotations

from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ...manifests.selection.plan import PlanOptions
from ...manifests.sources import Source
from ..recipes.load import DEFAULT
from .request import OutputOptions


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
        pairs, val, shard_size, seed.
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
    """The build file of the reference set (153,856 pairs), to be copied and given the paths of
    one's sources."""
    return (resources.files(__package__) / "reference.yaml").read_text("utf-8")
