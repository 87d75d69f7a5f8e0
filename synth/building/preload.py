"""Import the modules that workers need.

It is for the process that they are forked from. See `preload_kernels` for kernels.
"""

from __future__ import annotations

import signal

# Ctrl-C reaches that process too, and is none of its business; multiprocessing sees to it only
# after this.
_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)

from . import make_unit  # noqa: E402, F401 - with all that making a unit imports

signal.signal(signal.SIGINT, _handler)
