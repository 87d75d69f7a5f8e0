"""The dataset card of a published set: README.md, its head for the Hub, its body for people."""

from __future__ import annotations

from typing import Any

from ...manifests.selection.plan import TRAIN
from ...manifests.sets.info import SetInfo
from ...manifests.sets.layouts.layout import split_of, unit_number
from ..analysis.pair_statistics import LABELS, percentile_text, reference_statistics, summary
from ..building.readme import block, code, escape_markdown, front_matter

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


def head(
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


def body(
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
        + _TERMS.get(source.kind, "photographs of the publisher's; their terms are theirs")
        for source in info.build.request.sources
    )
    numbers = [unit_number(unit) for unit in info.units if split_of(unit) == TRAIN]
    parts = [
        f"# {escape_markdown(info.name)}",
        "Paired low-light / normal-light images: each low is made from its normal by a model of a"
        f" camera in the dark, with gloam. {counts} pairs; recipe {code(info.recipe)}, seed"
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
    lines = [
        f"| | this set | {' | '.join(references)} |",
        f"| --- {'| --- ' * (1 + len(references))}|",
    ]
    table = summary(rows)
    for name in LABELS:
        if name not in table:
            continue
        columns = (table, *references.values())
        cells = [percentile_text(column.get(name)) for column in columns]
        lines.append(f"| {LABELS[name]} | {' | '.join(cells)} |")
    return "\n".join(lines)
