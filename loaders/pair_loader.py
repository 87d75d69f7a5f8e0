"""PairLoader: batches of (low, normal) from a set, by either backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from .backend import check_backend, class_of
from .epoch_loader import EpochLoader
from .index import Contents, cached_in, contents_of, open_data, warn_enlarged
from .labels import LabelColumns, label_columns
from .live.lows import LiveLows, is_live, live_lows, stored_draws
from .mixtures.mixture import Mixture, as_mixture
from .options import Options, PairOptions, check_names

if TYPE_CHECKING:
    from ..manifests.sets.pair_set import PairSet


class PairLoader(EpochLoader):
    """An iterable over batches of pairs; each pass is one epoch.

    Batches are (low, normal) torch tensors, with `keys=True`, `labels=True` and `give=` (low,
    normal, keys, labels, what is given), on the GPU or the CPU, in step: a low never comes with
    another image's normal.

    Parameters
    ----------
    data : PairSet, Mixture, str, Path or sequence
        A set, its folder, a list of (low, normal) paths or bytes, see `pairs_in`, or a mixture of
        several, see `mix`, or its YAML file.
    split : str
        "train", "val" or "test". For lists it says only how `shuffle` and `last_batch` are where
        they are not given.
    **options
        See `gloam.loaders.options.PairOptions`; `batch_size` must be given, `backend` says who
        decodes.

    Raises
    ------
    LoaderError
        When an option is wrong, there are fewer pairs than ranks, an image cannot be decoded (named
        by shard, key and member), or images of one batch differ in size.
    SetError
        When the set is half built, or a shard or index is missing or stale.

    Notes
    -----
    Each `iter()` begins an epoch, shuffled anew as the seed says, of exactly `len(loader)` batches;
    one that was left before its end counts too. See `set_epoch`. `state_dict` and `load_state_dict`
    resume in mid-epoch with exactly the batches that were left, augmentation included.

    A GPU has few queues that its streams share, unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise
    before CUDA starts: decoding then waits behind training. Importing gloam.loaders sets it to 32
    where it is not set; do so before the first use of the GPU.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.PairLoader("SET", batch_size=2, size=64, device="cpu")
    >>> for low, normal in loader:
    ...     print(tuple(low.shape), low.dtype)
    (2, 3, 64, 64) torch.float32
    (2, 3, 64, 64) torch.float32
    """

    _backend = "dali"
    _columns: LabelColumns | None
    _drawn: LiveLows | None  # how lows are or were drawn, where something of that is asked for

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Choose the subclass: by backend, and for mixtures."""
        chosen = cls
        if "_backend" in vars(cls):  # neither a copy nor a mixture's already
            data = args[0] if args else options.get("data")
            kind = "PairLoader" if as_mixture(data, options) is None else "MixedLoader"
            asked = options if cls is PairLoader else {**options, "backend": cls._backend}
            chosen = class_of(kind, asked)
        made: Self = super().__new__(chosen)
        return made

    def __init__(
        self,
        data: PairSet | Mixture | str | Path | Sequence[Any],
        split: str = "train",
        **options: Unpack[PairOptions],
    ) -> None:
        check_names(options, PairOptions)
        check_backend(options, self._backend)
        contents, chosen, lows = self._opened(data, split, options)
        reader = self._reader(contents, options)
        rank, world_size = options.get("rank"), options.get("world_size")
        super().__init__(contents, chosen, reader, rank, world_size, lows)
        self._set_up(options)

    def _opened(
        self, data: Any, split: str, given: Mapping[str, Any]
    ) -> tuple[Contents, Options, LiveLows | None]:
        """Open what is loaded; returns it, the options, and how lows are made."""
        recipe: Any = given.get("recipe")
        draws = given.get("draws")
        held = open_data(data, given.get("normals"))
        exact = given.get("exact") or None
        live = is_live(held, given.get("live"), recipe=recipe, draws=draws, exact=exact)
        chosen = self._options(given, split == "train", live)
        contents = contents_of(held, split, live=live)
        warn_enlarged(held, contents, chosen.size)
        contents = cached_in(contents, given.get("cache"), given.get("cache_gb"))
        lows = live_lows(held, recipe, draws, chosen.seed, split == "train") if live else None
        self._columns = label_columns(held, contents) if chosen.labels else None
        self._drawn = (lows or stored_draws(held)) if chosen.give else None
        return contents, chosen, lows

    def _reader(self, contents: Contents, given: Mapping[str, Any]) -> str:
        """Return what reads, as states know it."""
        raise NotImplementedError

    def _set_up(self, given: Mapping[str, Any]) -> None:
        """Set up what makes batches, if it is not built when the first one is wanted."""
