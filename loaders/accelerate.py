"""Accelerate, where a program uses it: has it ranks, and which loader is gone through."""

from __future__ import annotations

import sys
from typing import Any


def has_ranks() -> bool:
    """Return whether this program is one of several that Accelerate began."""
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    return state is not None and state._shared_state.get("num_processes", 1) > 1


def set_running(loader: Any, running: bool) -> None:
    """Let Accelerate know which loader is gone through, where a program uses it.

    Its `accumulate` ends with an epoch. It is not imported for this: who uses it has.
    """
    kind = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    if kind is None or not kind._shared_state:
        return
    state = kind()
    if loader in state.dataloader_references:
        state._remove_dataloader(loader)
    if running:
        state._add_dataloader(loader)
