"""Import the modules that workers need, and load compiled kernels.

It is for the process that they are forked from.
"""

from __future__ import annotations

import signal
from contextlib import suppress

# Ctrl-C reaches that process too, and is none of its business; multiprocessing sees to it only
# after this.
_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)

import numpy as np  # noqa: E402

from ..kernels.png.file import encode_png  # noqa: E402
from ..models import darken  # noqa: E402
from . import preload  # noqa: E402, F401

# What fails here would end that process without a word; a worker meets the same failure and reports
# it.
with suppress(Exception):
    encode_png(darken(np.full((16, 16, 3), 128, np.uint8), "uneven", key="a"))

signal.signal(signal.SIGINT, _handler)
