"""Mixtures whose images DALI decodes, all of a batch by one decoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from ...errors import LoaderError
from ...synth.parameters.columns import Keys
from ..dali.dali_loader import DaliLoader
from ..dali.forks import built
from ..index import Contents
from ..options import Options
from .dali_batches import MixedPipeline, MixedSource, PartKeys
from .epochs import MixedEpochs
from .torch_mixture import MixedSamples

_AHEAD = 8  # batches on a GPU that may be under way beside those that DALI prefetches


class MixedDali(MixedEpochs, DaliLoader):
    """A mixture with backend="dali"."""

    def _options(self, given: Mapping[str, Any], training: bool, live: bool) -> Options:
        # Live or not: the same decoder is to decode a component whatever it is mixed with.
        return super()._options(given, training, True)

    def _reader(self, contents: Contents, given: Mapping[str, Any]) -> str:
        if given.get("reader", "auto") not in ("auto", "external"):
            raise LoaderError(
                f"reader {given['reader']!r} reads one set alone, not a mixture: leave it out"
            )
        if given.get("decoder") is not None:
            raise LoaderError("decoder goes with backend='torch': leave it out")
        unknown = set(given.get("give") or ()) - {"component"}
        if unknown:
            raise LoaderError(
                f"give {min(unknown)!r}: of mixtures backend='torch' gives it, which 'auto' takes"
            )
        return "external"

    @property
    def dataset(self) -> MixedSamples:
        """The pairs of all components; `dataset[i]` decodes one of them on the CPU."""
        return MixedSamples(self.parts, self._sizes, "opencv", self.contents.count)

    def _build(self, epoch: int, checkpoint: bytes | None) -> Any:
        from ..dali import pipelines

        options = self.options
        far = any(one.far for one in self._sources())
        source = MixedSource(self.parts, self._batches_ahead(), options.workers, far)
        on_gpu = options.device == "gpu"
        device_id = self._wanted.current() if on_gpu else None
        decoder = pipelines.external_images(
            source,
            options,
            batch_size=2 * options.batch_size,
            num_threads=options.workers,
            device_id=device_id,
            prefetch_queue_depth=options.prefetch,
            enable_conditionals=on_gpu,
            **(pipelines.DECODERS_ALONE if on_gpu else {}),
        )
        decoder = built(decoder, self.contents.name)
        common = decoder, source, self.parts, self._keys, self._sizes
        if device_id is None:
            return MixedPipeline(*common)
        from .gpu_batches import MixedOnGpu

        return MixedOnGpu(*common, device_id)

    @cached_property
    def _keys(self) -> list[PartKeys]:
        named = [part.contents.keys_of(range(part.contents.count)) for part in self.parts]
        return [PartKeys(names, Keys(names)) for names in named]

    def pipeline(self, epoch: int = 0) -> Any:
        """Refuse to be one pipeline of DALI: raises LoaderError."""
        raise LoaderError("a mixture is no single pipeline of DALI: take the loader's batches")

    def _handed_out(self, outputs: tuple[Any, ...], count: int, done: int) -> tuple[Any, ...]:
        low, normal, batch = outputs
        made: tuple[Any, ...] = (low, normal)
        if self.options.keys:
            made = (*made, [self._keys[one.part].names[one.number] for one in batch.samples])
        if self.options.give:
            names = [self.parts[one.part].name for one in batch.samples]
            made = (*made, {"component": names})
        return made

    def _padded(self) -> int:
        return 0  # batches come by their places: none is passed over

    def _suspects(self) -> Iterable[tuple[Contents, Sequence[int]]]:
        found: dict[tuple[int, bool], dict[int, None]] = {}
        for _, samples in islice(self._batches_ahead(), self.options.prefetch + _AHEAD):
            for one in samples:
                found.setdefault((one.part, False), {})[one.number] = None
                if one.bright is not None:
                    found.setdefault((one.part, True), {})[one.bright[0]] = None
        parts = self.parts
        return [
            (contents, list(numbers))
            for (part, bright), numbers in found.items()
            if (contents := parts[part].bright if bright else parts[part].contents) is not None
        ]
