"""What trainers look for as the sampler of a DataLoader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch.utils.data import Sampler, SequentialSampler

from .ranks_and_order import epoch_order

if TYPE_CHECKING:
    from .epochs import EpochLoader


class ShuffledSampler(Sampler[int]):
    """The numbers of a loader's samples in a shuffled order, that of (seed, epoch).

    Parameters
    ----------
    loader : EpochLoader
        Whose epoch is the one that trainers set here, as they do of a DistributedSampler.
    """

    def __init__(self, loader: EpochLoader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Set the loader's epoch."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        return self._loader.contents.count

    def __iter__(self) -> Iterator[int]:
        loader = self._loader
        return iter(epoch_order(len(self), loader.options.seed, loader.epoch, True).tolist())


def sampler_of(loader: EpochLoader) -> Sampler[Any]:
    """Return a sampler that says of a loader whether it shuffles.

    Lightning, for one, asks for a SequentialSampler where batches are to be the same ones again.
    """
    return ShuffledSampler(loader) if loader.options.shuffle else SequentialSampler(loader.dataset)
