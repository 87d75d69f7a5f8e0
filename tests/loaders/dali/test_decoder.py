"""Effects of DALI's pipelines on the process that they are built in."""

from __future__ import annotations

import gc
import os

import gloam
from gloam.loaders.dali import decoder


def test_a_forked_child_finds_no_pipeline_in_its_garbage(shards):
    loader = gloam.PairLoader(shards, batch_size=2, size=16, device="cpu", live=True)
    next(iter(loader))
    assert decoder.survive_forks.cache_info().currsize == 1
    knot: list[object] = [loader]
    knot.append(knot)
    gc.disable()
    try:
        del loader, knot
        child = os.fork()
        if child == 0:
            gc.collect()  # would wait for ever for the threads of a pipeline
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        gc.enable()
