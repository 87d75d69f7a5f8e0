"""The rows of a set's pairs, made of records that anybody may have written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from gloam.errors import SetError
from gloam.manifests.sets.sample import Sample
from gloam.manifests.sets.tables import schema_of, unit_table

FIELDS = [pa.field("camera.iso", pa.float64())]


@pytest.mark.parametrize("value", [2**63 - 1, 10**30, "much", [1.0], {"a": 1}])
def test_values_that_no_draw_has_are_refused_with_the_key(pairs: list[Sample], value: Any) -> None:
    schema = schema_of(pairs[0].record["members"], False, FIELDS)
    records = [pair.record | {"draw": {"camera": {"iso": 800.0}}} for pair in pairs]
    assert len(unit_table(records, "train", 0, schema)) == len(pairs)
    records[3]["draw"] = {"camera": {"iso": value}}
    if value == {"a": 1}:  # another column, which the set has not
        assert unit_table(records, "train", 0, schema)["draw_camera_iso"].null_count == 1
        return
    with pytest.raises(
        SetError, match=f"{pairs[3].key}: its record holds values that gloam does not"
    ):
        unit_table(records, "train", 0, schema)
