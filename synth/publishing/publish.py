"""Publish a set, for the Hub and other downloads; rebuild one from copies of its photographs."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date as Date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ...engines.engine import Engine
from ...engines.local import local_engine
from ...errors import ConfigError, SetError, visible
from ...manifests.sets.info import PAIRS, SET_FILE, SetInfo, read_note, read_set, write_note
from ...manifests.sets.pair_set import PairSet, open_set, require_images
from ...manifests.sets.receipts import UnitFile
from ...manifests.sets.sample import LOW, NORMAL, Encoded, Sample
from ...manifests.sets.tables import read_checked
from ...manifests.sets.units import Unit
from ...manifests.sets.workspace import prepare_output
from ...manifests.sources import Source, parse_source
from ...progress import Progress, Silent
from ...storage.atomic import atomic_write, sha256_file
from ...storage.parquet import pc, pq, read_schema
from ...storage.stores import as_path
from ...storage.untrusted import opened, shown
from ..building.build import Report, build_request
from ..building.draw_columns import draw_fields, with_all_columns
from ..building.make_unit import draw_of, pairs_with_lows
from ..building.planning import parquet_bytes
from ..building.readme import HUB_SPLITS as _SPLITS
from ..building.readme import bibtex, code, config_of, sample_features
from ..building.request import Request
from ..camera.recipe import CameraRecipe
from ..measures.contact_sheet import Tile, describe_draw, sheet, tiles_of
from ..measures.set_statistics import measure_set
from ..models import form_of
from ..recipes.load import recorded_recipe
from ..recipes.mixture_recipe import single_recipes
from ..renderers import pixels_of
from .card import card_body, card_head, croissant
from .unit_by_unit import FOLDER, Note, Written, write_shard, write_units

Format = Literal["webdataset", "parquet", "plan"]
FORMATS = {
    "webdataset": "shards/{split}-*.tar",
    "parquet": "data/{named}-*.parquet",
    "plan": "data/{named}.parquet",
}
"""The files of a split, by format; see `config_of`."""
_MEASURED, _SHOWN, _WIDTH = 300, 4, 260
_GROUP = 100
"""Pairs of a row group: what the Hub's viewer reads at once."""
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_TEXT, _SIDE = pa.string(), pa.int32()
_COLUMNS = {
    **{"key": _TEXT, LOW: _IMAGE, NORMAL: _IMAGE, "source": _TEXT, "path": _TEXT},
    **{"width": _SIDE, "height": _SIDE, "draw": _TEXT, "labels": _TEXT},
}


