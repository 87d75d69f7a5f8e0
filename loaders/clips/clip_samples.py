"""Load a clip as a sample, and collate samples: the work of ClipLoader's processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch.utils.data import Dataset

from ...errors import ImageRefused, LoaderError
from ...manifests.clips.load_clip import load_clip, video_pixels
from ...manifests.clips.windows import frame_files
from ...manifests.images.decode import decode_as_rgb
from ...manifests.sets.layouts.extents import Extent
from ...synth.clips import frame_name, render_clip
from ...synth.kernels.arrays import Pixels
from ..augment import CropFlip, crop_numbers, draw_crop
from ..lows import LiveLows
from ..options import Options
from ..samples import BatchTensors, sized
from ..stored_pairs import NumberedSamples, StoredPair, read_extent, undecodable
from .low_pixels import low_pixels
from .stored_clips import ClipContents, StoredClip


class ClipPlace(NamedTuple):
    """All that a process needs to make one sample."""

    clip: StoredClip
    epoch: int = 0
    number: int = 0  # of the clip among all


class ClipSample(NamedTuple):
    """A clip that has the size of its batch, but not its flips, layout and type yet."""

    lows: list[Pixels]
    normals: list[Pixels]
    crop: CropFlip
    key: str


class ClipSamples(NumberedSamples, Dataset[Any]):
    """Clips, transformed as the options ask for, or decoded, by number: lists of frames."""

    def __init__(self, contents: ClipContents, options: Options, live: LiveLows | None) -> None:
        self._contents, self._options, self._live = contents, options, live

    def _decoded_at(self, place: int) -> tuple[list[Pixels], list[Pixels]]:
        clip = self._contents.clips[place]
        normals = self._normals(clip)
        return self._lows(clip, normals, None, 0), normals

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, ClipPlace):
            return super().__getitem__(place)
        clip = place.clip
        normals = self._normals(clip)
        numbers = crop_numbers(self._options, place.epoch, [clip.key])[0]
        crop = draw_crop(self._options, numbers, *normals[0].shape[:2])
        lows = self._lows(clip, normals, crop, place.epoch)
        inner = crop if self._live is None else crop.within()
        return ClipSample(
            [sized(low, inner, self._options) for low in lows],
            [sized(normal, crop, self._options) for normal in normals],
            crop,
            clip.key,
        )

    def _normals(self, clip: StoredClip) -> list[Pixels]:
        if clip.place is None:
            return self._decoded(clip, "normal", clip.normals)
        try:
            if frame_files(clip.place) is None:
                return video_pixels(clip.place)
            return [frame.pixels for frame in load_clip(clip.place, cuts=True)]
        except ImageRefused as refusal:
            raise LoaderError(
                f"{self._contents.name}: {clip.key}: {refusal}; gloam build passes such clips over,"
                " and ClipLoader reads the set",
                key=clip.key,
            ) from None

    def _lows(
        self, clip: StoredClip, normals: list[Pixels], crop: CropFlip | None, epoch: int
    ) -> list[Pixels]:
        if self._live is None:
            lows = self._decoded(clip, "low", clip.lows)
            if lows[0].shape != normals[0].shape:
                raise LoaderError(f"{clip.key}: low and normal differ in size", key=clip.key)
            return lows
        drawn = self._live.draw(clip.key, epoch)
        window = None if crop is None else crop.window
        return render_clip(normals, drawn, window)

    def _decoded(self, clip: StoredClip, role: str, extents: Sequence[Extent]) -> list[Pixels]:
        frames = []
        of_set = self._contents.layout is not None
        for number, extent in enumerate(extents):
            data = np.frombuffer(read_extent(extent), np.uint8)
            try:
                frames.append(low_pixels(data) if of_set else decode_as_rgb(data.tobytes(), False))
            except ImageRefused as refusal:
                pair = StoredPair(clip.key, extent, extent)
                raise undecodable(pair, frame_name(role, number), refusal.detail, of_set) from None
        if len({frame.shape for frame in frames}) > 1:
            raise LoaderError(f"{clip.key}: its frames differ in size", key=clip.key)
        return frames


def collate_clips(options: Options, samples: Sequence[ClipSample]) -> tuple[Any, ...]:
    """Return a batch: (low, normal) or (low, normal, keys), of tensors (N, T, C, H, W)."""
    pairs = [
        (pair, one.crop) for one in samples for pair in zip(one.lows, one.normals, strict=True)
    ]
    made = tuple(
        images.view(len(samples), -1, *images.shape[1:])
        for images in BatchTensors.of(options, pairs).tensors()
    )
    return (*made, [one.key for one in samples]) if options.keys else made
