"""Pairs in Parquet: images as `datasets` and the Hub's viewer know them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...manifests.sets.sample import LOW, NORMAL, Sample
from ...storage.atomic import atomic_write, sha256_file

_GROUP = 100
"""Pairs of a row group: what the Hub's viewer reads at once."""
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_COLUMNS: list[tuple[str, pa.DataType, dict[str, Any]]] = [
    ("key", pa.string(), {"dtype": "string", "_type": "Value"}),
    (LOW, _IMAGE, {"_type": "Image"}),
    (NORMAL, _IMAGE, {"_type": "Image"}),
    ("source", pa.string(), {"dtype": "string", "_type": "Value"}),
    ("path", pa.string(), {"dtype": "string", "_type": "Value"}),
    ("width", pa.int32(), {"dtype": "int32", "_type": "Value"}),
    ("height", pa.int32(), {"dtype": "int32", "_type": "Value"}),
    ("draw", pa.string(), {"dtype": "string", "_type": "Value"}),
    ("labels", pa.string(), {"dtype": "string", "_type": "Value"}),
]


def schema() -> pa.Schema:
    """Return the columns, with what `datasets` reads of their types."""
    features = {name: feature for name, _, feature in _COLUMNS}
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema([(name, kind) for name, kind, _ in _COLUMNS]).with_metadata(about)


def write_parquet(path: Path, samples: Iterable[Sample]) -> str:
    """Write samples to a file; returns its SHA-256.

    Images keep their bytes; `draw` and `labels` are the record's as JSON text, "" without labels.
    """
    rest = iter(samples)
    with (
        atomic_write(path) as handle,
        pq.ParquetWriter(handle, schema(), write_page_index=True, compression="zstd") as writer,
    ):
        while some := list(islice(rest, _GROUP)):
            writer.write_table(pa.Table.from_pylist([_row(one) for one in some], schema=schema()))
    return sha256_file(path)


def _row(sample: Sample) -> dict[str, Any]:
    record = sample.record
    images = {
        name: {"bytes": image.data, "path": f"{sample.key}.{name}.{image.suffix}"}
        for name, image in ((LOW, sample.low), (NORMAL, sample.normal))
    }
    return images | {
        "key": sample.key,
        "source": record["source"],
        "path": record["path"],
        "width": record["width"],
        "height": record["height"],
        "draw": json.dumps(record["draw"], sort_keys=True),
        "labels": json.dumps(record["labels"], sort_keys=True) if "labels" in record else "",
    }
