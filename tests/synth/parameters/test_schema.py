"""The fields of recipes."""

from __future__ import annotations

from pydantic import BaseModel

from gloam.synth.camera.recipe import CameraRecipe
from gloam.synth.power_law.recipe import PowerLawRecipe


def test_every_parameter_says_what_it_is():
    def sections(kind):
        for field_name, field in kind.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from sections(field.annotation)
            elif field_name not in ("name", "about", "model") or kind not in (
                CameraRecipe,
                PowerLawRecipe,
            ):
                yield kind, field_name, field

    for model in (CameraRecipe, PowerLawRecipe):
        for kind, field_name, field in sections(model):
            assert field.description, (kind, field_name)
