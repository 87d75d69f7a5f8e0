"""The dataset card of a published set: README.md, its head for the Hub, its body for people.

And its Croissant 1.0 metadata (mlcommons.org/croissant).
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from ...manifests.selection.plan import TRAIN
from ...manifests.sets.info import SetInfo
from ...manifests.sets.layouts.layout import split_of, unit_number
from ...manifests.sets.receipts import UnitFile
from ...manifests.sets.sample import LOW, NORMAL
from ..building.readme import block, code, escape_markdown, front_matter
from ..measures.columns import statistic_rows
from ..measures.pair_statistics import LABELS, percentile_text, reference_statistics, summary

_SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
_TERMS = {
    "imagenet": "ImageNet: non-commercial research and education, by its terms of access"
    " (https://image-net.org/download); the images belong to their owners",
    "voc": "PASCAL VOC: photographs of Flickr, under its terms of use"
    " (http://host.robots.ox.ac.uk/pascal/VOC)",
    "coco": "COCO: photographs of Flickr, each under a licence of its own; annotations CC BY 4.0"
    " (https://cocodataset.org/#termsofuse)",
    "iapr": "IAPR TC-12: free of charge, without restriction of copyright, to its own word"
    " (https://www.imageclef.org/photodata)",
    "streetscenes": "CBCL StreetScenes: for research (http://cbcl.mit.edu/software-datasets)",
    "sample": "photographs that come with scikit-image, most of them in the public domain or CC0"
    " (https://github.com/scikit-image/scikit-image/blob/main/skimage/data/README.txt)",
}


def card_head(
    info: SetInfo, license: str, configs: list[dict[str, Any]], dataset_info: dict[str, Any]
) -> str:
    """Return the YAML head of a card."""
    total = sum(info.units.values())
    size = next((text for most, text in _SIZES if total < most), "1M<n<10M")
    value = {
        "license": license,
        "pretty_name": info.name,
        "size_categories": [size],
        "task_categories": ["image-to-image"],
        "tags": ["low-light", "image-enhancement", "paired", "synthetic", "gloam"],
        "configs": configs,
        "dataset_info": dataset_info,
    }
    return front_matter({name: one for name, one in value.items() if one})


def card_body(
    info: SetInfo,
    rows: list[dict[str, float]],
    form: str,
    *,
    recipe: str,
    picture: str,
    citation: str,
    remarks: list[str],
) -> str:
    """Return the text of a card.

    rows: the statistics of pairs, measured.
    form: "webdataset", "parquet" or "plan".
    recipe: the YAML of its recipe.
    picture: path of a sheet of pairs, or "".
    citation: BibTeX.
    remarks: what else is to be said.
    """
    counts = ", ".join(f"{n:,} {split}" for split, n in info.counts.items() if split != "refused")
    sources = "\n".join(
        f"- {code(source.name)} ({escape_markdown(source.kind)}): "
        + _TERMS.get(source.kind, "photographs of which gloam knows no terms")
        for source in info.build.request.sources
    )
    numbers = [unit_number(unit) for unit in info.units if split_of(unit) == TRAIN]
    parts = [
        f"# {escape_markdown(info.name)}",
        "Paired low-light / normal-light images: each low is made from its normal by a recipe, with"
        f" gloam. {counts} pairs; recipe {code(info.recipe)}, seed"
        f" {info.seed}; set `{info.sha256[:16]}`.",
        f"![pairs of the set]({picture})" if picture else "",
        "\n".join(remarks),
        "## Use",
        _USE[form].format(last=max(numbers, default=0)),
        "## Statistics",
        f"Of {len(rows):,} pairs: percentiles 5 / 50 / 95, beside those of real low light.",
        _table(rows),
        "## Photographs",
        "The normals are photographs of others, whose terms hold for them and for what is made of"
        " them:",
        sources,
        "## Check it, make it again",
        _AGAIN,
        f"<details><summary>The recipe</summary>\n\n{block(recipe, 'yaml')}\n\n</details>",
        f"## Cite\n\n{block(citation, 'bibtex')}" if citation else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_USE = {
    "webdataset": """\
```python
from datasets import load_dataset
pairs = load_dataset("PATH OR NAME", split="train", streaming=True)   # columns low.png, normal.*

import webdataset
pairs = webdataset.WebDataset("shards/train-{{000000..{last:06d}}}.tar").decode("pil")
```

`shards/*.idx` are indexes for NVIDIA DALI's `fn.readers.webdataset`.""",
    "parquet": """\
```python
from datasets import load_dataset
pairs = load_dataset("PATH OR NAME", split="train")   # columns low, normal: images
```""",
    "plan": """\
The pictures are not in it. `gloam rebuild` makes them of your own copies of the photographs: every
byte is then that of the set.""",
}
_AGAIN = """\
```sh
sha256sum -c SHA256SUMS                             # or: gloam verify FOLDER
gloam rebuild FOLDER SET --source KIND=PATH ...     # the same bytes, of your copies of the sources
```

`gloam/` holds the plan, the recipe and the checksum of every image."""


def _table(rows: list[dict[str, float]]) -> str:
    references = reference_statistics()
    tables = [summary(rows), *references.values()]
    lines = [
        f"| | {' | '.join(['this set', *references])} |",
        f"| --- {'| --- ' * len(tables)}|",
    ]
    found = statistic_rows(tables, LABELS, percentile_text)
    return "\n".join([*lines, *(f"| {label} | {' | '.join(cells)} |" for label, cells in found)])


_CROISSANT = (
    "@language @vocab citeAs column conformsTo cr rai data dataType dct equivalentProperty examples"
    " extract field fileProperty fileObject fileSet format includes isLiveDataset jsonPath key md5"
    " parentField path recordSet references regex repeated replace samplingRate sc separator source"
    " subField transform"
)
"""Terms of Croissant's context in the order of its specification; most are of its own names."""
_CONTEXT: dict[str, Any] = {term: f"cr:{term}" for term in _CROISSANT.split()} | {
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
    key = {"@id": "pairs/key"}
    records = [_node("RecordSet", "pairs", description=about_table, key=key, field=fields)]
    if images and parquet:
        files.append(_set("images", [], "data/*.parquet", kind))
        rows = {"fileSet": {"@id": "images"}}
        pixels = (
            _field("images", role, "sc:ImageObject", rows, transform={"jsonPath": "bytes"})
            for role in (LOW, NORMAL)
        )
        fields = [_field("images", "key", "sc:Text", rows), *pixels]
        of = "the images of each pair"
        records.append(_node("RecordSet", "images-records", description=of, field=fields))
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


def _node(kind: str, name: str, above: str = "", **more: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": f"{above}{name}", "name": name, **more}


def _file(file: UnitFile, kind: str) -> dict[str, Any]:
    about = {"contentUrl": file.path, "contentSize": f"{file.bytes} B", "encodingFormat": kind}
    return _node("FileObject", file.path, **about, sha256=file.sha256)


def _set(name: str, within: list[str], includes: str, kind: str) -> dict[str, Any]:
    inside: dict[str, Any] = {"containedIn": [{"@id": one} for one in within]} if within else {}
    return _node("FileSet", name, **inside, encodingFormat=kind, includes=includes)


def _field(
    prefix: str, name: str, kind: str, source: dict[str, Any], **more: dict[str, str]
) -> dict[str, Any]:
    """Describe a field of records, which is a column of a source."""
    column = {**source, "extract": {"column": name}, **more}
    return _node("Field", name, f"{prefix}/", dataType=kind, source=column)
