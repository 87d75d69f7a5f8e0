"""Images that DALI decodes, transformed by threads of this process.

On the CPU DALI's own resizing takes several times as long as decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ....synth.kernels.arrays import Pixels
from ...augment import CropFlip, draw_crops
from ...live.host_batch import HostBatch
from ...options import Options
from ...samples import sized


class HostImages:
    """Batches of ImageLoader on the CPU: DALI decodes, the rest is done here.

    decoded: pipeline of decoded images and numbers.
    numbers: function of a batch's number and of the pipeline's numbers; returns those of its
      images.
    keys: function of numbers; returns the keys of their images.
    epoch_of: function of a batch's number.
    done: batches that the pipeline has given before.
    """

    def __init__(
        self,
        decoded: Any,
        options: Options,
        numbers: Callable[[int, Any], Sequence[int]],
        keys: Callable[[Sequence[int]], Sequence[str]],
        epoch_of: Callable[[int], int],
        done: int = 0,
    ) -> None:
        self._decoded, self._options, self._done = decoded, options, done
        self._numbers, self._keys, self._epoch_of = numbers, keys, epoch_of
        self._pool = ThreadPoolExecutor(max(options.workers, 1))

    def checkpoint(self) -> Any:
        """Return the state of the reader."""
        return self._decoded.checkpoint()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def run(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """Make the next batch: images, numbers."""
        decoded, labels = self._decoded.run()
        numbers, epoch = self._numbers(self._done, labels), self._epoch_of(self._done)
        self._done += 1
        images = [np.asarray(decoded.at(i)) for i in range(len(decoded))]
        options, sizes = self._options, [image.shape[:2] for image in images]
        crops = draw_crops(options, epoch, self._keys(numbers), sizes)

        def made(i: int, crop: CropFlip) -> Sequence[Pixels]:
            return (transformed(images[i], crop, options),)

        batch = HostBatch(options, self._pool, crops, made, members=1)
        return batch.images()[0], np.asarray(numbers, np.int64)


def transformed(image: Pixels, crop: CropFlip, options: Options) -> Pixels:
    """Return the window of an image that is kept, in the size that is asked for.

    OpenCV enlarges it where it grows along both sides, within a level of `samples.sized`.
    """
    height, width = options.size or (0, 0)
    if crop.height > height or crop.width > width:
        return sized(image, crop, options)
    top, left = crop.top, crop.left
    window = image[top : top + crop.height, left : left + crop.width]
    if (height, width) == (crop.height, crop.width):
        return np.ascontiguousarray(window)
    larger: Pixels = np.asarray(cv2.resize(window, (width, height), interpolation=cv2.INTER_LINEAR))
    return larger
