"""Batches that a GPU makes of decoded images, ahead, on a stream of their own.

Lows of the camera model are made by kernels, with their normals; all other images are transformed
by DALI, each by a crop of its own. While one step is rendered a thread has the decoder begin the
next: both take as long on the host. The host's part of a live batch (keys, draws, launches) is done
while the GPU trains on the last one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from ...synth.models import model_of
from ...synth.parameters.keyed_random import Keys
from ..augment import CropFlip, Floats, crop_numbers
from ..backend import converted
from ..components import OpenComponent
from ..dali.pipelines import AHEAD, StartedTransform, TransformPipeline
from ..extras import batch_maps, draws_of, map_functions
from ..labels import begin_labels
from ..lows import LiveLows
from ..mixture import at
from ..options import Options
from ..order import Whole
from ..prefetch import BegunAhead, CudaPrefetcher, StreamKeepAlive
from ..steps import (
    DecodedStep,
    Decoder,
    Group,
    RenderedStep,
    draw_crops_of,
    groups_of,
    joint_numbers,
    rendered_step,
)
from .cuda_lows import CudaLows, DeviceImages, addresses

_READY = 2  # batches that are made while one is used
_HELD = 4  # batches whose images may still be read


@dataclass
class _Started:
    """A batch that is being made.

    made: rows, and images of them: (low, normal), or images alone.
    rest: the others, which a pipeline transforms.
    labels: what waits for them.
    """

    decoded: DecodedStep
    made: list[tuple[Whole, Sequence[torch.Tensor]]] = field(default_factory=list)
    rest: StartedTransform | None = None
    labels: Callable[[], dict[str, Any] | None] = lambda: None
    extras: dict[str, Any] | None = None


class CudaRenderer:
    """Makes batches of decoded steps on a GPU: the same as `CpuRenderer` on a CPU.

    sizes: dict of step to Options.
    device_id: number of the GPU.
    first, last: which samples of a single component may come.
    most: samples of a step.
    """

    def __init__(
        self,
        decoder: Decoder,
        components: Sequence[OpenComponent],
        sizes: Mapping[int, Options],
        device_id: int,
        first: int = 0,
        last: int | None = None,
        most: int = 0,
    ) -> None:
        self._decoder, self._components, self._sizes = decoder, components, sizes
        self._device, self._first, self._last = device_id, first, last
        self._most = most or sizes[0].batch_size
        self._pool = ThreadPoolExecutor(max(sizes[0].workers, 1))
        self._cameras: dict[Any, CudaLows] = {}
        self._keys: dict[int, list[str]] = {}
        self._drawn: dict[Any, BegunAhead[Future[Floats]]] = {}
        self._transforms: dict[Any, TransformPipeline] = {}
        depth = max(decoder.ahead, _READY)
        self._ahead = CudaPrefetcher(self._on_stream, depth, device_id)
        self._begun: deque[_Started] = deque()
        self._decoding = ThreadPoolExecutor(1, "", torch.cuda.set_device, (device_id,))
        self._next: Future[DecodedStep] | None = None
        self._held = StreamKeepAlive(_HELD)

    def next(self) -> RenderedStep:
        """Make the next batch, on torch's current stream."""
        rendered: RenderedStep = self._ahead.next()
        return rendered

    def close(self) -> None:
        """End the threads that decode, draw and make batches."""
        self._ahead.close()
        self._decoding.shutdown(wait=False, cancel_futures=True)
        for camera in self._cameras.values():
            camera.close()
        self._decoder.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _on_stream(self, stream: Any) -> RenderedStep:
        """Make the next batch on a stream of torch, with those after it begun."""
        while len(self._begun) <= AHEAD:
            self._begun.append(self._begin(stream))
        first = self._begun.popleft()
        step, images = first.decoded.step, self._join_images(first, stream)
        self._held.keep((first.decoded.images, first.decoded.held, first.rest), stream)
        keys = at(self._sizes, step.number).keys
        named = groups_of(step, self._components) if keys else None
        labels = first.labels()
        return rendered_step(self._components, step, images, named, labels, first.extras)

    def _begin(self, stream: Any) -> _Started:
        """Begin a batch."""
        awaited = self._next or self._decoding.submit(self._decoder.next, stream)
        self._next = None  # an error's traceback would hold the step
        try:
            decoded = awaited.result()
        finally:
            del awaited
        self._next = self._decoding.submit(self._decoder.next, stream)
        options, step = at(self._sizes, decoded.step.number), decoded.step
        groups = groups_of(step)
        random = joint_numbers(groups, lambda own: self._random_of(own, step.number, options))
        low_crops, crops = draw_crops_of(decoded, random, self._components, options)
        begun = _Started(decoded)
        labels = self._components[0].labels_of(step)
        begun.labels = begin_labels(labels, crops, options, self._pool.map)
        rest: list[int] = []
        lows: dict[int, torch.Tensor] = {}
        for group in groups:
            live = self._components[group.component].lows(step.number)
            every = group.frames(decoded.frames)
            rows = every.tolist()
            if live is None:
                rest += rows
                continue
            camera = self._lows_maker(group.component, live, options)
            if camera is not None and options.size is not None:
                there = self._device_images(decoded, group)
                made = camera.pairs(there, group.epoch, crops[every], decoded.frames)
                begun.made.append((every, made))
                continue
            rest += rows
            own = self._whole_lows(camera, live, decoded, group)
            lows |= dict(zip(rows, own, strict=True))
        begun.extras = self._extras(decoded, crops, options)  # of the same light
        if rest:
            self._transform_rest(begun, sorted(rest), lows, (low_crops, crops), options, stream)
        return begun

    def _transform_rest(
        self,
        begun: _Started,
        rest: Sequence[int],
        lows: Mapping[int, torch.Tensor],
        crops: tuple[Any, Any],
        options: Options,
        stream: Any,
    ) -> None:
        """Let DALI transform samples that kernels do not make."""
        decoded, rows = begun.decoded, np.array(rest)
        begun.rest = StartedTransform(rows)
        # DALI takes its own tensors in less time than torch's, but not both in one list.
        whole = decoded.images
        image = (lambda i: from_dlpack(whole[i])) if lows else whole.__getitem__
        normals = [image(i) for i in decoded.normal[rows].tolist()]
        if self._components[0].single:
            images, changes = normals, crops[1][rows]
        else:
            of_low = zip(rest, decoded.low[rows].tolist(), strict=True)
            images = [lows[row] if row in lows else image(i) for row, i in of_low]
            images += normals
            changes = np.concatenate([crops[0][rows], crops[1][rows]])
        self._transformer(options).begin(begun.rest, images, changes, stream)

    def _device_images(self, decoded: DecodedStep, group: Group) -> DeviceImages:
        """Return the normals of a group, where they lie."""
        which = decoded.normal[group.frames(decoded.frames)]
        if decoded.at is not None:
            places = decoded.at[which]
        else:
            places = addresses([decoded.images[i] for i in which.tolist()])
        return DeviceImages(group.numbers - self._first, decoded.sizes[which], places)

    def _whole_lows(
        self, camera: CudaLows | None, live: LiveLows, decoded: DecodedStep, group: Group
    ) -> list[torch.Tensor]:
        """Return whole lows; those of a recipe that no kernel draws are made on the CPU."""
        normals = [from_dlpack(decoded.images[int(i)]) for i in decoded.normal[group.rows]]
        if camera is not None:
            lows = [torch.empty_like(normal) for normal in normals]
            camera.whole(self._device_images(decoded, group), group.epoch, lows)
            return lows
        maker = live.maker(self._keys_of(group), group.epoch)
        arrays = [normal.cpu().numpy() for normal in normals]
        made = self._pool.map(maker.low, range(len(arrays)), arrays)
        return [torch.from_numpy(low).to(normals[0].device) for low in made]

    def _extras(self, decoded: DecodedStep, crops: Any, options: Options) -> dict[str, Any] | None:
        """Return what draws know of a batch; maps of one component alone."""
        if not options.extras:
            return None
        device, step, made = f"cuda:{self._device}", decoded.step.number, dict[str, Any]()
        groups = groups_of(decoded.step, self._components)
        # Half of it is hashes of keys, beside which this thread goes on.
        drawing = self._pool.submit(draws_of, self._components, step, groups, options)
        if options.maps:
            (group,) = groups
            component = self._components[group.component]
            drawn = component.lows(step) or component.drawn
            camera = None if drawn is None else self._lows_maker(group.component, drawn, options)
            if camera is not None:
                made = camera.maps(self._device_images(decoded, group), group.epoch, crops, options)
            else:
                image = partial(_image_on_host, decoded.images if drawn is not None else None)
                maps = self._pool.map(
                    lambda one, image, crop: one(image, crop),
                    map_functions(options, drawn, group.keys, group.epoch),
                    map(image, decoded.normal[group.rows].tolist()),
                    [CropFlip(*crop) for crop in crops.tolist()],
                )
                made = batch_maps(list(maps), options)
        made = drawing.result().extras(options, made, device)
        return dict(converted(made, lambda one: one.to(device)))

    def _join_images(self, begun: _Started, stream: Any) -> tuple[torch.Tensor, ...]:
        """Return the images of a batch, in order."""
        made = begun.made
        if begun.rest is not None:
            options = at(self._sizes, begun.decoded.step.number)
            self._transformer(options).finish(begun.rest, stream)
            images = begun.rest.images
            single = self._components[0].single
            made.append((begun.rest.rows, (images,) if single else images.chunk(2)))
        if len(made) == 1:
            return tuple(made[0][1])
        order = torch.from_numpy(np.argsort(np.concatenate([rows for rows, _ in made])))
        device = made[0][1][0].device
        if device.type == "cuda":  # or else the host would wait for all that the stream has to do
            order = order.pin_memory().to(device, non_blocking=True)
        whole = (torch.cat(images) for images in zip(*(own for _, own in made), strict=True))
        return tuple(one[order] for one in whole)

    def _keys_of(self, group: Group) -> list[str]:
        return self._components[group.component].contents.keys_of(group.numbers)

    def _all_keys(self, component: int) -> list[str]:
        """Return the keys of a component, which a GPU's draws of an epoch are made by."""
        if component not in self._keys:
            contents = self._components[component].contents
            last = contents.count if self._last is None else self._last
            self._keys[component] = contents.keys_of(range(self._first, last))
        return self._keys[component]

    def _random_of(self, group: Group, step: int, options: Options) -> Floats:
        """Return the random numbers that a group's crops are drawn by.

        Those of all pairs in an epoch are drawn ahead, but where nothing else reads all keys.
        """
        component = self._components[group.component]
        one = len(self._components) == 1 and self._last is None
        if one and component.lows(step) is None:
            return crop_numbers(options, group.epoch, Keys(self._keys_of(group)))
        which = group.component, options.size
        if which not in self._drawn:
            keys = Keys(self._all_keys(group.component))
            draw = partial(crop_numbers, options, keys=keys)
            self._drawn[which] = BegunAhead(partial(self._pool.submit, draw), 1)
        drawn: Floats = self._drawn[which].of(group.epoch).result()
        return drawn[group.numbers - self._first]

    def _lows_maker(self, component: int, live: LiveLows, options: Options) -> CudaLows | None:
        """Return what makes a component's lows; None where its recipe is not the camera's."""
        if model_of(live.recipe) != "camera":
            return None
        which = component, id(live), options.size
        if which not in self._cameras:
            self._cameras[which] = CudaLows(live, options, self._all_keys(component))
        return self._cameras[which]

    def _transformer(self, options: Options) -> TransformPipeline:
        if options.size not in self._transforms:
            (one, *_) = self._components
            count = self._most * one.contents.frames * (2 - one.single)
            self._transforms[options.size] = TransformPipeline(options, self._device, count)
        return self._transforms[options.size]


def _image_on_host(images: Any, number: int) -> Any:
    """Return an image of a GPU in host memory, once torch's current stream has come to it.

    None where nobody knows anything of it, as of a list's.
    """
    return None if images is None else np.asarray(from_dlpack(images[number]).cpu())
