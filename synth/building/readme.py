"""The README.md of a set: description, metadata for Hugging Face's `datasets`, escaped texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import pyarrow as pa
import yaml
from typing_extensions import get_type_hints, is_typeddict

from ...manifests.labels.photo_labels import BOXES, CLASS, CLASSES, MASK
from ...manifests.sets.info import PAIRS, SetInfo
from ...manifests.sets.layouts.files import METADATA
from ...manifests.sets.pair_set import open_set
from ...manifests.sets.sample import LOW, NORMAL, MemberFacts, Record
from ...storage.parquet import pc, read_table
from ..recipes.load import recorded_recipe
from .draw_columns import draw_fields, nested

HUB_SPLITS = {"train": "train", "val": "validation", "test": "test"}
"""The Hub's names of the splits."""
Feature = dict[str, Any]
_DTYPES = {str: "string", int: "int64", float: "float64", bool: "bool"}
_MARKS = re.compile(r"([\\`*_\[\]|~#$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = re.compile(r"[^\w .,:/+-]")
_OWN = ("configs", "size_categories", "tags", "task_categories")
"""Keys of a card's head whose values gloam alone writes."""
_BIBTEX = {
    **{mark: f"\\{mark}" for mark in "{}%#&$_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_TICKS = re.compile("`+")


def readme(root: Path, info: SetInfo) -> str:
    """Return the text: a head that says which files are which split, and of what types."""
    if info.layout == "shards":
        value: dict[str, Any] = {
            "configs": [config_of(info, "shards/{split}-*.tar")],
            "dataset_info": {"features": _features(root, info)},
        }
    else:
        build = info.build
        there = {LOW: build.request.output.low_codec != "none", NORMAL: not build.lows_only}
        images = (f"{{split}}/{member}/*" for member, held in there.items() if held)
        value = {"configs": [config_of(info, f"{{split}}/{METADATA}", *images)]}
    counts = ", ".join(f"{n:,} {split}" for split, n in info.counts.items() if split != "refused")
    loader, what, options = (
        ("ClipLoader", "clip", "batch_size=4, size=128")
        if info.build.request.frames
        else ("PairLoader", "pair", "batch_size=16, size=256")
    )
    others = ', normals="THE SET OF ITS NORMALS"' if info.build.lows_only else ""
    call = f'gloam.{loader}("THIS FOLDER", {options}{others})'
    return (
        f"{front_matter(value)}\n# {escape_markdown(info.name)}\n\nLow-light / normal-light"
        f" {what}s, made by gloam: {counts}; recipe {code(info.recipe)}, seed {info.seed}, set"
        f" `{info.fingerprint[:16]}`.\n\n```python\nimport gloam\nloader = {call}\n\n"
        f'from datasets import load_dataset\nload_dataset("THIS FOLDER")  # a row a {what}\n```\n\n'
        "`gloam verify` checks it, `gloam publish` makes what is given away of it.\n"
    )


def config_of(info: SetInfo, *patterns: str) -> dict[str, Any]:
    """Return which files are which split, for the head of a card.

    patterns: of files; `{split}` is gloam's name of a split, `{named}` the Hub's.
    """
    files = []
    for split, named in HUB_SPLITS.items():
        if info.counts.get(split):
            paths = [pattern.format(split=split, named=named) for pattern in patterns]
            files.append({"split": named, "path": paths[0] if len(paths) == 1 else paths})
    return {"config_name": "default", "data_files": files}


def _features(root: Path, info: SetInfo) -> list[dict[str, Any]]:
    record = next(open_set(root).records(), None)
    known = () if record is None else tuple(record["members"])
    # A set of lows only has no normals, though its records know of them.
    roles = tuple(role for role in known if not (info.build.lows_only and role == NORMAL))
    table = read_table(root / PAIRS, columns=[f"{role}_suffix" for role in roles])
    suffixes = {
        role: pc.unique(table[f"{role}_suffix"].drop_null()).sort().to_pylist() for role in roles
    }
    return sample_features(info, roles, suffixes, known)


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
    recipe = recorded_recipe(info.build.request.recipe, "recipe")
    drawn = nested({field.name: field.type for field in draw_fields(recipe)})
    record = get_type_hints(Record) | {"members": dict.fromkeys(known or roles, MemberFacts)}
    record["draw"] = drawn
    if not info.build.labelled:
        del record["labels"]
    features = _fields({"json": record})
    for role in roles:
        if role.partition(".")[0] in (LOW, NORMAL, MASK):  # frames, too
            features += [{"name": f"{role}.{one}", "dtype": "image"} for one in suffixes[role]]
        elif role == CLASS:
            features += _fields({role: int})
        elif role == BOXES:
            features.append({"name": f"{role}.npy", "list": {"list": "float32"}})
        elif role == CLASSES:
            features.append({"name": f"{role}.npy", "list": "int32"})
    return [*features, *_fields({"__key__": str, "__url__": str})]


def _fields(types: Mapping[str, Any]) -> list[Feature]:
    """Return named features of types: Python's, Arrow's, or those of a mapping's values."""
    return [{"name": name, **_feature(kind)} for name, kind in types.items()]


def _feature(kind: Any) -> Feature:
    if isinstance(kind, dict) or is_typeddict(kind):
        return {"struct": _fields(kind if isinstance(kind, dict) else get_type_hints(kind))}
    if get_origin(kind) is list:
        inner = _feature(get_args(kind)[0])
        return {"list": inner.get("dtype", inner)}
    if not isinstance(kind, pa.DataType):
        return {"dtype": _DTYPES[kind]}
    if pa.types.is_list(kind):
        return {"list": _feature(kind.value_type)["dtype"]}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind))}


def _line(value: object) -> str:
    """Return a text on one line, without characters that are not seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def escape_markdown(value: object) -> str:
    """Escape a text for Markdown: no markup, no HTML, no link."""
    text = "".join(_ENTITIES.get(c, c) for c in _line(value))
    return _MARKS.sub(r"\\\1", text)


def code(value: object) -> str:
    """Return a text as a code span of Markdown."""
    text = _line(value)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(map(len, _TICKS.findall(text))))
    return f"{fence} {text} {fence}"


def block(text: str, language: str) -> str:
    """Return lines as a code block of Markdown, whose fence is longer than any in them."""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def bibtex(value: object) -> str:
    """Return a text as a value of BibTeX, between braces."""
    return "".join(_BIBTEX.get(c, c) for c in _line(value))


def front_matter(values: dict[str, Any]) -> str:
    """Return the YAML head of a README.

    Readers that know no such head show it as Markdown, so that texts with marks are escaped.
    """
    lines = []
    for name, value in values.items():
        if name not in _OWN and any(map(_MARKUP.search, _strings(value))):
            lines.append(f"{name}: {_flow(value)}\n")
        else:
            lines.append(yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True))
    return f"---\n{''.join(lines)}---\n"


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in nested values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _flow(value: Any) -> str:
    """Return nested values as YAML on one line, with the marks of texts escaped."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    quoted = json.dumps(value)
    return "".join(f"\\u{ord(c):04x}" if c not in '"\\' and _MARKUP.match(c) else c for c in quoted)