def publish(
    origin: PairSet | str | Path,
    root: str | Path,
    format: Format = "webdataset",
    *,
    license: str = "other",
    citation: str = "",
    url: str = "",
    date: str = "",
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> None:
    """Write a set as it is given away: pictures, card, Croissant, checksums, and what made it.

    Stopped, the same call continues.

    Parameters
    ----------
    origin : PairSet or path
    root : str or Path
        New, empty, or begun by the same call.
    format : str
        "webdataset" (shards, with indexes for DALI), "parquet" (images as the Hub's viewer shows
        them), or "plan": no pictures, for photographs that may not be given away.
    license : str
        License by the Hub's name, such as "cc-by-4.0"; of photographs of others only they decide.
    citation : str
        BibTeX.
    url, date : str
        Address that it will be found at, and date of publishing, as 2026-11-22. Croissant has both
        if they are given: nobody else knows them.
    workers, progress, engine
        See `gloam.build`; lows of live sets are made.

    Raises
    ------
    ConfigError, SetError
        When there is no such format, or a pair cannot be read.

    Examples
    --------
    >>> import gloam
    >>> from pathlib import Path
    >>> gloam.publish("SET", "given", license="cc-by-4.0")
    >>> Path("given/README.md").is_file(), len(list(Path("given/shards").glob("*.tar")))
    (True, 2)
    """
    if format not in FORMATS:
        raise ConfigError(f"--format {format}: must be one of {', '.join(FORMATS)}", value=format)
    try:
        date = Date.fromisoformat(date).isoformat() if date else ""
    except ValueError as error:
        raise ConfigError(f"--date {date}: {error}; write YYYY-MM-DD", value=date) from error
    if url and not re.fullmatch(r"https?://[^\s/?#@]+([/?#]\S*)?", url):
        way = "write a whole address without credentials, https://..."
        raise ConfigError(f"--url {visible(url)}: {way}", value=url)
    about = {"license": license, "citation": citation, "url": url, "date": date}
    for name, value in about.items():
        if value != value.encode(errors="ignore").decode():
            raise ConfigError(f"--{name}: {shown(value)} is no text in UTF-8", value=value)
    origin, root = require_images(open_set(origin)), as_path(root)
    if root.remote:
        raise ConfigError(f"{root}: publish into a folder of this machine, then upload it")
    if not len(origin):
        raise SetError.at(origin.root, "holds no pairs to publish")
    engine, progress = engine or local_engine(workers), progress or Silent()
    suffixes = _suffixes(origin)
    recipe = recorded_recipe(origin.info.build.request.recipe, f"recipe of {origin.root}")
    paths = [field.name for field in draw_fields(recipe)]
    write_units(
        origin,
        root,
        {"published": format, **about},
        partial(_write_unit, format, _chosen(suffixes), paths),
        partial(_finish, origin, format, suffixes, about, engine),
        engine,
        progress,
    )


def _suffixes(origin: PairSet) -> dict[str, Counter[str]]:
    """Count the suffixes of lows and normals."""
    table = origin.table("pairs")
    found = {
        role: Counter(table[f"{role}_suffix"].to_pylist())
        for role in (LOW, NORMAL)
        if f"{role}_suffix" in table.column_names
    }
    return found if LOW in found else {LOW: Counter({"png": 1}), **found}


def _chosen(suffixes: dict[str, Counter[str]]) -> dict[str, str]:
    """Return the suffix by which all files of a role are called: that of most."""
    return {role: found.most_common(1)[0][0] for role, found in suffixes.items()}


def _write_unit(
    form: Format, suffixes: dict[str, str], paths: list[str], unit: Unit, root: Path
) -> Note:
    """Write a unit's pictures."""
    if form == "plan":
        return {"sums": {}}
    # Draws have the keys of all others: a mixture's recipes differ in them.
    samples = (
        replace(one, record=one.record | {"draw": with_all_columns(draw_of(unit, one), paths)})
        for one in pairs_with_lows(unit)
    )
    if form == "parquet":
        split, number = unit.name.rpartition("-")[::2]
        name = f"data/{_SPLITS[split]}-{number}.parquet"
        return {"sums": {name: write_parquet(root / name, samples)}}
    return {"sums": write_shard(root, unit.name, (_alike(one, suffixes) for one in samples))}


def _alike(sample: Sample, suffixes: dict[str, str]) -> Sample:
    """Return a sample whose files are named as those of all others: readers go by content."""
    members = {
        name: Encoded(member.data, suffixes.get(name, member.suffix))
        for name, member in sample.members.items()
    }
    return replace(sample, members=members)


def _finish(
    origin: PairSet,
    form: Format,
    suffixes: dict[str, Counter[str]],
    about: dict[str, str],
    engine: Engine,
    written: Written,
) -> None:
    """Write what makes the set again, then the descriptions."""
    root, info = written.root, origin.info
    pictures = [name for name in written.sums if not name.endswith(".idx")]
    for name in (SET_FILE, PAIRS, *info.build.planned_by):
        with opened(origin.root, name) as source:
            written.put(f"{FOLDER}/{name}", iter(partial(source.read, 1 << 20), b""))
    files = [_published(written, name) for name in sorted(pictures)]
    if form == "plan":
        _write_splits(written, origin)
    measured = measure_set(origin, _MEASURED, engine)
    if form != "plan":
        buffer = io.BytesIO()
        sheet(_rows(origin)).save(buffer, "png")
        written.put("pairs.png", [buffer.getvalue()])
    remarks = _unused(origin)
    mixed = {role: found for role, found in suffixes.items() if len(found) > 1}
    if form == "webdataset":
        for role, found in mixed.items():
            (most, _), *others = found.most_common()
            counted = ", ".join(f"{number:,} {suffix}" for suffix, number in others)
            remarks.append(
                f"All {role}s are called `{role}.{most}`; {counted} among them are such files under"
                " that name, which every reader tells by their content."
            )
    described = {
        "description": f"Low-light / normal-light pairs, recipe {info.recipe}, made by gloam.",
        "license": about["license"],
        "rai:dataCollection": "Lows are synthesised from the normals by the recipe.",
        "rai:dataCollectionType": "Synthetic data",
        "rai:dataPreprocessingProtocol": "Each low is a function of its normal and its draw.",
        "rai:dataUseCases": "Training and testing of low-light image enhancement.",
        "rai:dataLimitations": "Noise and darkness are modelled, not photographed.",
    }
    note = f"made by gloam from recipe {bibtex(info.recipe)}, set {info.sha256[:16]}"
    citation = about["citation"] or (
        f"@misc{{gloam-{info.sha256[:8]}, title = {{{bibtex(info.name)}}}, note = {{{note}}}}}"
    )
    described["citeAs"] = citation
    known = {"url": about["url"], "datePublished": about["date"]}
    described |= {name: value for name, value in known.items() if value}
    own = _chosen(suffixes)
    columns = read_schema(root / FOLDER / PAIRS)
    table = _published(written, f"{FOLDER}/{PAIRS}")
    written.put("croissant.json", [croissant(info.name, described, table, columns, files, own)])
    types = _types(origin, form, own, files)
    card = card_head(info, about["license"], [config_of(info, FORMATS[form])], types)
    card += card_body(
        info,
        measured.rows,
        form,
        recipe=origin.recipe_yaml,
        picture="pairs.png" if form != "plan" else "",
        citation=citation,
        remarks=remarks,
    )
    written.put("README.md", [card.encode()])


def _unused(origin: PairSet) -> list[str]:
    """Say where camera and ISO are not used, which the recipe and earlier draws name."""
    build = origin.info.build
    singles = single_recipes(recorded_recipe(build.request.recipe, f"recipe of {origin.root}"))
    own = [one.name for one in singles if isinstance(one, CameraRecipe) and one.has_own_noise]
    if not own:
        return []
    of = "" if len(own) == len(singles) else f" by pairs of {', '.join(map(code, own))}"
    return [
        f"Camera and ISO, `camera.name` and `camera.iso`, are not used{of}: noise is the recipe's"
        " own, by its section `noise`."
        + (" Draws name them all the same." if form_of(build.versions) == "1" else "")
    ]


def _write_splits(written: Written, origin: PairSet) -> None:
    """Write the rows of each split's pairs, as `datasets` wants a file for each."""
    table = read_checked(written.root / FOLDER / PAIRS)
    for split, named in _SPLITS.items():
        if origin.info.counts.get(split):
            rows = table.filter(pc.equal(table["split"], split))
            written.put(f"data/{named}.parquet", [parquet_bytes(rows)])


def _published(written: Written, name: str) -> UnitFile:
    return UnitFile(
        path=name, sha256=written.sums[name], bytes=(written.root / name).stat().st_size
    )


def _rows(origin: PairSet) -> list[list[Tile]]:
    """Show some pairs, of the beginnings of units that are spread over the set."""
    units = [unit for unit in origin.units() if unit.count]
    taken = min(_SHOWN, len(units))
    rows = []
    for unit in (units[number * len(units) // taken] for number in range(taken)):
        for pair in islice(pairs_with_lows(unit), -(-_SHOWN // taken)):
            words = tuple(describe_draw(draw_of(unit, pair), _WIDTH))
            low, normal = pixels_of(pair)
            rows.append(tiles_of(normal, low, words, pair.key, _WIDTH))
    return rows[:_SHOWN]


def _types(
    origin: PairSet, form: Format, suffixes: dict[str, str], files: list[UnitFile]
) -> dict[str, Any]:
    """Return the head's `dataset_info`: the splits, and the types of shards' members."""
    if form == "plan":
        return {}
    info, sizes = origin.info, dict.fromkeys(_SPLITS, 0)
    for split, named in _SPLITS.items():
        begin = f"{split if form == 'webdataset' else named}-"
        sizes[split] = sum(one.bytes for one in files if Path(one.path).name.startswith(begin))
    total = sum(sizes.values())
    splits = {
        "splits": [
            {"name": named, "num_bytes": sizes[split], "num_examples": info.counts[split]}
            for split, named in _SPLITS.items()
            if info.counts.get(split)
        ],
        "download_size": total,
        "dataset_size": total,
    }
    if form == "parquet":
        return splits
    roles = tuple(next(origin.records())["members"])
    roles = roles if LOW in roles else (LOW, *roles)
    endings = {role: [suffixes.get(role, "png")] for role in roles}
    return {"features": sample_features(info, roles, endings), **splits}


def schema() -> pa.Schema:
    """Return the columns, with what `datasets` reads of their types."""
    features = {
        name: {"_type": "Image"} if kind == _IMAGE else {"dtype": str(kind), "_type": "Value"}
        for name, kind in _COLUMNS.items()
    }
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema(_COLUMNS.items()).with_metadata(about)


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
            writer.write_table(pa.Table.from_pylist([*map(_parquet_row, some)], schema=schema()))
    return sha256_file(path)


def _parquet_row(sample: Sample) -> dict[str, Any]:
    record = sample.record
    images = {
        name: {"bytes": image.data, "path": f"{sample.key}.{name}.{image.suffix}"}
        for name, image in ((LOW, sample.low), (NORMAL, sample.normal))
    }
    known = {name: record[name] for name in ("key", "source", "path", "width", "height")}
    texts = {
        "draw": json.dumps(record["draw"], sort_keys=True),
        "labels": json.dumps(record["labels"], sort_keys=True) if "labels" in record else "",
    }
    return images | known | texts


def rebuild(
    published: str | Path,
    root: str | Path,
    sources: Iterable[str],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Report:
    """Make a published set again, or go on with it.

    Parameters
    ----------
    published : str or Path
        A folder that `publish` wrote, with or without pictures; or a set.
    root : str or Path
        New, empty, or begun by the same call.
    sources : iterable of str
        Places of the sources on this machine, as `coco=DIR` (by kind) or `NAME=DIR` (by the name
        that the set has for it); those of the sample need none.
    workers, progress, engine
        See `gloam.build`.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        When a source is missing, or is none of the set's.
    SourceError
        When a photograph is gone, or is another one.
    SetError
        When what was made differs from what was published, with the units that do.

    Examples
    --------
    >>> import gloam
    >>> gloam.rebuild("SET", "again", ["folder=photos"]).info.counts
    {'train': 4, 'val': 2, 'refused': 0}
    """
    published, root = as_path(published), as_path(root)
    if (published / FOLDER / SET_FILE).is_file():
        published = published / FOLDER
    info = read_set(published)
    if info.build.origin is not None:
        raise SetError.at(
            published,
            f"was made from another set, {info.build.origin['name']!r}, by gloam regenerate:"
            " rebuild that one, then regenerate it",
        )
    request = _request(info, list(sources), published)
    prepare_output(root)
    if read_note(root) is None:
        for name in info.build.planned_by:
            with opened(published, name) as source, atomic_write(root / name) as copy:
                shutil.copyfileobj(source, copy)
        write_note(root, info.build)
    report = build_request(request, root, progress=progress, engine=engine or local_engine(workers))
    _compare(info, report.info, root)
    return report


def _request(info: SetInfo, given: list[str], published: Path) -> Request:
    """Return the set's own request, with the sources where they lie here."""
    known = info.build.request
    found = [_place_of(source, given) for source in known.sources]
    for text in given:
        raise ConfigError(
            f"--source {text}: is not a source of the set; it has "
            + ", ".join(f"{one.name} ({one.kind})" for one in known.sources),
            value=text,
        )
    recipe = recorded_recipe(known.recipe, f"recipe of {published}")
    return Request(**{**dict(known), "sources": tuple(found), "recipe": recipe})


def _place_of(source: Source, given: list[str]) -> Source:
    """Find where a source of the set lies here, by its name or else by its kind."""
    for wanted in (source.name, source.kind):
        for text in given:
            name, equals, path = text.partition("=")
            if equals and name == wanted:
                given.remove(text)
                at = parse_source(f"{source.kind}={path}").path
                return source.model_copy(update={"path": at})
    if source.kind == "sample":
        return source
    raise ConfigError(
        f"--source is missing for {source.name}: give its path, as"
        f" --source {source.kind}={'FILE' if source.kind == 'archive' else 'DIR'}",
        key="source",
    )


def _compare(published: SetInfo, made: SetInfo, root: Path) -> None:
    if made.sha256 == published.sha256:
        return
    differ = sorted(name for name, one in published.files.items() if made.files.get(name) != one)
    raise SetError.at(
        root,
        f"is not what was published: {len(differ)} files differ, such as"
        f" {', '.join(differ[:3]) or 'set.json'}; photographs of the same size with other bytes,"
        " or other versions of libraries, make other pictures",
    )
