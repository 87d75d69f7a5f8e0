"""Importing this module loads what workers need, compiled kernels included: for the process that they are forked from."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from . import making  # noqa: F401 - with all that making a unit imports
from .darkening import darken

# What fails here would end that process without a word; a worker meets the same failure and reports it.
with suppress(Exception):
    darken(np.full((16, 16, 3), 128, np.uint8), "uneven")
