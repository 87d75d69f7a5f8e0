"""Build the DALI pipeline of a PairLoader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ..augment import crop_numbers
from ..columns import StoredPair
from ..dataset import decoded_pair
from ..epoch_order import epoch_order, epoch_seed
from ..index import Contents
from ..live.lows import LiveLows, normal_of
from ..live.pool import decode_all, shrunk
from ..options import Options
from ..ranks import Rank
from .batches import keys_of_records, numbers_of
from .encoded import EncodedPairs, OrderedNumbers, ReaderNumbers
from .forks import built

_MOST_FILES = 8190  # a quarter of Linux's 65,530 mappings, of lows and normals
_FILLING = 128  # images that are decoded at once into a GPU's memory


@dataclass(frozen=True)
class PipelineBuilder:
    """Builds the pipelines of one loader and rank.

    drawn: how lows are or were drawn, where something of that is given.
    device_id: number of the GPU.
    """

    contents: Contents
    options: Options
    rank: Rank
    live: LiveLows | None
    drawn: LiveLows | None
    reader: str
    device_id: int | None

    def build(
        self,
        epoch: int,
        checkpoint: bytes | None,
        done: int,
        numbers: Callable[[int], list[int]],
        crops: Callable[[Any], Any],
    ) -> Any:
        """Build the pipeline of an epoch.

        epoch: the first one of its shuffling.
        checkpoint: DALI's own state to go on from.
        done: batches that were given before that state.
        numbers: function of a batch's number; see `source_numbers`.
        crops: see `operators.Crops`.

        Raises LoaderError with what DALI says: there is no GPU, no memory on it, ...
        """
        common = self.common(epoch, checkpoint)
        if self.live is not None:
            from .transforms.live_pipeline import LivePipeline

            kind: Any = LivePipeline
            pipeline = self.built(self._normals(epoch, numbers, common))
        else:
            pipeline = self.built(self._pairs(epoch, numbers, common | {"crops": crops}))
            if not self.options.give:
                return pipeline
            from .transforms.giving import StoredPipeline

            kind = StoredPipeline
        return kind(
            pipeline,
            self.live or self.drawn,
            self.options,
            self._reading(epoch, done),
            self._all_keys,
            self.device_id,
        )

    def _pairs(
        self, epoch: int, numbers: Callable[[int], list[int]], common: dict[str, Any]
    ) -> Any:
        from . import pipelines

        contents = self.contents
        if self.by_number and self._decodes_lows:
            source = self.source(numbers, "normal")
            return pipelines.pairs_of_decoded_lows(source.lows, source, **common)
        if self.by_number:
            return pipelines.external_pairs(self.source(numbers, "low", "normal"), **common)
        common["part"] = self.part(epoch)
        if self.reader == "webdataset":
            others = contents.shards("normal") if contents.two_sets else None
            return pipelines.webdataset_pairs(*contents.shards(), **common, normals=others)
        lists = str(contents.list_path("low")), str(contents.list_path("normal"))
        roots = str(contents.root), str(contents.normal_root)
        return pipelines.file_pairs(roots[0], *lists, **common, normal_root=roots[1])

    def _normals(
        self, epoch: int, numbers: Callable[[int], list[int]], common: dict[str, Any]
    ) -> Any:
        """Return the pipeline of normals, of which lows are made live."""
        from . import pipelines

        contents = self.contents
        if self.by_number:
            return pipelines.external_normals(self.source(numbers, "normal"), **common)
        common["part"] = self.part(epoch)
        if self.reader == "webdataset":
            return pipelines.webdataset_normals(*contents.shards("normal"), **common)
        paths = str(contents.root), str(contents.list_path("normal"))
        return pipelines.file_normals(*paths, **common)

    def common(self, epoch: int, checkpoint: bytes | None) -> dict[str, Any]:
        """Return what all pipelines are given."""
        from . import pipelines

        options = self._bounded
        if self.live is not None or self.drawn is None:  # then they make no whole normals
            options = options.model_copy(update={"give": ()})
        side_by_side = pipelines.SIDE_BY_SIDE if self.live is None else pipelines.DECODERS_ALONE
        return {
            "options": options,
            "batch_size": options.batch_size,
            "num_threads": options.workers,
            "device_id": self.device_id,
            "seed": epoch_seed(options.seed, epoch, f"draws of rank {self.rank.rank}"),
            "prefetch_queue_depth": options.prefetch,
            "enable_checkpointing": True,
            "checkpoint": checkpoint,
            # What branches on data: decoding on GPUs, small images, turned squares. DALI takes .3 s
            # to see to it.
            "enable_conditionals": options.device == "gpu"
            or options.crop == "random"
            or (options.augment and options.square),
            **(side_by_side if options.device == "gpu" else {}),
        }

    @property
    def _bounded(self) -> Options:
        """The options, with a buffer that the file reader can hold.

        It reads a rank's files again and again until a larger one is full; and copies all of a
        process's files once more than a quarter of the mappings that Linux allows are reserved.
        """
        if self.reader != "file":
            return self.options
        own = max(self.contents.count // self.rank.world, 1)
        most = min(self.options.shuffle_buffer, own, _MOST_FILES)
        return self.options.model_copy(update={"shuffle_buffer": most})

    def build_resident(self, place: tuple[int, int], pools: dict[str, Any]) -> Any:
        """Build the pipeline of pairs in memory, which are decoded the first time.

        place: (epoch, batch) to begin at.
        pools: keeps what is decoded.

        Raises DoesNotFit when memory is too small.
        """
        from .transforms.resident_pipeline import ResidentOnGpu, ResidentPipeline

        contents, live, options = self.contents, self.live, self.options
        batches, size = self.epoch_batches(), options.batch_size
        first, last = self.rank.slice(contents.count)
        places = partial(_in_turn, last - first, size)
        numbers = OrderedNumbers(self._own_order, places, 0, batches, size)
        done = place[0] * batches + place[1]
        if self.device_id is None:
            if "host" not in pools:
                own = range(first, last)
                pools["host"] = decode_all(
                    contents.pairs, own, self._decoded, options.workers, contents.name
                )
            drawn = self.drawn
            return ResidentPipeline(pools["host"], contents, live, drawn, options, numbers, done)
        if "gpu" not in pools:
            pools["gpu"] = self._filled(first, last)
        return ResidentOnGpu(
            pools["gpu"],
            contents.keys_of(range(first, last)),
            first,
            live=live,
            drawn=self.drawn,
            options=options,
            numbers=numbers,
            done=done,
            device_id=self.device_id,
        )

    def epoch_batches(self) -> int:
        """Return how many batches a pipeline has for an epoch."""
        options = self.options
        if self._ordered:
            return self.rank.batches(self.contents.count, options)
        # DALI pads every rank's part to whole batches, as many as the largest part has.
        largest = -(-self.contents.count // self.rank.world)
        return -(-largest // options.batch_size)

    @property
    def by_number(self) -> bool:
        """True if gloam reads the encoded images by number, not a reader of DALI."""
        shards = self.reader == "webdataset" and not self.contents.two_sets
        return self._ordered or self.contents.far or (shards and self._decodes_lows)

    @property
    def _decodes_lows(self) -> bool:
        """True if gloam decodes lows: it takes half as long as DALI for PNGs of its own."""
        contents, near = self.contents, self.contents.layout is not None and not self.contents.far
        return self.options.device == "cpu" and near and self.live is None and contents.png_lows

    @property
    def _ordered(self) -> bool:
        """True if batches need gloam's own order, which DALI's readers do not have."""
        others = self.rank.world > 1 and self.options.last_batch in ("even", "padded")
        return self.reader == "external" or others

    def epoch_of(self, base: int) -> Callable[[int], int]:
        """Return what tells the epoch of a pipeline's batch, by its number from epoch `base` on."""
        batches = self.epoch_batches()
        return lambda done: base + done // batches

    def _reading(self, base: int, done: int) -> Callable[[Any], tuple[list[str], int]]:
        """Return what tells keys and epoch of one batch after the other, by its labels."""
        epoch_of, counted = self.epoch_of(base), count(done)
        return lambda labels: (self.keys(labels), epoch_of(next(counted)))

    def part(self, epoch: int) -> Any:
        """Return what DALI's own readers are told of ranks and order: `pipelines.RankPart`."""
        from .pipelines import RankPart

        seed = epoch_seed(self.options.seed, epoch, "shuffle")
        return RankPart(self.rank.rank, self.rank.world, seed)

    def order(self, epoch: int) -> Any:
        """Return the numbers of all ranks' pairs in an epoch, as the external reader does."""
        options = self.options
        return epoch_order(self.contents.count, options.seed, epoch, options.shuffle)

    def _places(self, batch: int) -> Any:
        count = self.contents.count
        return self.rank.places(count, self.options, batch) % count

    def _own_order(self, epoch: int) -> Any:
        """Return the numbers of the pairs that this rank holds, in an epoch's order."""
        first, last = self.rank.slice(self.contents.count)
        options = self.options
        return first + epoch_order(last - first, options.seed, epoch, options.shuffle)

    def crops(self, epoch: int, numbers: Callable[[int], list[int]]) -> Callable[[Any], Any]:
        """Return what draws the crops of a pipeline's batches, by the keys of their pairs."""
        epoch_of = self.epoch_of(epoch)

        def drawn(info: Any) -> list[Any]:
            keys = self.contents.keys_of(numbers(info.iteration))
            return list(crop_numbers(self.options, epoch_of(info.iteration), keys))

        return drawn

    def source(self, numbers: Callable[[int], list[int]], *members: str) -> EncodedPairs:
        """Return what reads a pipeline's pairs, where gloam does."""
        far, given = self.contents.far, self.contents.layout is None
        return EncodedPairs(self.contents.pair, numbers, self.options.workers, far, given, members)

    def source_numbers(
        self, epoch: int, start: tuple[int, bytes] | None = None
    ) -> OrderedNumbers | ReaderNumbers:
        """Return what tells the numbers of the pairs of a pipeline's batches.

        epoch: the first one of the pipeline.
        start: (batch, state); see `ReaderNumbers`.
        """
        if self._ordered:
            size = self.options.batch_size
            return OrderedNumbers(self.order, self._places, epoch, self.epoch_batches(), size)
        return ReaderNumbers(partial(self._numbers, epoch), self.epoch_batches(), start)

    def _numbers(self, epoch: int, folder: Path, state: bytes | None) -> Any:
        """Build a pipeline of the numbers of pairs, in the order of DALI's own reader."""
        from . import pipelines

        contents, options = self.contents, self._bounded
        common = {
            "options": options,
            "batch_size": options.batch_size,
            "num_threads": 1,
            "device_id": None,
            "enable_checkpointing": True,
            "checkpoint": state,
            "part": self.part(epoch),
        }
        if self.reader == "webdataset":
            paths = pipelines.write_numbers(folder, contents.counts)
            return self.built(pipelines.webdataset_numbers(*paths, **common))
        (folder / "list.txt").write_text("".join(f"list.txt {i}\n" for i in range(contents.count)))
        return self.built(pipelines.file_labels(str(folder), str(folder / "list.txt"), **common))

    def built(self, pipeline: Any) -> Any:
        """Build a DALI pipeline."""
        return built(pipeline, self.contents.name)

    @property
    def _all_keys(self) -> list[str]:
        """The keys of all pairs, on a GPU, which has the draws of an epoch."""
        on_gpu = self.options.device == "gpu"
        return self.contents.keys_of(range(self.contents.count)) if on_gpu else []

    def keys(self, labels: Any) -> list[str]:
        """Return the keys of a whole batch, by its labels."""
        if self.reader == "webdataset" and not self.by_number:
            return keys_of_records(labels, len(labels))
        return self.contents.keys_of(numbers_of(labels).tolist())

    def _decoded(self, pair: StoredPair) -> tuple[Any, ...]:
        """Decode what stays in host memory of a pair."""
        if self.live is not None:
            images: tuple[Any, ...] = (normal_of(pair, self.contents.layout is not None),)
        else:
            images = decoded_pair(pair, "opencv", self.contents.layout is not None)
        return tuple(shrunk(image, self.options.resident_side) for image in images)

    def _filled(self, first: int, last: int) -> Any:
        """Decode this rank's pairs into the GPU's memory."""
        import torch

        from ..live.cuda_pool import CudaPool
        from . import pipelines

        options, batches = self.options, -(-(last - first) // _FILLING)
        places = partial(_in_turn, last - first, _FILLING)
        numbers = OrderedNumbers(lambda _: np.arange(first, last), places, 0, batches, _FILLING)
        live = self.live is not None
        kinds = ("normal",) if live else ("low", "normal")
        pipeline = self.built(
            pipelines.whole_pairs(
                self.source(numbers, *kinds),
                options,
                live,
                batch_size=_FILLING,
                num_threads=options.workers,
                device_id=self.device_id,
                prefetch_queue_depth=2,
                **pipelines.SIDE_BY_SIDE,
            )
        )
        with torch.cuda.device(self.device_id):
            stream = torch.cuda.current_stream()
            decoded = (pipeline.run(stream)[:-1] for _ in range(batches))
            pool = CudaPool(decoded, kinds, last - first, self.contents.name)
        del pipeline, decoded
        pipelines.release_memory()
        return pool


def _in_turn(count: int, size: int, batch: int) -> Any:
    """Return the places of a batch of samples in turn; beyond the last one, that again."""
    return np.minimum(np.arange(batch * size, (batch + 1) * size), count - 1)
