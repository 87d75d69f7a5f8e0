"""Lows of clips that DALI decodes, made on the way: by a GPU's kernels, or the CPU's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import LoaderError
from ...synth.clips import frames_of_clips, render_frame
from ...synth.kernels.arrays import Window
from ..forms import change_of
from ..live.draws import DrawTable
from ..live.host_forms import HostBatch, pair_of
from ..live.lows import LiveLows
from ..options import Options
from .clip_samples import ClipPlace

if TYPE_CHECKING:
    from ..dali.forms.ahead import Ahead

Pixels = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
_AHEAD = 2  # batches that are made while one is used


class LiveClips:
    """What runs in place of a DALI pipeline of stored clips: the same outputs.

    Parameters
    ----------
    decoded : DALI pipeline
        Whose first output are frames, clip after clip: images, or sequences of them; its last one
        is handed on.
    live : LiveLows
        On a GPU of a recipe of the camera model.
    options : Options
        On a GPU with a size.
    frames : int
        Of each clip.
    places_of : function of a batch's number
        Returns the places of its clips; counted from the pipeline's beginning.
    keys : sequence of str
        Of all clips that may come.
    device_id : int, optional
        Number of the GPU.
    check : function of a place and of its clip's frames, optional
        Called with the first clip: raises a LoaderError if they are not what they should be.
    """

    def __init__(
        self,
        decoded: Any,
        live: LiveLows,
        options: Options,
        frames: int,
        places_of: Callable[[int], list[ClipPlace]],
        keys: Sequence[str],
        *,
        device_id: int | None,
        check: Callable[[ClipPlace, list[Pixels]], None] | None = None,
    ) -> None:
        self._decoded, self._live, self._options = decoded, live, options
        self._frames, self._places_of = frames, places_of
        self._device, self._check = device_id, check
        self._pool = ThreadPoolExecutor(max(options.threads, 1))
        self._draws = None if device_id is None else DrawTable(live, keys, options.threads)
        self._camera: Any = None
        self._ahead: Ahead | None = None
        self._held: deque[tuple[Any, Any]] = deque()  # what kernels may still read
        self._done = 0

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch: lows, normals, and DALI's last output.

        Raises
        ------
        LoaderError
            When the frames of a clip differ in size.
        """
        if self._device is None:
            return self._on_cpu()
        if self._ahead is None:
            from ..dali.forms.ahead import Ahead

            self._ahead = Ahead(self._on_stream, _AHEAD, self._device)
        made = self._ahead.next()
        return (*made.images, made.labels)

    def close(self) -> None:
        """End the threads that make batches and draw."""
        if self._ahead is not None:
            self._ahead.close()
        if self._draws is not None:
            self._draws.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _on_cpu(self) -> tuple[Any, ...]:
        decoded, *_, label = self._decoded.run()
        places = self._next_places(decoded)
        normals = [frame for i in range(len(decoded)) for frame in _images(decoded.at(i))]
        changes = self._changes(places, np.array([frame.shape[:2] for frame in normals]))
        draws = [self._live.draw(place.clip.key, place.epoch) for place in places]

        def low_of(i: int, window: Window) -> Any:
            clip, number = divmod(i, self._frames)
            first = normals[clip * self._frames]
            return render_frame(normals[i], draws[clip], number, first, window)

        made = pair_of(self._options, normals, low_of)
        batch = HostBatch(self._options, self._pool, normals, changes, made)
        return (*batch.images(), label)

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        """Make the next batch as torch's own tensors."""
        from ..live.cuda_tensors import addresses, formed_pairs, new_camera

        decoded, *_, label = self._decoded.run(stream)
        places = self._next_places(decoded)
        tensors = [decoded[i] for i in range(len(decoded))]
        sizes, at = frame_places(decoded.shape(), addresses(tensors))
        changes = self._changes(places, sizes)
        if self._camera is None:
            self._camera = new_camera()
        self._camera.load(self._drawn(places))
        images = formed_pairs(
            self._camera,
            sizes,
            at,
            changes,
            self._options,
            np.arange(len(sizes)),
            np.repeat(at[:: self._frames], self._frames),
        )
        self._held.append((stream.record_event(), decoded))
        if len(self._held) > _AHEAD:
            event, _ = self._held.popleft()
            event.synchronize()
        return images, label, None

    def _drawn(self, places: Sequence[ClipPlace]) -> Any:
        """Return the draws of all frames of a batch, packed."""
        assert self._draws is not None
        keys, epoch = [place.clip.key for place in places], places[0].epoch
        clips = self._draws.packed(epoch).take(self._draws.numbers(keys).tolist())
        recipe, seed = self._live.recipe, self._live.seed_of(epoch)
        return frames_of_clips(clips, recipe, seed, keys, self._frames)

    def _next_places(self, decoded: Any) -> list[ClipPlace]:
        places = self._places_of(self._done)
        self._done += 1
        if self._check is not None:
            first = decoded[0] if self._device is None else decoded[0].as_cpu()
            self._check(places[0], _images(first))
            self._check = None
        return places

    def _changes(self, places: Sequence[ClipPlace], sizes: Whole) -> Any:
        """Return the changes of all frames, those of a clip alike (N, 7), as processes draw them.

        Raises
        ------
        LoaderError
            When the frames of a clip differ in size.
        """
        firsts = sizes[:: self._frames]
        for n in np.flatnonzero((sizes != np.repeat(firsts, self._frames, axis=0)).any(axis=1)):
            key = places[int(n) // self._frames].clip.key
            raise LoaderError(f"{key}: its frames differ in size", key=key)
        if not self._options.changes:
            return None
        drawn = [
            change_of(int(height), int(width), self._options, place.seed)
            for place, (height, width) in zip(places, firsts, strict=True)
        ]
        return np.repeat(np.array(drawn, np.int32), self._frames, axis=0)


def frame_places(
    shapes: Sequence[Sequence[int]], addresses: npt.NDArray[np.uint64]
) -> tuple[Whole, npt.NDArray[np.uint64]]:
    """Return height and width (N, 2) and the address (N) of each frame.

    Parameters
    ----------
    shapes : sequence of (H, W, 3) or (T, H, W, 3)
        Of images, or of sequences of them.
    addresses : uint64 array
        Where each of those begins.
    """
    counts = np.array([shape[0] if len(shape) == 4 else 1 for shape in shapes])
    sizes = np.repeat(np.array([shape[-3:-1] for shape in shapes], np.int64), counts, axis=0)
    within = np.arange(len(sizes)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(addresses, counts) + (within * 3 * sizes.prod(axis=1)).astype(np.uint64)
    return sizes, at


def _images(sample: Any) -> list[Pixels]:
    """Return the images of a sample: itself, or those of a sequence."""
    array = np.asarray(sample)
    return [array] if array.ndim == 3 else list(array)
