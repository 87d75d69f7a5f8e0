"""Imported first by the server that workers are forked from: it ends when its program does.

The server itself notices that once it has imported its modules, which takes half a minute where
kernels are compiled. `stop` comes after the last of them: nothing is forked while the thread runs.
"""

import gc
import os
import signal
import threading

_PERIOD_S = 0.25
_imported = threading.Event()
# Ctrl-C reaches the server too, and is none of its business; multiprocessing sees to it only when
# all is imported.
_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)


def _watch(program: int) -> None:
    while not _imported.wait(_PERIOD_S):
        if os.getppid() != program:
            os._exit(1)


gc.disable()  # all that is imported stays; looking through it takes a seventh of the time
_program = int(os.environ.pop("GLOAM_PROGRAM", os.getppid()))  # workers are not to have it
_thread = threading.Thread(target=_watch, args=(_program,), daemon=True)
_thread.start()


def stop() -> None:
    """End the thread."""
    _imported.set()
    _thread.join()
    signal.signal(signal.SIGINT, _handler)
