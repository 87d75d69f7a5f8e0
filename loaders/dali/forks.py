"""Build DALI pipelines that survive the forks of their process."""

from __future__ import annotations

import ctypes
import gc
import os
import weakref
from functools import lru_cache
from typing import Any

from ...errors import LoaderError
from .failures import last_words

_built: weakref.WeakSet[Any] = weakref.WeakSet()  # pipelines


@lru_cache(maxsize=1)
def survive_forks() -> None:
    """Keep children that are forked from now on from ending a pipeline of DALI.

    In a worker of a DataLoader, say, that waits for threads that only the parent has. So garbage is
    collected before a fork, and the child never frees what is in use.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=gc.collect, after_in_child=_leave_to_parent)


def _leave_to_parent() -> None:
    for pipeline in _built:
        running = getattr(pipeline, "_pipe", None)  # a name of DALI's own
        if running is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(running))
            pipeline._pipe = None


def built(pipeline: Any, name: str) -> Any:
    """Build a DALI pipeline of what is loaded by a name.

    Raises LoaderError with what DALI says.
    """
    survive_forks()
    _built.add(pipeline)
    try:
        pipeline.build()
    except Exception as error:  # of a state that is damaged, whatever its parsers raise
        raise LoaderError.at(name, f"DALI: {last_words(error)}") from error
    return pipeline
