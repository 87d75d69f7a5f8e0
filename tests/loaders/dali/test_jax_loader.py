"""PairLoader's batches as JAX arrays. Runs where JAX is installed."""

from __future__ import annotations

import numpy as np
import pytest

from gloam.errors import LoaderError
from gloam.loaders import PairLoader

from ..numbered import TRAIN

pytest.importorskip("jax")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["shards", "files"])
def test_batches_are_those_of_pair_loader(layout, request):
    from gloam.loaders.jax_loader import jax_iterator

    root = request.getfixturevalue(layout)
    options = {
        "batch_size": 4,
        "size": (40, 56),
        "seed": 2,
        "augment": True,
        "device": "cpu",
        "workers": 2,
    }
    batches = list(jax_iterator(root, epoch=1, **options))
    assert len(batches) == TRAIN // 4
    with PairLoader(root, **options) as loader:
        loader.set_epoch(1)
        for ours, (low, normal) in zip(batches, loader, strict=True):
            assert np.array_equal(np.asarray(ours["low"]), low.numpy())
            assert np.array_equal(np.asarray(ours["normal"]), normal.numpy())
    with pytest.raises(LoaderError, match="last_batch"):
        jax_iterator(root, last_batch="partial", **options)
