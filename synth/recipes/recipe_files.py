"""Recipes as YAML holds them: shipped ones by name, others from files, and the files they name.

Those become part of the recipe: recipes that sets record hold all of it, and name no file.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...storage.yaml_files import load_shipped, load_yaml
from ..camera.calibrated_sensors import read_cameras


def find_beside(name: str, folder: Path | None) -> Path:
    """Return the path of a file that is named in another, in whose `folder` it may lie."""
    beside = Path(name) if folder is None else folder / name
    return beside if os.path.isfile(beside) else Path(name)


def with_files(
    values: dict[str, Any], where: str, folder: Path | None = None, replaced: Collection[str] = ()
) -> dict[str, Any]:
    """Return a recipe's values, in place of `camera.file` and each `from` what the files hold.

    They are looked for in `folder` first; those whose keys will be `replaced` are left out.

    Raises ConfigError when a file cannot be read, or holds something else.
    """
    camera, groups = values.get("camera"), values.get("together")
    made = dict(values)
    if isinstance(camera, dict) and "file" in camera:
        rest = {name: value for name, value in camera.items() if name != "file"}
        own = rest.get("own") or {}
        if "camera.file" not in replaced:
            try:
                read = read_cameras(find_beside(str(camera["file"]), folder))
            except ConfigError as error:
                raise ConfigError(f"{where}: camera.file: {error}", key="camera.file") from None
            # Another `own` than a mapping is refused with the rest.
            rest["own"] = {**own, **read} if isinstance(own, dict) else own
        made["camera"] = rest
    if isinstance(groups, dict):
        made["together"] = {
            name: _with_table(group, f"{where}: together.{name}", folder)
            for name, group in groups.items()
            if f"together.{name}.from" not in replaced
        }
    return made


def _with_table(group: Any, where: str, folder: Path | None) -> Any:
    if not isinstance(group, dict) or "from" not in group:
        return group
    rest = {name: value for name, value in group.items() if name != "from"}
    try:
        table = load_yaml(find_beside(str(group["from"]), folder))
    except ConfigError as error:
        raise ConfigError(f"{where}.from: {error}", key="from") from None
    if "from" in table:
        raise ConfigError(f"{where}.from: {group['from']}: names another file", key="from")
    return {**table, **rest}


@lru_cache(maxsize=1)
def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped recipes, sorted."""
    files = (file.name for file in resources.files(__package__).iterdir())
    return tuple(sorted(name[:-5] for name in files if name.endswith(".yaml")))


@lru_cache(maxsize=32)
def shipped_values(name: str) -> dict[str, Any]:
    """Return a shipped recipe's values, which nobody changes: long tables take time to read."""
    return load_shipped(__package__, f"{name}.yaml")


def read_values(name: str, folder: Path | None = None) -> tuple[dict[str, Any], Path | None]:
    """Return the values of a shipped recipe or of one in a file, and the file's folder.

    The file is looked for in `folder` first.

    Raises ConfigError when there is no such recipe, or the file cannot be read.
    """
    path = find_beside(name, folder)
    known = shipped_names()
    if name in known and str(path) == name:  # no file of that name in the folder
        return shipped_values(name), None
    if path.suffix in (".yaml", ".yml") or os.path.isfile(path):
        return load_yaml(path), path.parent
    raise ConfigError(
        f"recipe {name}: neither a file nor one of {', '.join(known)}",
        key="recipe",
        value=name,
        allowed=known,
    )
