"""The base class of gloam's loaders: epochs, ranks, states, and the attributes of a DataLoader.

Each `iter()` begins an epoch of exactly `len(loader)` batches. An epoch that was left before its
end counts as one, so the next pass has the next number (and the next order, and other crops). Only
`load_state_dict` resumes in mid-epoch. An epoch begins when its first batch is requested, and ends
when another one is requested after its last: until then a state is one of its end, as in torchdata.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Self

from ..errors import GloamWarning, LoaderError
from . import accelerate
from .brightness import BrightnessWatch, SaidSwapped
from .dataset import ReadyBatch, first_batch
from .devices import converted, converter
from .index import Contents
from .live.lows import LiveLows
from .options import Options
from .ranks import Rank, find_rank, in_process_group
from .states import STATE_VERSION, LoaderState, checked_epoch, read_state


class EpochLoader:
    """An iterable over batches of pairs; each pass is one epoch.

    reader: name of the reader, as states record it.
    live: LiveLows; recipe and draws of lows that are not stored.
    epoch: number of the epoch that is running, or of the next one.
    end_of_dataloader: True after the last batch of an epoch; Accelerate's `accumulate` reads it.
    padded: number of pairs at the end of the latest batch that repeat pairs of this epoch: leave
      them out of metrics. See `Options.last_batch`.
    """

    # What a torch DataLoader has besides, and trainers look for.
    pin_memory = False
    prefetch_factor: int | None = None  # of worker processes
    end_of_dataloader = False
    padded = 0
    _of_pairs = True  # whether a batch begins with lows and normals

    def __init__(
        self,
        contents: Contents,
        options: Options,
        reader: str,
        rank: int | None,
        world_size: int | None,
        live: LiveLows | None = None,
    ) -> None:
        self.contents, self._asked, self.reader, self.live = contents, options, reader, live
        self.epoch = 0
        self._given = None if rank is None and world_size is None else find_rank(rank, world_size)
        self._bound: Rank | None = None  # from the first batch on
        self._batch = 0  # number of batches yielded in this epoch
        self._loaded = False  # True if a state was loaded since the last pass began
        self._pass: _Pass | None = None
        self._closed = False
        self._process: int | None = None  # whose threads or processes make batches
        said = not self._of_pairs or isinstance(contents.given, SaidSwapped)
        levels = self._asked.levels_to_values
        self._watch = None if said else BrightnessWatch(levels, len(self._sources()))
        self._check_share(self.rank)
        converter(options)  # refuses a framework whose library is missing

    @property
    def options(self) -> Options:
        """The options in force for the next batch; see `Options.last_batch`."""
        if self._asked.last_batch is not None:
            return self._asked
        last_batch = "partial"
        if accelerate.has_ranks():
            last_batch = "padded"
        elif self._given is None and in_process_group():
            last_batch = "even"
        return self._asked.model_copy(update={"last_batch": last_batch})

    @property
    def rank(self) -> Rank:
        """Rank of this process: as given, or as found at the first batch (before it, now)."""
        return self._given or self._bound or find_rank()

    @property
    def batch_size(self) -> int:
        """Pairs in a batch of this rank."""
        return self.options.batch_size

    @property
    def drop_last(self) -> bool:
        """True if an epoch leaves out pairs that do not fill a batch."""
        return self.options.last_batch == "drop"

    @property
    def remainder(self) -> int:
        """Number of pairs in the last batches of all ranks that repeat none; 0 if they are full.

        Accelerate keeps that many of what it gathers.
        """
        if self.options.last_batch != "padded":
            return 0
        return self.contents.count % (self.rank.world * self.batch_size)

    @property
    def sampler(self) -> Any:
        """A SequentialSampler of a loader that does not shuffle; None of one that does.

        Lightning reads it to repeat the same batches.
        """
        if self.options.shuffle:
            return None
        from torch.utils.data import SequentialSampler

        return SequentialSampler(self.dataset)

    @property
    def num_workers(self) -> int:
        """Processes that read beside this one."""
        return 0

    @property
    def dataset(self) -> Any:
        """The pairs of all ranks; `len` counts them."""
        raise NotImplementedError

    @property
    def batch_sampler(self) -> Any:
        """Iterable over an epoch's batches, for tools that skip some (`skip_first_batches`).

        It begins the epoch, and gives what `dataset` and `collate_fn` make the batches of.
        """
        return ReadyBatches(self)

    @property
    def collate_fn(self) -> Any:
        """The function that makes a batch of an item of `batch_sampler`."""
        return first_batch

    def __len__(self) -> int:
        """Return the number of batches in an epoch of this rank."""
        return self.rank.batches(self.contents.count, self.options)

    def __getitem__(self, number: Any) -> Any:
        """Refuse indexing by LoaderError: a loader is no map-style dataset for a DataLoader."""
        name = self._name
        raise LoaderError(
            f"{name} hands out batches by itself, `for batch in loader`: no DataLoader goes around"
            f" it, and one pair is {name}(...).dataset[number]"
        )

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Begin an epoch, or resume the one of a loaded state; a running pass ends."""
        if self._closed:
            raise LoaderError("the loader is closed")
        self._check_process()
        self._pass = _Pass(self)
        return self._pass

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch, which otherwise counts up by itself.

        The number of a state that was just loaded keeps the position in it. A running pass ends.

        With DALI a jump builds a new pipeline (seconds, on a GPU), whose shuffling begins anew: the
        order of the webdataset and file readers is a function of the seed, of the epoch that one
        jumped to, and of the epochs since; that of the external reader and of backend="torch", of
        (seed, epoch) alone. So does the epoch after one that was left before its end.

        Raises LoaderError when `epoch` is no whole number from 0 on.
        """
        epoch = checked_epoch(epoch)
        self._pass = None
        self._end_epoch()
        if epoch == self.epoch and (self._loaded or not self._batch):
            return
        self.epoch, self._batch, self._loaded = epoch, 0, False
        self._moved()

    def state_dict(self) -> dict[str, Any]:
        """Return the position, a small dict of JSON values; call it between batches.

        A state taken right after an epoch's last batch resumes with the empty rest of that epoch;
        one taken after the pass has ended, with the next epoch.
        """
        return {"fingerprint": self._fingerprint(), "epoch": self.epoch, "batch": self._batch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume, with the next pass, the position of a loader of the same set, options and rank.

        Raises LoaderError when the state is of another set, of other options or of another rank,
        with what differs, or is not as `state_dict` gave it.
        """
        found = read_state(LoaderState, state, self._fingerprint()).within(len(self))
        self._pass = None
        self.epoch, self._batch, self._loaded = found.epoch, found.batch, True
        self._moved()

    def close(self) -> None:
        """Free memory and end worker processes; the loader cannot be used afterwards."""
        self._closed, self._pass = True, None
        if self._process in (None, os.getpid()):
            self._free()
        for contents in self._sources():
            if contents.cache is not None:
                contents.cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copies: the position, but no pass, process or pipeline.

        Before its first batch a copy finds its own rank.
        """
        begun = self.epoch or self._batch
        return self.__dict__ | {
            "_pass": None,
            "_process": None,
            "_bound": self._bound if begun else None,
            "end_of_dataloader": False,
        }

    def __repr__(self) -> str:
        return (
            f"<{self._name} of {self.contents.name}: {self.contents.count:,} pairs in"
            f" {self.contents.split}, {len(self):,} batches of {self.batch_size}, epoch"
            f" {self.epoch}>"
        )

    @property
    def _name(self) -> str:
        """Public class name, whatever the backend."""
        return next(kind.__name__ for kind in type(self).__mro__ if kind.__name__[-6:] == "Loader")

    def _options(self, given: Mapping[str, Any], training: bool, live: bool) -> Options:
        """Find the device, and validate the options that were given."""
        raise NotImplementedError

    def _begin(self) -> Iterator[tuple[Any, ...]]:
        """Return the batches from `_batch` of `epoch` on."""
        raise NotImplementedError

    def _copy_ahead(self) -> None:
        """Start copying shards out of a store if there is a cache folder."""
        for contents in self._sources():
            if contents.cache is not None:
                contents.cache.begin()

    def _sources(self) -> Sequence[Contents]:
        """Return all that batches are read from."""
        return [self.contents]

    def _sources_of(self, batch: int) -> Sequence[str]:
        """Return what each pair of a batch is read from, as messages name it."""
        name, given = self.contents.name, self.contents.given
        first = given[0][0] if given and isinstance(given[0], tuple | list) else None
        if isinstance(first, str | os.PathLike):
            name = f"{name}, {os.fspath(first)} and others"
        return [name] * self.batch_size

    def _look_at(self, batch: tuple[Any, ...], last: bool) -> None:
        """Warn, once, where lows and normals may be taken for one another."""
        assert self._watch is not None
        said = self._watch.look(batch[:2], self._sources_of(self._batch - 1), last)
        if self._watch.over:
            self._watch = None
        for line in said:
            warnings.warn(line, GloamWarning, stacklevel=3)

    def _moved(self) -> None:
        """Drop prefetched batches, if there are some: the position has changed."""

    def _abandoned(self, left: int) -> None:
        """Drop prefetched batches: the last epoch was left `left` batches before its end."""
        self._moved()

    def _free(self) -> None:
        raise NotImplementedError

    def _fingerprint(self) -> dict[str, Any]:
        """Return the facts that two loaders must share for their states to be exchanged."""
        contents, rank = self.contents, self.rank
        own = {
            "version": STATE_VERSION,
            "data": contents.identity,
            "split": contents.split,
            "pairs": contents.count,
            "reader": self.reader,
            "rank": rank.rank,
            "world_size": rank.world,
            "options": self.options.fingerprint(),
        }
        return own | ({"live": self.live.fingerprint()} if self.live else {})

    def _check_share(self, rank: Rank) -> None:
        """Check that each rank has a batch."""
        count = self.contents.count
        if count < rank.world and self.options.last_batch != "padded":
            raise LoaderError.at(
                self.contents.name, f"{count} pairs are fewer than {rank.world} ranks"
            )
        if not rank.batches(count, self.options):
            raise LoaderError.at(
                self.contents.name,
                f"{count} pairs give {rank.world} ranks no full batch of"
                f" {self.batch_size}; take smaller batches or last_batch='partial'",
            )

    def _check_process(self) -> None:
        """Refuse a process that was forked from the one whose threads or processes make batches."""
        if self._process not in (None, os.getpid()):
            raise LoaderError.at(
                self.contents.name,
                "the loader was used before this process was forked: make a"
                " loader in each process, or start processes by 'spawn'",
            )

    def _bind(self) -> None:
        """Find this process's rank at the first batch, and check that it stays the same."""
        found = self._given or find_rank()
        if self._bound is not None and found != self._bound:
            raise LoaderError.at(
                self.contents.name,
                f"this was rank {self._bound.rank} of {self._bound.world} at"
                f" the loader's first batch and is {found.rank} of {found.world} now; make a new"
                " loader, or give rank= and world_size=",
            )
        self._check_share(found)
        self._bound = found

    def _end_epoch(self) -> None:
        """Go to the next epoch if all batches of this one were yielded."""
        if self._batch >= len(self) and not self._loaded:
            self.epoch, self._batch = self.epoch + 1, 0

    def _begin_pass(self) -> Iterator[tuple[Any, ...]]:
        self._check_process()
        self._bind()
        self._end_epoch()
        if self._batch and not self._loaded:
            left = len(self) - self._batch
            self.epoch, self._batch = self.epoch + 1, 0
            self._abandoned(left)
        self._loaded = self.end_of_dataloader = False
        return self._begin()

    def _count(self) -> bool:
        """Count a yielded batch; return True if it was the epoch's last one."""
        places = self._places_of(self._batch)
        self.padded = int((places >= self.contents.count).sum())
        self._batch += 1
        self.end_of_dataloader = self._batch == len(self)
        return self.end_of_dataloader

    def _places_of(self, batch: int) -> Any:
        """Return the places of a batch's pairs in the epoch's order; see `Rank.places`."""
        return self.rank.places(self.contents.count, self.options, batch)


