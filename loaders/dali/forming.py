"""What becomes of decoded pairs: changes that are a function of (seed, epoch, key), fed to DALI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...synth.parameters.columns import Keys
from ..forms import changes_of
from ..options import Options
from ..ranks_and_order import epoch_seed
from . import pipelines
from .batches import tensor_of

_HELD = 4  # batches whose inputs DALI may still read


@dataclass
class Begun:
    """A batch that is being made.

    Attributes
    ----------
    images : (low, normal), optional
        Once they are there.
    labels, state
        That go with it.
    """

    images: Any = None
    labels: Any = None
    state: Any = None


class Form:
    """The pipeline `pipelines.formed_pairs`, fed batch by batch.

    Parameters
    ----------
    options : Options
    device_id : int, optional
        Of the GPU.
    """

    def __init__(self, options: Options, device_id: int | None) -> None:
        self._options = options
        self._pipeline = pipelines.formed_pairs(
            options,
            batch_size=options.batch_size,
            num_threads=max(options.threads, 1),
            device_id=device_id,
            prefetch_queue_depth=1,
        )
        self._pipeline.build()
        self._within: Begun | None = None
        self._held: list[Any] = []

    def made(self, lows: Any, normals: Any, changes: Any) -> tuple[Any, ...]:
        """Bring a batch into form, on the CPU; returns low and normal of DALI."""
        self._feed(lows, normals, changes, {})
        self._pipeline.schedule_run()
        return tuple(self._pipeline.outputs())

    def begin(self, begun: Begun, lows: Any, normals: Any, changes: Any, stream: Any) -> None:
        """Begin to form a batch on a GPU: DALI does it while the next one is decoded.

        Parameters
        ----------
        begun : Begun
            Gets its images from `finish`, or when the next one is begun.
        lows, normals : lists of tensors, or a list of DALI
        changes : array (N, 7), optional
            See `drawn_changes`.
        stream : CUDA stream of torch
            That inputs are made on, and outputs are for.
        """
        if self._within is not None:
            self.finish(self._within, stream)
        self._feed(lows, normals, changes, {"cuda_stream": stream})
        self._held = [*self._held[1 - _HELD :], (lows, normals)]
        self._pipeline.schedule_run()
        self._within = begun

    def finish(self, begun: Begun, stream: Any) -> None:
        """Fill in the images of a batch: torch's own tensors, which outlive DALI's."""
        if begun is self._within:
            outputs = self._pipeline.outputs(stream)
            begun.images = tuple(tensor_of(images).clone() for images in outputs)
            self._within = None

    def _feed(self, lows: Any, normals: Any, changes: Any, more: dict[str, Any]) -> None:
        form, options = self._pipeline, self._options
        form.feed_input("low", lows, **more)
        form.feed_input("normal", normals, **more)
        if options.size is not None and options.crop != "resize":
            form.feed_input("window", np.ascontiguousarray(changes[:, :4]))
        if options.augment:
            form.feed_input("flips", np.ascontiguousarray(changes[:, 4:]))


def drawn_changes(options: Options, keys: Sequence[str] | Keys, sizes: Any, epoch: int) -> Any:
    """Draw the windows and flips of pairs: `forms.Change` as int32 array (N, 7), or None for none.

    Parameters
    ----------
    options : Options
    keys : sequence of str or Keys
        Of the pairs.
    sizes : array (N, 2)
        Height, width.
    epoch : int
    """
    if (options.size is None or options.crop == "resize") and not options.augment:
        return None
    return changes_of(sizes, options, epoch_seed(options.seed, epoch, "forms"), keys)
