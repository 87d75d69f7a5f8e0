"""Files that a recipe names: their contents become part of the recipe.

Recipes that sets record hold all of it, and name no file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...manifests.config import load_yaml
from ..camera.calibration import read_cameras


def with_files(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a recipe's values, in place of `camera.file` and each `from` what the files hold.

    Raises ConfigError when a file cannot be read, or holds something else.
    """
    camera, groups = values.get("camera"), values.get("together")
    made = dict(values)
    if isinstance(camera, dict) and "file" in camera:
        rest = {name: value for name, value in camera.items() if name != "file"}
        own = rest.get("own") or {}
        try:
            read = read_cameras(Path(str(camera["file"])))
        except ConfigError as error:
            raise ConfigError(f"{where}: camera.file: {error}", key="camera.file") from None
        # Another `own` than a mapping is refused with the rest.
        made["camera"] = {**rest, "own": {**own, **read} if isinstance(own, dict) else own}
    if isinstance(groups, dict):
        made["together"] = {
            name: _with_table(group, f"{where}: together.{name}") for name, group in groups.items()
        }
    return made


def _with_table(group: Any, where: str) -> Any:
    if not isinstance(group, dict) or "from" not in group:
        return group
    rest = {name: value for name, value in group.items() if name != "from"}
    try:
        return {**load_yaml(Path(str(group["from"]))), **rest}
    except ConfigError as error:
        raise ConfigError(f"{where}.from: {error}", key="from") from None