class _Pass:
    """An iterator over one epoch."""

    def __init__(self, loader: EpochLoader) -> None:
        self._loader = loader
        self._batches: Iterator[tuple[Any, ...]] | None = None
        self._ended = False

    def __iter__(self) -> _Pass:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> tuple[Any, ...]:
        loader = self._loader
        if self._ended:
            self._end()
        if loader._pass is not self:
            raise LoaderError(
                "the loader is closed"
                if loader._closed
                else (
                    "this pass over the loader has ended: another one has begun, or set_epoch was"
                    " called, since its last batch"
                )
            )
        loader._check_process()
        if self._batches is None:
            self._batches = loader._begin_pass()
            if loader._batch >= len(loader):  # of a state of an epoch's end
                self._end()
            accelerate.set_running(loader, True)
        batch = next(self._batches, None)
        if batch is None:  # no end: an error ended what makes batches
            raise LoaderError("this pass over the loader ended with an error: begin another one")
        self._ended = loader._count()
        if loader._watch is not None:
            loader._look_at(batch, self._ended)
        convert = converter(loader.options)
        made: tuple[Any, ...] = batch if convert is None else converted(batch, convert)
        return made

    def _end(self) -> NoReturn:
        self._ended = True
        if self._loader._pass is self:
            self._loader._end_epoch()
            accelerate.set_running(self._loader, False)
        raise StopIteration


class ReadyBatches:
    """Batch sampler for another DataLoader: an epoch's batches, each as one ready sample."""

    sampler = None  # mmengine looks for one to set the epoch of, which the loader counts by itself

    def __init__(self, loader: EpochLoader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Set the loader's epoch; Hugging Face's Trainer calls it when it resumes in mid-epoch."""
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[Any]]:
        return ([ReadyBatch(batch)] for batch in self._loader)

    def __len__(self) -> int:
        return len(self._loader)
