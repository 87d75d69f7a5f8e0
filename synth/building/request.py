"""The request for a build (sources, plan, recipe, output), and the YAML file that can hold it."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from typing import Any

from pydantic import Field

from ...manifests.config import Frozen
from ...manifests.recorded_request import OutputOptions, RecordedRequest, RequestBase
from ...manifests.selection.bounds import EVERYTHING, Profile
from ...manifests.selection.measures import MEASURES
from ...manifests.selection.plan import PlanOptions
from ...manifests.sources import Source
from ..kernels.png.file import CODING
from ..measures.leaks import sum_of
from ..models import MODEL, draws_version
from ..recipes.load import DEFAULT, Recipe

_DECIDING = ("gloam", "simplejpeg", "opencv-python-headless", "pillow")
"""Distributions whose code decides bytes of a set; their versions are part of its fingerprint."""
_OF_CLIPS = ("frames", "stride", "step")


class Request(RequestBase):
    """A whole build; see `RequestBase`."""

    profile: Profile = EVERYTHING
    plan: PlanOptions = PlanOptions()
    recipe: Recipe
    output: OutputOptions = OutputOptions()

    @property
    def takes_everything(self) -> bool:
        """True if every readable photograph becomes a pair."""
        unlimited = all(source.limit is None for source in self.sources)
        everything = self.profile == EVERYTHING and self.plan.pairs is None and unlimited
        return everything and not self.not_like

    def recorded(self) -> RecordedRequest:
        """Return the part of the request that decides the set's bytes, as recorded in the set.

        All but the places where the sources happen to lie.
        """
        whole = self.model_dump(mode="json")
        for source in whole["sources"]:
            for name in ("path", *(() if source["frames"] else _OF_CLIPS)):
                del source[name]
        # As in sets of the time before there were labels and tests.
        if not self.output.labels:
            del whole["output"]["labels"]
        if not self.plan.test:
            del whole["plan"]["test"]
        if self.not_like:
            whole["not_like"] = [sum_of(self.not_like)]
        else:
            del whole["not_like"]
        return RecordedRequest.model_validate(whole)


class BuildFile(Frozen):
    """A build as a file.

    sources: mappings of kind, path, limit, listing and name.
    select: False takes every photograph that can be read.
    profile: YAML file of suitability bounds; gloam's own if left out.
    plan: pairs, val, test, shard_size, seed.
    recipe: a shipped recipe's name or a YAML file.
    set: values of the recipe to change, such as `camera.iso: 3200`.
    exclude: sets whose scenes are kept out, see `gloam.leaks`.
    """

    sources: tuple[Source, ...] = ()
    select: bool = True
    profile: str | None = None
    plan: PlanOptions = PlanOptions()
    recipe: str = DEFAULT
    set: dict[str, Any] = Field(default_factory=dict)
    output: OutputOptions = OutputOptions()
    exclude: tuple[str, ...] = ()


def deciding_versions(recipe: Recipe, request: Request | None = None) -> dict[str, str]:
    """Return versions of the code that decides a set's bytes.

    With a request also of what its photographs are chosen by.
    """
    versions = {name: metadata.version(name) for name in _DECIDING}
    if request is not None and request.frames and importlib.util.find_spec("av") is not None:
        versions["av"] = metadata.version("av")
    versions |= {"model": str(MODEL), "png": str(CODING), **draws_version(recipe)}
    if request is not None and not request.takes_everything:
        versions["measures"] = str(MEASURES)
    return versions


def in_form_of(begun: dict[str, str], versions: dict[str, str]) -> dict[str, str]:
    """Return versions with the form of draws that a set was begun with: it keeps that."""
    form = {"draws": begun["draws"]} if "draws" in begun else {}
    return {name: one for name, one in versions.items() if name != "draws"} | form
