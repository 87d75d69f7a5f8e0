"""Batches of mixtures on a GPU: the same as `dali_batches` makes on the CPU.

Lows of live components are made by kernels, with their normals; all other images are transformed by
DALI, each by a crop of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from ...synth.models import model_of
from ..dali.transforms.lows_on_gpu import LowsOnGpu
from ..dali.transforms.prefetch import CudaPrefetcher
from ..dali.transforms.transform_pipeline import AHEAD, StartedBatch, TransformPipeline
from ..live.cuda_tensors import OnGpu, addresses
from ..live.lows import LiveLows
from ..live.stream_keepalive import StreamKeepAlive
from ..options import Options
from .dali_batches import Group, MixedBatch, MixedPipeline, MixedSource, PartKeys
from .mixture import at
from .parts import IdentityLows, Part
from .shares import Whole

_AHEAD = 2  # batches that are made while one is used
_HELD = 4  # batches whose images may still be read


@dataclass
class _Started:
    """A batch that is being made.

    inputs: what keeps the memory that it is made from.
    made: rows, and (low, normal) of them.
    rest: rows of the others, which a pipeline transforms.
    """

    batch: MixedBatch
    inputs: Any
    made: list[tuple[Whole, Sequence[torch.Tensor]]] = field(default_factory=list)
    rest: StartedBatch | None = None


class MixedOnGpu(MixedPipeline):
    """Batches of a mixture, made ahead on a stream of their own.

    While one is made a thread has DALI decode the next: both take as long on the host.

    device_id: number of the GPU.
    """

    def __init__(
        self,
        decoder: Any,
        source: MixedSource,
        parts: Sequence[Part],
        keys: Sequence[PartKeys],
        sizes: Mapping[int, Options],
        device_id: int,
    ) -> None:
        super().__init__(decoder, source, parts, keys, sizes)
        self._device = device_id
        self._cameras: dict[Any, LowsOnGpu] = {}
        self._transforms: dict[Any, TransformPipeline] = {}
        self._ahead = CudaPrefetcher(self._on_stream, _AHEAD, device_id)
        self._begun: deque[_Started] = deque()
        self._decoding = ThreadPoolExecutor(
            1, initializer=torch.cuda.set_device, initargs=(device_id,)
        )
        self._next: Future[tuple[Any, MixedBatch, Whole]] | None = None
        self._held = StreamKeepAlive(_HELD)

    def run(self, stream: Any = None) -> tuple[Any, ...]:
        """Make the next batch."""
        return self._ahead.next().outputs

    def close(self) -> None:
        """End the threads that read, decode, draw and make batches."""
        self._ahead.close()
        self._decoding.shutdown(wait=False, cancel_futures=True)
        for camera in self._cameras.values():
            camera.close()
        super().close()

    def _on_stream(self, stream: Any) -> tuple[Any, Any, Any]:
        while len(self._begun) <= AHEAD:
            self._begun.append(self._begin(stream))
        first = self._begun.popleft()
        images = self._together(first, stream)
        self._held.keep((first.inputs, first.rest), stream)
        return images, first.batch._replace(encoded=()), b""

    def _begin(self, stream: Any) -> _Started:
        """Begin a batch."""
        awaited = self._next or self._decoding.submit(self._decoded, stream)
        self._next = None  # an error would keep what it came from
        try:
            decoded, batch, sizes = awaited.result()
        finally:
            del awaited
        self._next = self._decoding.submit(self._decoded, stream)
        options = at(self._sizes, batch.step)
        low_crops, crops = self._crops(batch, sizes, options)
        begun = _Started(batch, decoded)
        rest: list[int] = []
        lows: dict[int, torch.Tensor] = {}
        for group in batch.groups:
            live = self._parts[group.part].lows(batch.step)
            rows = group.rows.tolist()
            if live is None or isinstance(live, IdentityLows):
                rest += rows
                continue
            camera = self._camera(group.part, live, options)
            normals = [decoded[int(i)] for i in batch.normal[group.rows]]
            own = sizes[batch.normal[group.rows]]
            if camera is not None and options.size is not None:
                there = OnGpu(group.numbers, own, addresses(normals))
                pairs = camera.pairs(there, group.turn, crops[group.rows])
                begun.made.append((group.rows, pairs))
                continue
            rest += rows
            tensors = [from_dlpack(normal) for normal in normals]
            lows |= dict(zip(rows, self._lows(camera, live, group, own, tensors), strict=True))
        if rest:
            others = np.array(sorted(rest))
            begun.rest = StartedBatch(others)
            # DALI takes its own tensors in less time than torch's, but not both in one list.
            image = (lambda i: from_dlpack(decoded[i])) if lows else decoded.__getitem__
            self._transform(options).begin(
                begun.rest,
                [
                    lows[row] if row in lows else image(i)
                    for row, i in zip(others.tolist(), batch.low[others].tolist(), strict=True)
                ],
                [image(i) for i in batch.normal[others].tolist()],
                np.concatenate([low_crops[others], crops[others]]),
                stream,
            )
        return begun

    def _lows(
        self,
        camera: LowsOnGpu | None,
        live: LiveLows,
        group: Group,
        sizes: Whole,
        normals: Sequence[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Return whole lows; those of a recipe that no kernel draws are made on the CPU."""
        if camera is not None:
            lows = [torch.empty_like(normal) for normal in normals]
            camera.whole(OnGpu(group.numbers, sizes, addresses(normals)), group.turn, lows)
            return lows
        maker = live.maker([self._keys[group.part].names[i] for i in group.numbers], group.turn)
        arrays = [normal.cpu().numpy() for normal in normals]
        made = self._pool.map(maker.low, range(len(arrays)), arrays)
        return [torch.from_numpy(low).to(normals[0].device) for low in made]

    def _together(self, begun: _Started, stream: Any) -> tuple[torch.Tensor, ...]:
        """Return lows and normals of a batch, in order."""
        made = begun.made
        if begun.rest is not None:
            options = at(self._sizes, begun.batch.step)
            self._transform(options).finish(begun.rest, stream)
            made.append((begun.rest.labels, begun.rest.images[0].chunk(2)))
        if len(made) == 1:
            return tuple(made[0][1])
        order = torch.from_numpy(np.argsort(np.concatenate([rows for rows, _ in made])))
        device = made[0][1][0].device
        if device.type == "cuda":  # or else the host would wait for all that the stream has to do
            order = order.pin_memory().to(device, non_blocking=True)
        lows, normals = (
            torch.cat(images) for images in zip(*(own for _, own in made), strict=True)
        )
        return lows[order], normals[order]

    def _camera(self, part: int, live: LiveLows, options: Options) -> LowsOnGpu | None:
        """Return what makes a component's lows; None where its recipe is not the camera's."""
        if model_of(live.recipe) != "camera":
            return None
        which = part, id(live), options.size
        if which not in self._cameras:
            self._cameras[which] = LowsOnGpu(live, options, self._keys[part].names)
        return self._cameras[which]

    def _transform(self, options: Options) -> TransformPipeline:
        if options.size not in self._transforms:
            self._transforms[options.size] = TransformPipeline(options, self._device, apart=True)
        return self._transforms[options.size]
