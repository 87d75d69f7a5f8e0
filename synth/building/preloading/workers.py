"""Preload modules and kernels in an engine's workers."""

from __future__ import annotations

from ....engines.engine import Engine
from ...kernels.compiling.cache_folders import announce_compiling
from .. import LOADED, WARM


def warm_workers(engine: Engine, low_codec: str) -> None:
    """Have workers load what making units takes: kernels, too, unless the codec of lows is none."""
    if low_codec == "none":
        engine.warm(LOADED)
    else:
        announce_compiling()
        engine.warm(WARM)
