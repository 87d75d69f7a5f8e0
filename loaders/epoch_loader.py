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
from copy import copy
from operator import attrgetter, itemgetter
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from ..errors import GloamWarning, LoaderError
from ..synth.measures.wrong_pairs import swapped_warning
from .backend import Choice, Device, converted, converter
from .components import OpenComponent
from .contents import Contents, SaidSwapped, warn_of_pictures
from .lows import LiveLows
from .options import Options
from .order import Order, Share, Step, endless_steps
from .ranks import Rank, find_rank, has_ranks, in_process_group, set_running
from .states import MOST_EPOCHS, STATE_VERSION, checked_epoch

_ENOUGH, _FEWEST = 8, 3  # pairs of a source; at the end of an epoch
_BATCHES = 8  # that are looked at
_STEP = 61  # values of an image, of which one is looked at: prime, so that all channels are


class Backend:
    """Makes the batches of a loader: DALI in this process, or worker processes.

    name: who does, and why it was chosen, in words.
    num_workers: processes that read beside this one.
    prefetch_factor: batches that each of them makes ahead.
    worker_init_fn: function that each of them calls before its first sample.
    collate_fn: makes a batch of an item of `batch_sampler`.
    """

    num_workers: int = 0
    prefetch_factor: int | None = None
    worker_init_fn: Any = None
    collate_fn = itemgetter(0)  # of the one item, which is a batch already

    def __init__(self, choice: Choice, wanted: Device) -> None:
        self.name, self._wanted = str(choice), wanted

    @property
    def device(self) -> Any:
        """The device of batches, as torch has it."""
        return self._wanted.as_torch()

    def batches(self, loader: EpochLoader) -> Iterator[tuple[Any, ...]]:
        """Yield the batches that are left of the running epoch."""
        raise NotImplementedError

    def batch_sampler(self, loader: EpochLoader) -> Any:
        """Return an iterable that begins an epoch, for tools that skip batches."""
        return ReadyBatches(loader)

    def moved(self) -> None:
        """Drop what was made ahead: the place has changed."""

    def abandoned(self, loader: EpochLoader, left: int) -> None:
        """Drop it where the last epoch was left `left` batches before its end."""

    def close(self) -> None:
        """End threads and processes."""


def _backend_property(name: str, doc: str) -> Any:
    """Return a property that the backend of a loader has."""
    return property(attrgetter(f"backend.{name}"), doc=doc)


class BrightnessWatch:
    """Gathers the means of the first batches of a loader, until it is known which are brighter.

    levels: shift and scale, see `Options.levels_to_values`.
    sources: number of sets and lists that batches are of.
    left: batches that are still looked at.
    """

    def __init__(self, levels: tuple[float, float], sources: int) -> None:
        self._shift, self._scale = levels
        self._sources = sources
        self.left = _BATCHES
        self._means: dict[str, list[npt.NDArray[np.float64]]] = {}
        self._said: set[str] = set()

    def look(self, images: Sequence[Any], sources: Sequence[str], last: bool) -> list[str]:
        """Look at a batch, and return warnings.

        images: low and normal, tensors (N, ...), in values.
        sources: of each pair: its set or list, as messages name it.
        last: whether it is the epoch's last one.
        """
        self.left -= 1
        parts = [one.reshape(len(one), -1)[:, ::_STEP].float().mean(1) for one in images]
        means = np.stack([one.cpu().numpy() for one in parts], axis=1).astype(np.float64)
        for name, own in zip(sources, means / self._scale + self._shift, strict=False):
            self._means.setdefault(name, []).append(own)
        over = last or not self.left
        least = _FEWEST if over else _ENOUGH
        known = [name for name, own in self._means.items() if len(own) >= least]
        made = [  # sorted, as an unpaired low has nothing in common with the normal beside it
            swapped_warning(name, np.sort(self._means[name], axis=0))
            for name in known
            if name not in self._said
        ]
        self._said |= set(known)
        if over or len(self._said) >= self._sources:
            self.left = 0
        return [said for said in made if said]


