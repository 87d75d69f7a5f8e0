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


def drawn_changes(options: Options, keys: Sequence[str], sizes: Any, epoch: int) -> Any:
    """Draw the windows and flips of pairs: `forms.Change` as int32 array (N, 7), or None for none.

    Parameters
    ----------
    options : Options
    keys : sequence of str
        Of the pairs.
    sizes : array (N, 2)
        Height, width.
    epoch : int
    """
    if (options.size is None or options.crop == "resize") and not options.augment:
        return None
    return changes_of(sizes, options, epoch_seed(options.seed, epoch, "forms"), keys)


def feed_changes(form: Any, options: Options, changes: Any) -> None:
    """Feed the pipeline `pipelines.formed_pairs` with `drawn_changes`."""
    if options.size is not None and options.crop != "resize":
        form.feed_input("window", np.ascontiguousarray(changes[:, :4]))
    if options.augment:
        form.feed_input("flips", np.ascontiguousarray(changes[:, 4:]))
