"""PairLoader and TorchLoader: batches of (low, normal) from a set, by either backend."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import LoaderError
from .backend import Device, choose_backend, options_for
from .components import OpenComponent, open_components
from .epoch_loader import EpochLoader
from .mixed_order import MixedOrder, MixedSampler
from .mixture import Mixture, as_mixture, schedule
from .options import Options, PairOptions, named_options
from .order import Order
from .stored_pairs import DECODERS

if TYPE_CHECKING:
    from ..manifests.sets.pair_set import PairSet


class PairLoader(EpochLoader):
    """An iterable over batches of pairs; each pass is one epoch.

    Batches are (low, normal) torch tensors, with `keys=True`, `labels=True` and `extras=` (low,
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

    _only: str | None = None  # the one backend of a class

    def __init__(
        self,
        data: PairSet | Mixture | str | Path | Sequence[Any],
        split: str = "train",
        **options: Unpack[PairOptions],
    ) -> None:
        given = named_options(options, PairOptions)
        if self._only is not None:
            asked = given.get("backend", "auto")
            if asked not in ("auto", self._only):
                raise LoaderError(
                    f"backend {asked!r}: this loader's is {self._only!r}; take PairLoader"
                )
            given = {**given, "backend": self._only}
        mixture = as_mixture(data, given)
        mixed = not mixture.plain
        choice = choose_backend(given, mixed)
        _check_options(given, choice.backend, mixed)
        sizes, wanted = _options_by_step(given, split, choice.backend, mixed, data)
        seed, resident = sizes[0].seed, given.get("resident", False)
        first = {**given, "size": sizes[0].size}
        components = open_components(mixture, first, split, seed)
        name = identity = ""  # those of the set or list
        if not mixed:
            order = Order(components[0].count, seed, sizes[0].shuffle, own=bool(resident))
        else:
            name = repr(mixture)
            own = json.dumps([[part.name, part.fingerprint()] for part in components])
            identity = hashlib.sha256(own.encode()).hexdigest()[:16]
            order = _mixed_order(mixture, components, sizes[0])
        super().__init__(components, order, sizes, given, split, name, identity)
        from .workers import set_up

        # DALI resizes stored pairs on a CPU; in mixtures gloam's kernels do.
        dali = {"resident": resident, "by_dali": not mixed}
        set_up(self, choice, wanted, given.get("decoder") or "opencv", **dali)


class TorchLoader(PairLoader):
    """PairLoader with backend="torch": OpenCV or Pillow decode, in worker processes.

    For a seed it gives the pairs, in the order, and cuts the windows that every PairLoader does.
    Batches are copied to the device ahead of their use, from pinned memory on a stream of its own.

    Examples
    --------
    >>> import gloam
    >>> loader = gloam.TorchLoader("SET", "val", batch_size=2, size=64, workers=0, device="cpu")
    >>> [tuple(normal.shape) for low, normal in loader]
    [(2, 3, 64, 64)]
    """

    _only = "torch"


def _options_by_step(
    given: Mapping[str, Any], split: str, backend: str, mixed: bool, data: Any
) -> tuple[dict[int, Options], Device]:
    """Return the checked options by step, and the device."""
    try:
        sizes = schedule(given.get("size"))
    except ValueError as error:
        raise LoaderError(f"size: {error}") from None
    live = bool(given.get("live") or given.get("recipe") or given.get("draws"))
    # Live or not: the same decoder is to decode a component whatever it is mixed with.
    live = live or (mixed and backend == "dali") or getattr(data, "live", False)
    chosen = {
        step: options_for(backend, {**given, "size": size}, split == "train", live)
        for step, size in sizes.items()
    }
    return {step: options for step, (options, _) in chosen.items()}, chosen[0][1]


def _check_options(given: Mapping[str, Any], backend: str, mixed: bool) -> None:
    """Refuse options that do not go with the backend, or with a mixture.

    Raises LoaderError.
    """
    resident = given.get("resident", False)
    if mixed:
        for name in ("labels", "resident", "resident_side"):
            if given.get(name):
                raise LoaderError(f"{name} goes with one set, not with a mixture: leave it out")
    if backend == "torch":
        for name in ("resident", "resident_side"):
            if given.get(name, "auto") not in ("auto", False, None):
                raise LoaderError(f"{name} goes with backend='dali': leave it out")
        if (given.get("decoder") or "opencv") not in DECODERS:
            raise LoaderError(f"decoder {given['decoder']!r}: must be opencv or pillow")
        return
    if given.get("decoder") is not None:
        raise LoaderError("decoder goes with backend='torch': leave it out")
    if mixed:
        unknown = set(given.get("extras") or ()) - {"component"}
        if unknown:
            raise LoaderError(
                f"extras {min(unknown)!r} of a mixture needs backend='torch', which 'auto' takes"
            )
    if resident not in (True, False, "auto"):
        raise LoaderError(f"resident {resident!r}: must be True, False or 'auto'")
    if given.get("resident_side") is not None and not resident:
        raise LoaderError("resident_side goes with resident=True")


def _mixed_order(
    mixture: Mixture, components: Sequence[OpenComponent], options: Options
) -> MixedOrder:
    """Return the order of a mixture, with the samples of an epoch.

    One of "longest" ends when every component has been gone through (`repeat` times), of "shortest"
    before one would begin again. Components whose weight is 0 at first do not count.
    """
    sampler = MixedSampler(
        [one.name for one in components],
        [one.weight for one in components],
        options.seed,
        options.shuffle,
    )
    sizes = [(one.contents.count, one.bright.count if one.bright else 0) for one in components]
    passes = [
        (i, one.count * mixture.components[one.name].repeat)
        for i, one in enumerate(components)
        if one.weight[0]
    ]
    after = sampler.place_after
    if isinstance(mixture.epoch, int):
        count = mixture.epoch
    elif mixture.epoch == "longest":
        count = max(after(i, samples - 1) for i, samples in passes)
    else:
        count = min(after(i, samples) - 1 for i, samples in passes)
    return MixedOrder(sampler, count, sizes)
