"""Columns of statistics to compare with: of sets of one's own, kept in files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from ...errors import ConfigError
from ...manifests.config import load_yaml
from .all_statistics import ALL_LABELS
from .pair_statistics import PERCENTILES, summary
from .set_statistics import Measured

DEFINITIONS = 1
"""Raised when a statistic is measured in another way: columns of other definitions are refused."""
_ENOUGH = 5  # images that have a statistic: percentiles of fewer say nothing
_KEYS = {"name", "pairs", "definitions", "percentiles", "statistics"}


def reference_yaml(measured: Measured, name: str) -> bytes:
    """Return statistics as a reference column; without those that fewer than 5 pairs have.

    name: of the column.
    """
    enough = min(_ENOUGH, len(measured.rows))
    table = {
        key: [float(f"{value:.6g}") for value in values]
        for key, values in summary(measured.rows).items()
        if sum(math.isfinite(row.get(key, math.nan)) for row in measured.rows) >= enough
    }
    values = {
        "name": name,
        "pairs": len(measured.rows),
        "definitions": DEFINITIONS,
        "percentiles": list(PERCENTILES),
        "statistics": table,
    }
    return yaml.safe_dump(values, sort_keys=False, default_flow_style=None).encode()


def read_reference(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a column that `reference_yaml` wrote: its name, and percentiles or medians.

    Raises ConfigError when it is no such file, or of other definitions.
    """
    values = load_yaml(path)
    if values.keys() != _KEYS or not isinstance(values["statistics"], dict):
        raise ConfigError(f"{path}: not a reference; gloam stats --save-reference writes them")
    if values["definitions"] != DEFINITIONS or values["percentiles"] != list(PERCENTILES):
        raise ConfigError(
            f"{path}: its statistics are of definitions {values['definitions']}, this gloam"
            f" measures those of {DEFINITIONS}: measure that set again"
        )
    for name, numbers in values["statistics"].items():
        if name not in ALL_LABELS or not _three(numbers):
            raise ConfigError(
                f"{path}: statistics.{name} = {numbers}: expected three numbers, percentiles"
                f" {', '.join(map(str, PERCENTILES))}, of a statistic that gloam stats --json names"
            )
    return str(values["name"]), values["statistics"]


def _three(numbers: Any) -> bool:
    return (
        isinstance(numbers, list)
        and len(numbers) == len(PERCENTILES)
        and all(isinstance(one, int | float) and math.isfinite(one) for one in numbers)
    )
