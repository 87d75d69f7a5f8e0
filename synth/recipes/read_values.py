"""Values of recipes as YAML holds them: shipped ones by name, others from files."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...manifests.config import load_yaml
from .named_files import find_beside


@lru_cache(maxsize=1)
def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped recipes, sorted."""
    files = (file.name for file in resources.files(__package__).iterdir())
    return tuple(sorted(name[:-5] for name in files if name.endswith(".yaml")))


def shipped_values(name: str) -> dict[str, Any]:
    """Return the values of a shipped recipe."""
    with resources.as_file(resources.files(__package__) / f"{name}.yaml") as path:
        return load_yaml(Path(path))


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
