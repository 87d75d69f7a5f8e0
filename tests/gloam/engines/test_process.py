"""Gloam's own processes, beside a program that imports it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
import gloam.synth.models
from gloam.engines.process import prepare_own_process
assert gc.get_freeze_count() == 0, "importing gloam is nobody's process"
prepare_own_process()
kept = gc.get_freeze_count()
assert kept > 10_000
left = [[] for _ in range(1000)]
prepare_own_process()
assert gc.get_freeze_count() <= kept, "what a job leaves is not kept for ever"
"""


def test_the_collector_leaves_alone_what_was_imported_once():
    subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], check=True)
