"""Croissant 1.0 metadata of a published set (mlcommons.org/croissant)."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from ...manifests.sets.receipts import UnitFile
from ...manifests.sets.sample import LOW, NORMAL

_TERMS = (
    "@language @vocab citeAs column conformsTo cr rai data dataType dct equivalentProperty examples"
    " extract field fileProperty fileObject fileSet format includes isLiveDataset jsonPath key md5"
    " parentField path recordSet references regex repeated replace samplingRate sc separator source"
    " subField transform"
)
"""Terms of Croissant's context in the order of its specification; most are of its own names."""
_CONTEXT: dict[str, Any] = {term: f"cr:{term}" for term in _TERMS.split()} | {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}
_TYPES = {"string": "sc:Text", "int32": "sc:Integer", "int64": "sc:Integer", "double": "sc:Float"}


def croissant(
    name: str,
    about: dict[str, Any],
    pairs: UnitFile,
    columns: pa.Schema,
    images: list[UnitFile],
    suffixes: dict[str, str],
) -> bytes:
    """Describe a published set.

    about: description, license, citeAs, `rai:` fields; datePublished and url where they are known.
    pairs: the table `pairs.parquet`.
    columns: those of the table.
    images: Tars, Parquet files, or none.
    suffixes: dict of member to suffix of the images in tars.

    Returns JSON-LD.
    """
    parquet = images and images[0].path.endswith(".parquet")
    kind = "application/x-parquet" if parquet else "application/x-tar"
    files = [_file(pairs, "application/x-parquet"), *(_file(one, kind) for one in images)]
    table = {"fileObject": {"@id": pairs.path}}
    fields = [
        _field("pairs", column.name, _TYPES[str(column.type)], table)
        for column in columns
        if str(column.type) in _TYPES
    ]
    about_table = "a row a pair: its key, split, source, sizes, checksums and drawn values"
    records = [_records("pairs", about_table, fields, key={"@id": "pairs/key"})]
    if images and parquet:
        files.append(_set("images", [], "data/*.parquet", kind))
        rows = {"fileSet": {"@id": "images"}}
        pixels = (
            _field("images", role, "sc:ImageObject", rows, transform={"jsonPath": "bytes"})
            for role in (LOW, NORMAL)
        )
        fields = [_field("images", "key", "sc:Text", rows), *pixels]
        records.append(_records("images-records", "the images of each pair", fields))
    elif images:
        for member, suffix in suffixes.items():
            mime = {"jpg": "image/jpeg"}.get(suffix, f"image/{suffix}")
            tars = [one.path for one in images]
            # No record set: mlcroissant 1.1 yields those of several archives only once.
            files.append(_set(f"{member}s", tars, f"*.{member}.{suffix}", mime))
    whole = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        **about,
        "distribution": files,
        "recordSet": records,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False).encode() + b"\n"


def _file(file: UnitFile, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": kind,
        "sha256": file.sha256,
    }


def _set(name: str, within: list[str], includes: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        **({"containedIn": [{"@id": one} for one in within]} if within else {}),
        "encodingFormat": kind,
        "includes": includes,
    }


def _records(
    name: str, about: str, fields: list[dict[str, Any]], **more: dict[str, str]
) -> dict[str, Any]:
    head = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about}
    return {**head, **more, "field": fields}


def _field(
    prefix: str, name: str, kind: str, source: dict[str, Any], **more: dict[str, str]
) -> dict[str, Any]:
    """Describe a field of records, which is a column of a source."""
    return {
        "@type": "cr:Field",
        "@id": f"{prefix}/{name}",
        "name": name,
        "dataType": kind,
        "source": {**source, "extract": {"column": name}, **more},
    }
