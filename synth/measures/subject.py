"""The content of a page about a set, or folders of real pairs: facts, measures, pictures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...engines.engine import Counted, Engine, ignore_progress
from ...manifests.sets.close import photographs_in
from ...manifests.sets.pair_set import open_set
from ...manifests.sources.folders import image_files
from ..kernels.arrays import FloatArray
from .checks import Check, checks_of_folders, checks_of_set
from .pictures import Shown, pictures_of_folders, pictures_of_set
from .set_statistics import Measured, measure_folders, measure_set

_MOST_UNITS = 24
"""Shards that pairs are measured of, at most: each is read whole."""
DRAWN = {
    "draw_exposure_ev": ("exposure, EV", False),
    "draw_camera_iso": ("ISO", True),
    "draw_isp_contrast": ("contrast", False),
    "draw_illumination_smooth_sigma_ev": ("smooth field, EV", False),
    "draw_illumination_lights_count": ("pools of light", False),
    "draw_illumination_scene_light_pools_count": ("pools of light that stop at edges", False),
    "draw_illumination_scene_light_grid_sigma_ev": ("light by place and lightness, EV", False),
    "draw_isp_chroma_strength": ("chroma noise reduction", False),
    "draw_curve_gamma": ("gamma", False),
    "draw_noise_deviation": ("deviation of noise", False),
    "draw_degradations_motion_length": ("motion blur, pixels, where there is", False),
    "draw_degradations_defocus_radius": ("defocus, pixels, where there is", False),
    "draw_degradations_banding_depth": ("depth of bands, where there are", False),
    "draw_degradations_fixed_pattern_columns": ("offsets of columns, electrons", False),
    "draw_degradations_jpeg_quality": ("JPEG quality, where there is", False),
}
"""Columns of drawn parameters that are shown: title, and whether on a logarithmic axis."""


@dataclass(frozen=True)
class Subject:
    """Everything of one set.

    counts: dict of source to dict of split to pairs. refused: list of (reason, count, examples).
    drawn: dict of a column of `DRAWN` to values, of all pairs. names: dict of camera to pairs.
    """

    name: str
    about: str
    facts: list[tuple[str, str]]
    total: int  # pairs, of which some are measured
    measured: Measured
    checks: list[Check]
    shown: list[Shown]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    refused: list[tuple[str, int, list[str]]] = field(default_factory=list)
    drawn: dict[str, Any] = field(default_factory=dict)
    cameras: dict[str, int] = field(default_factory=dict)
    recipe: str = ""  # YAML; "" where there is none


def set_subject(
    root: Path,
    normals: Path | None,
    most: int,
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    brighter_lows: bool = False,
) -> Subject:
    """Gather the facts and statistics of a set; shards and pairs that are damaged fail a check.

    brighter_lows: whether its lows may be brighter than their normals.

    Raises SetError when it is none, or its tables cannot be read.
    """
    pairs = open_set(root)
    if pairs.lows_only and normals is not None:
        pairs = open_set(root, normals)
    measured = measure_set(pairs, most, engine, at, _MOST_UNITS)
    info, table = pairs.info, pairs.table("pairs")
    build = info.build
    codec = build.request.output.low_codec
    lows = {"none": "made when they are loaded", "png": "PNG"}.get(codec, "JPEG")
    facts = [
        (
            "pairs",
            ", ".join(f"{split} {count:,}" for split, count in pairs.counts.items() if count),
        ),
        ("recipe", f"{info.recipe}, seed {info.seed}"),
        ("lows", lows),
        ("layout", info.layout),
        ("made by", f"gloam {build.versions.get('gloam', '?')}"),
        ("set", info.sha256),
    ]
    refused = photographs_in(pairs.table("refused")).to_pylist()
    by_reason: dict[str, list[str]] = {}
    for one in refused:
        by_reason.setdefault(str(one["reason"]), []).append(f"{one['source']}: {one['path']}")
    counts: dict[str, dict[str, int]] = {}
    both = zip(table.column("source").to_pylist(), table.column("split").to_pylist(), strict=True)
    for (source, split), count in sorted(Counter(both).items()):
        counts.setdefault(source, {})[split] = count
    held = set(table.column_names)
    sensed = _of_sensors(table)
    if not sensed.all():
        some = "" if not sensed.any() else f" by {(~sensed).sum():,} of {len(sensed):,} pairs"
        facts.insert(2, ("camera, ISO", f"not used{some}: noise is the recipe's own"))
    names = table.column("draw_camera_name").to_pylist() if "draw_camera_name" in held else []
    names = list(compress(names, sensed))
    return Subject(
        root.name or root.resolve().name,
        f"Low-light / normal-light pairs, recipe {info.recipe}.",
        facts,
        len(pairs),
        measured,
        checks_of_set(pairs, measured, brighter_lows),
        pictures_of_set(pairs, measured),
        counts,
        sorted((reason, len(paths), paths[:3]) for reason, paths in by_reason.items()),
        {name: _drawn(table, name, sensed) for name in DRAWN if name in held},
        dict(sorted(Counter(names).items())),
        pairs.recipe_yaml,
    )


def _of_sensors(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Return of which pairs the noise is a sensor's; others may name one that is not used."""
    if "draw_noise_kurtosis" not in table.column_names:
        return np.ones(len(table), np.bool_)
    return np.array(table.column("draw_noise_kurtosis").is_null().to_pylist(), np.bool_)


def _drawn(table: pa.Table, name: str, sensed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return a column of what was drawn, of the images whose lows depend on it."""
    values = np.array(table.column(name).to_pylist(), float)
    if name == "draw_camera_iso":
        return values[sensed]
    return values[values > 0] if name.startswith("draw_degradations") else values


def folder_subject(
    lows: Path,
    normals: Path | None,
    most: int,
    engine: Engine | None = None,
    at: Counted = ignore_progress,
    brighter_lows: bool = False,
) -> Subject:
    """Gather the statistics of real pairs, or of lows alone.

    Damaged images fail a check. Raises SourceError when there is nothing, or an image has no
    partner; and when lows are brighter than their normals, unless `brighter_lows`.
    """
    measured = measure_folders(lows, normals, most, engine, at, brighter_lows)
    where = f"{lows}" if normals is None else f"{lows} and {normals}"
    return Subject(
        lows.name or lows.resolve().name,
        "Real low-light photographs." if normals is None else "Real pairs.",
        [("from", where)],
        len(image_files(lows)),
        measured,
        checks_of_folders(measured, brighter_lows),
        pictures_of_folders(lows, normals, measured),
    )
