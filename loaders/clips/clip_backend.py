"""Clips decoded in this process by DALI or PyAV, on a GPU or a CPU.

A frame is an image of a step as any other; those of one clip have one crop. On a GPU a few small
batches are made at once: they take little longer than one.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...errors import GloamError, ImageRefused, LoaderError
from ..backend import Choice, Device
from ..dali.failures import DecodingFailed, last_words
from ..dali_backend import DaliBackend
from ..epoch_loader import EpochLoader
from ..steps import Decoder, RenderedStep, Renderer
from .stored_clips import ClipContents
from .video_frames import decode_by_dali, decode_by_pyav
from .video_order import Groups

_FRAMES = 512
"""Frames that are made at once: on an H200 and 16 cores, clips of 8 frames of 192 x 192 come at
2,500 a second in batches of 64, and at 1,900 in batches of 16 made one by one."""
_BYTES = 1 << 29
"""Bytes of their lows and normals as float32: they are prefetched to the GPU's memory."""
_LOOKS = 16  # clips whose frames are measured


class ClipBackend(DaliBackend):
    """The backend of clips that this process makes batches of.

    groups: those of the clips of videos.
    falls_back: let other decoders go on where this one fails.
    """

    _most_ahead = 3

    def __init__(
        self, choice: Choice, wanted: Device, *, groups: Groups | None, falls_back: bool
    ) -> None:
        super().__init__(choice, wanted, by_dali=True)
        self._who = "DALI" if choice.backend == "dali" else "PyAV"
        self._groups, self._falls_back = groups, falls_back
        self._largest: int | None = None  # pixels of a frame
        self._ready: deque[RenderedStep] = deque()  # batches made at once that were not taken yet

    def batches(self, loader: EpochLoader) -> Iterator[tuple[Any, ...]]:
        """Yield the batches that are left of the running epoch.

        DALI takes some damaged JPEGs that processes refuse; `gloam verify` finds them.

        Raises LoaderError naming the clip and frame that cannot be read or decoded; DecodingFailed
        when it fails at what processes decode, and no others may go on.
        """
        failed = DecodingFailed  # an interpreter that ends in mid-epoch has forgotten the name
        try:
            yield from super().batches(loader)
        except failed as failure:
            if not self._falls_back:
                raise
            pyav = self._who == "DALI" and self._groups is not None
            print(
                f"{failure}; {'PyAV decodes' if pyav else 'processes decode'} from here on",
                file=sys.stderr,
            )
            why = f"{self._who} failed"
            loader.begin_with("pyav" if pyav else "workers", why)  # type: ignore[attr-defined]
            yield from loader.backend.batches(loader)

    def moved(self) -> None:
        """Drop what was made ahead."""
        super().moved()
        self._ready.clear()

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_ready": deque()}

    def _run(self, renderer: Renderer) -> Any:
        if not self._ready:
            try:
                self._ready.extend(split(super()._run(renderer)))
            except GloamError:
                raise
            except Exception as error:  # of a GPU, say
                raise DecodingFailed(f"{self._who}: {last_words(error)}") from error
        return self._ready.popleft()

    def _begin_decoder(self, loader: EpochLoader, device_id: int | None) -> Decoder:
        contents = loader.contents
        try:
            if self._groups is not None:
                decode = decode_by_dali if self._who == "DALI" else decode_by_pyav
                return decode(loader, self._groups, device_id)
            size, frames = loader.options.batch_size, contents.frames
            at_once = self._at_once(loader, size * frames, device_id)
            self._most = at_once * size
            steps = loader.steps_ahead(at_once)
            return self._reading_decoder(loader, device_id, steps, self._most * frames)
        except LoaderError as error:
            raise DecodingFailed(str(error), path=loader.name) from error

    def _at_once(self, loader: EpochLoader, frames: int, device_id: int | None) -> int:
        """Return how many batches of so many frames are made at once."""
        size, contents = loader.options.size, loader.contents
        if device_id is None or size is None:  # batches may differ in size
            return 1
        assert isinstance(contents, ClipContents)
        if self._largest is None:  # looked for once, not for every pipeline
            try:
                some = map(contents.pair, range(0, contents.count, contents.count // _LOOKS or 1))
                self._largest = max(math.prod(contents.size_of(clip)) for clip in some)
            except (LoaderError, ImageRefused):  # said when it comes
                return 1
        return batches_at_once(frames, max(self._largest, math.prod(size)))


def split(rendered: RenderedStep) -> list[RenderedStep]:
    """Return the batches of a step that is several.

    They are copied, so that keeping one, or changing it in place, affects no other.
    """
    counts, keys = rendered.counts, iter(rendered.keys or ())
    if len(counts) < 2:
        return [rendered]
    images = [[part.clone() for part in one.split(counts)] for one in rendered.images]
    own = [list(islice(keys, count)) if rendered.keys else None for count in counts]
    return [
        RenderedStep(tuple(part), keys=named) for named, *part in zip(own, *images, strict=True)
    ]


def batches_at_once(frames: int, pixels: int) -> int:
    """Return the number of batches to make at once.

    frames: number of frames in a batch.
    pixels: number of pixels in a frame.
    """
    fit = _BYTES // (2 * 3 * 4 * pixels)
    return max(min(_FRAMES, fit) // frames, 1)
