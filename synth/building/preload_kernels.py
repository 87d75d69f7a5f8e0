"""Load compiled kernels, and all that making units imports, where workers are forked from."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ..kernels.png.file import encode_png
from ..models import darken
from . import make_unit as make_unit

# What fails here would end that process without a word; a worker meets the same failure and reports
# it.
with suppress(Exception):
    encode_png(darken(np.full((16, 16, 3), 128, np.uint8), "uneven", key="a"))