class EpochLoader:
    """An iterable over batches of samples; each pass is one epoch.

    components: what is loaded: one, or those of a mixture.
    order: which samples come when.
    sizes: dict of step to Options.
    given: options, of which rank and world_size are taken.
    name: of what is loaded, for messages; that of the first component, by default.
    identity: changes when the samples change: states are tied to it. Likewise.
    backend: makes the batches.
    dataset: the samples of all ranks; `dataset[i]` decodes one of them on the CPU.
    epoch: number of the epoch that is running, or of the next one.
    end_of_dataloader: True after the last batch of an epoch; Accelerate's `accumulate` reads it.
    padded: number of samples at the end of the latest batch that repeat those of this epoch: leave
      them out of metrics. See `Options.last_batch`.
    """

    # What a torch DataLoader has besides, and trainers look for.
    pin_memory = False
    end_of_dataloader = False
    padded = 0
    _of_pairs = True  # whether a batch begins with lows and normals

    backend: Backend
    dataset: Any

    def __init__(
        self,
        components: Sequence[OpenComponent],
        order: Order,
        sizes: Mapping[int, Options],
        given: Mapping[str, Any],
        split: str,
        name: str = "",
        identity: str = "",
    ) -> None:
        for component in components:
            warn_of_pictures(component.contents, sizes[0].size)
            if component.bright is not None:
                warn_of_pictures(component.bright)
        self.components, self.order, self.sizes = tuple(components), order, sizes
        self.name, self.split, self._asked = name or self.contents.name, split, sizes[0]
        self._identity = identity or self.contents.identity
        self.epoch = 0
        rank, world_size = given.get("rank"), given.get("world_size")
        self._given = None if rank is None and world_size is None else find_rank(rank, world_size)
        self._bound: Rank | None = None  # from the first batch on
        self._batch = 0  # number of batches yielded in this epoch
        self._loaded = False  # True if a state was loaded since the last pass began
        self._pass: _Pass | None = None
        self._closed = False
        self._process: int | None = None  # whose threads or processes make batches
        said = not self._of_pairs or isinstance(self.contents.given, SaidSwapped)
        levels = self._asked.levels_to_values
        self._watch = None if said else BrightnessWatch(levels, len(self.components))
        self._check_share(self.share)
        converter(self._asked)  # refuses a framework whose library is missing

    @property
    def contents(self) -> Contents:
        """Contents of the first component; the only one, of what is no mixture."""
        return self.components[0].contents

    @property
    def live(self) -> LiveLows | None:
        """Recipe and draws of lows that are not stored, of the first component."""
        return self.components[0].lows(0)

    @property
    def options(self) -> Options:
        """The options in force for the next batch; see `Options.last_batch`."""
        if self._asked.last_batch is not None:
            return self._asked
        last_batch = "partial"
        if has_ranks():
            last_batch = "padded"
        elif self._given is None and in_process_group():
            last_batch = "even"
        return self._asked.model_copy(update={"last_batch": last_batch})

    @property
    def share(self) -> Share:
        """Rank and options: which part of the order this process has."""
        return Share(self.rank, self.options)

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
        return self.order.count % (self.rank.world * self.batch_size)

    @property
    def sampler(self) -> Any:
        """A SequentialSampler of a loader that does not shuffle; None of one that does.

        Lightning reads it to repeat the same batches.
        """
        if self.options.shuffle:
            return None
        from torch.utils.data import SequentialSampler

        return SequentialSampler(self.dataset)

    num_workers = _backend_property("num_workers", "Processes that read beside this one.")
    prefetch_factor = _backend_property("prefetch_factor", "Batches that each process makes ahead.")
    worker_init_fn = _backend_property(
        "worker_init_fn", "The function that each process calls before its first sample."
    )
    collate_fn = _backend_property(
        "collate_fn", "The function that makes a batch of an item of `batch_sampler`."
    )
    device = _backend_property("device", "The device of batches, as torch has it.")

    @property
    def batch_sampler(self) -> Any:
        """Iterable over an epoch's batches, for tools that skip some (`skip_first_batches`).

        It begins the epoch, and gives what `dataset` and `collate_fn` make the batches of.
        """
        return self.backend.batch_sampler(self)

    def __len__(self) -> int:
        """Return the number of batches in an epoch of this rank."""
        return self.order.batches(self.epoch, self.share)

    def __getitem__(self, number: Any) -> Any:
        """Refuse indexing by LoaderError: a loader is no map-style dataset for a DataLoader."""
        name = type(self).__name__
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

        Raises LoaderError when `epoch` is no whole number from 0 on.
        """
        epoch = checked_epoch(epoch)
        self._pass = None
        self._end_epoch()
        if epoch == self.epoch and (self._loaded or not self._batch):
            return
        self.epoch, self._batch, self._loaded = epoch, 0, False
        self.order.begin(epoch)
        self.backend.moved()

    def state_dict(self) -> dict[str, Any]:
        """Return the position, a small dict of JSON values; call it between batches.

        A state taken right after an epoch's last batch resumes with the empty rest of that epoch;
        one taken after the pass has ended, with the next epoch.
        """
        place = self.order.state(self.epoch, self._batch, self.share)
        return {"fingerprint": self._fingerprint(), **place}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume, with the next pass, the position of a loader of the same set, options and rank.

        A mixture's goes on on any rank, of any number of them.

        Raises LoaderError when the state is of another set, of other options or of another rank,
        with what differs, or is not as `state_dict` gave it.
        """
        self.epoch, self._batch = self.order.resume(state, self._fingerprint(), self.share)
        self._pass, self._loaded = None, True
        self.backend.moved()

    def close(self) -> None:
        """Free memory and end worker processes; the loader cannot be used afterwards."""
        self._closed, self._pass = True, None
        if self._process in (None, os.getpid()):
            self.backend.close()
        for cache in self._caches():
            cache.close()

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
            "order": self.order.ahead(),
            "backend": copy(self.backend),
            "_pass": None,
            "_process": None,
            "_bound": self._bound if begun else None,
            "end_of_dataloader": False,
        }

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.name}: {self.order.count:,} {self._what} in"
            f" {self.split}, {len(self):,} batches of {self.batch_size}, epoch {self.epoch}, by"
            f" {self.backend.name}>"
        )

    _what = "pairs"

    def steps_ahead(self, at_once: int = 1) -> Iterator[Step]:
        """Return all steps from this place on, epoch after epoch; see `order.endless_steps`.

        Whoever takes them may be ahead of this loader, in another thread, and outlive it.
        """
        return endless_steps(self.order.ahead(), *self.place, self.share, at_once)

    def copy_ahead(self) -> None:
        """Start copying shards out of a store if there is a cache folder."""
        for cache in self._caches():
            cache.begin()

    def used(self) -> None:
        """Note that threads or processes of this process make batches from now on."""
        self._process = os.getpid()

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and batch that come next."""
        return self.epoch, self._batch

    def _look_at(self, batch: tuple[Any, ...], last: bool) -> None:
        """Warn, once, where lows and normals may be taken for one another."""
        assert self._watch is not None
        step = self.order.step(self.epoch, self._batch - 1, self.share)
        sources = [self.components[i].shown_source for i in step.positions.component]
        said = self._watch.look(batch[:2], sources, last)
        if not self._watch.left:
            self._watch = None
        for line in said:
            warnings.warn(line, GloamWarning, stacklevel=3)

    def _caches(self) -> list[Any]:
        caches = (one.contents.cache for one in self.components)
        return [cache for cache in caches if cache is not None]

    def _fingerprint(self) -> dict[str, Any]:
        """Return the facts that two loaders must share for their states to be exchanged."""
        own = {
            "version": STATE_VERSION,
            "data": self._identity,
            "split": self.split,
            "pairs": self.order.count,
            "size": {str(step): one.fingerprint()["size"] for step, one in self.sizes.items()},
            **self.order.fingerprint(self.share),
        }
        live = self.components[0].lows_fingerprint()
        return own | ({"live": live["0"]} if live else {})

    def _check_share(self, share: Share) -> None:
        """Check that each rank has a batch."""
        count, world = self.order.count, share.rank.world
        if count < world and share.options.last_batch != "padded":
            raise LoaderError.at(self.name, f"{count} pairs are fewer than {world} ranks")
        if not self.order.batches(self.epoch, share):
            each = f" on each of {world} ranks" if world > 1 else ""
            raise LoaderError.at(
                self.name,
                f"{count} samples give no full batch of {self.batch_size}{each};"
                " take smaller batches or last_batch='partial'",
            )

    def _check_process(self) -> None:
        """Refuse a process that was forked from the one whose threads or processes make batches."""
        if self._process not in (None, os.getpid()):
            raise LoaderError.at(
                self.name,
                "the loader was used before this process was forked: make a"
                " loader in each process, or start processes by 'spawn'",
            )

    def _bind_rank(self) -> None:
        """Find this process's rank at the first batch, and check that it stays the same."""
        found = self._given or find_rank()
        if self._bound is not None and found != self._bound:
            raise LoaderError.at(
                self.name,
                f"this was rank {self._bound.rank} of {self._bound.world} at"
                f" the loader's first batch and is {found.rank} of {found.world} now; make a new"
                " loader, or give rank= and world_size=",
            )
        self._check_share(Share(found, self.options))
        self._bound = found

    def _end_epoch(self) -> None:
        """Go to the next epoch, if there is one, once all batches of this one were yielded."""
        last = self.epoch == MOST_EPOCHS - 1  # whose end is a state that can be loaded
        if self._batch >= len(self) and not self._loaded and not last:
            self.epoch, self._batch = self.epoch + 1, 0

    def _begin_pass(self) -> Iterator[tuple[Any, ...]]:
        self._check_process()
        self._bind_rank()
        self._end_epoch()
        if self._batch and not self._loaded:
            left = len(self) - self._batch
            self.epoch, self._batch = checked_epoch(self.epoch + 1), 0
            self.backend.abandoned(self, left)
        self._loaded = self.end_of_dataloader = False
        return self.backend.batches(self)

    def _count(self) -> bool:
        """Count a yielded batch; return True if it was the epoch's last one."""
        places = self.order.places(self.epoch, self._batch, self.share)
        self.padded = int((places >= self.order.count).sum())
        self._batch += 1
        self.end_of_dataloader = self._batch == len(self)
        return self.end_of_dataloader


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
            set_running(loader, True)
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
            set_running(self._loader, False)
        raise StopIteration


class ReadyBatches:
    """Batch sampler for another DataLoader: an epoch's batches, each in place of sample numbers."""

    sampler = None  # mmengine looks for one to set the epoch of, which the loader counts by itself

    def __init__(self, loader: EpochLoader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Set the loader's epoch; Hugging Face's Trainer calls it when it resumes in mid-epoch."""
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[Any]]:
        return ([batch] for batch in self._loader)

    def __len__(self) -> int:
        return len(self._loader)
