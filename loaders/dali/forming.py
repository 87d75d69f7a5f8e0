"""What becomes of decoded pairs: changes that are a function of (seed, epoch, key), fed to DALI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..forms import changes_of
from ..options import Options
from ..ranks_and_order import epoch_seed
from . import pipelines


def built_form(options: Options, device_id: int | None) -> Any:
    """Build the pipeline `pipelines.formed_pairs`: a batch is made when it has been fed."""
    form = pipelines.formed_pairs(
        options,
        batch_size=options.batch_size,
        num_threads=max(options.threads, 1),
        device_id=device_id,
        prefetch_queue_depth=1,
    )
    form.build()
    return form


def feed_changes(
    form: Any, options: Options, keys: Sequence[str], sizes: Sequence[tuple[int, int]], epoch: int
) -> None:
    """Feed the pipeline `pipelines.formed_pairs` with the windows and flips of a batch.

    Parameters
    ----------
    form : DALI pipeline
    options : Options
    keys : sequence of str
        Of the pairs.
    sizes : sequence of (height, width)
    epoch : int
    """
    cropped = options.size is not None and options.crop != "resize"
    if not cropped and not options.augment:
        return
    changes = changes_of(sizes, options, epoch_seed(options.seed, epoch, "forms"), keys)
    if cropped:
        form.feed_input("window", np.ascontiguousarray(changes[:, :4]))
    if options.augment:
        form.feed_input("flips", np.ascontiguousarray(changes[:, 4:]))
