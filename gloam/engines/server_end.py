"""Imported last by the server that workers are forked from: it ends at once.

Taking down an interpreter that holds torch takes a second of a core, and ten where the machine is
busy, while its program has ended.
"""

import atexit
import gc
import os

from . import server_watch

server_watch.stop()
gc.freeze()
gc.enable()
atexit.register(os._exit, 0)  # workers end by os._exit themselves, and never come here
