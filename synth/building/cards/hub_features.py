"""The types of a set's samples, as Hugging Face's cards write them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ....manifests.labels.labels import BOXES, CLASS, CLASSES, MASK
from ....manifests.sets.info import SetInfo
from ....manifests.sets.sample import LOW, NORMAL
from ...recipes.load import recorded_recipe
from ..draw_columns import draw_fields, nested

Feature = dict[str, Any]
_TEXT, _WHOLE = {"dtype": "string"}, {"dtype": "int64"}


def record_feature(info: SetInfo, roles: tuple[str, ...]) -> list[Feature]:
    """Return the type of a record: one for each field, whatever a sample has there."""
    member = [("sha256", _TEXT), ("bytes", _WHOLE), ("suffix", _TEXT)]
    fields: list[tuple[str, Feature]] = [
        ("format", _WHOLE),
        ("key", _TEXT),
        ("source", _TEXT),
        ("path", _TEXT),
        ("width", _WHOLE),
        ("height", _WHOLE),
        ("converted", _TEXT),
        ("members", {"struct": [_named(role, {"struct": _all(member)}) for role in roles]}),
        ("draw", {"struct": _draw(info)}),
    ]
    if info.build.labelled:
        fields.append(("labels", {"struct": _all(_LABELS)}))
    return _all(fields)


_LABELS: list[tuple[str, Feature]] = [
    ("class", _TEXT),
    ("class_number", _WHOLE),
    ("names", {"list": "string"}),
    ("classes", {"list": "int64"}),
    ("boxes", {"list": {"list": "float64"}}),
    ("difficult", {"list": "bool"}),
    ("crowd", {"list": "bool"}),
    ("segmentation", {"list": "string"}),
    ("captions", {"list": "string"}),
]


def sample_features(
    info: SetInfo,
    roles: tuple[str, ...],
    suffixes: dict[str, list[str]],
    known: tuple[str, ...] = (),
) -> list[Feature]:
    """Return the types of a sample's members in shards, as `datasets` reads them.

    roles: members of every sample.
    suffixes: dict of role to suffixes, those that the files of its shards have: one column each.
    known: members that records know of; those of the samples by default.
    """
    features = [_named("json", {"struct": record_feature(info, known or roles)})]
    for role in roles:
        if role.partition(".")[0] in (LOW, NORMAL, MASK):  # frames, too
            features += [_named(f"{role}.{one}", {"dtype": "image"}) for one in suffixes[role]]
        elif role == CLASS:
            features.append(_named(role, _WHOLE))
        elif role == BOXES:
            features.append(_named(f"{role}.npy", {"list": {"list": "float32"}}))
        elif role == CLASSES:
            features.append(_named(f"{role}.npy", {"list": "int32"}))
    return [*features, _named("__key__", _TEXT), _named("__url__", _TEXT)]


def _draw(info: SetInfo) -> list[Feature]:
    recipe = recorded_recipe(info.build.request.recipe, "recipe")
    return _branch(nested({field.name: field.type for field in draw_fields(recipe)}))


def _branch(tree: dict[str, Any]) -> list[Feature]:
    return [
        _named(name, {"struct": _branch(value)} if isinstance(value, dict) else _dtype(value))
        for name, value in tree.items()
    ]


def _dtype(kind: pa.DataType) -> Feature:
    if pa.types.is_list(kind):
        return {"list": _dtype(kind.value_type)["dtype"]}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind))}


def _all(fields: list[tuple[str, Feature]]) -> list[Feature]:
    return [_named(name, feature) for name, feature in fields]


def _named(name: str, feature: Feature) -> Feature:
    return {"name": name, **feature}
