"""The plan: which candidates become pairs, and where; by the seed and the candidates alone."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from ...errors import ConfigError, Reason
from ...storage.parquet import pc
from ...storage.untrusted import MOST_PAIRS
from ...storage.untrusted import SPLITS as SPLITS
from ..clips.listing import CLIP, sequence_of
from ..config import Frozen
from ..sources import Source
from .bounds import KEPT, Profile, refusal_of
from .duplicates import near_duplicates

TRAIN, VAL, TEST = SPLITS
SPARE = "not chosen"
"""The reason of a suitable candidate that the number of pairs left out."""
DUPLICATE = "near-duplicate"
HELD_OUT = "of a held-out sequence"
"""The reason of a clip whose sequence another split has."""
_LARGEST_SHARD = 1000
_SMALLEST_SHARD = 50
_USUAL_SHARDS = 32
_HUNDREDTH = 100
_FEW_SEQUENCES = 10

_TEXTS = dict.fromkeys(("key", "split", "shard", "source", "path", "bytes"), pa.string())
PLAN_SCHEMA = pa.schema(_TEXTS | {"shard": pa.int32(), "bytes": pa.int64()})


class PlanOptions(Frozen):
    """Options of a plan; each field says what it is, and the command shows it.

    Without `val`, clips of ten or more sequences give whole sequences for validation. Without
    `shard_size`, small sets have fewer pairs a shard (down to 50), so that a split has 32 shards
    for workers and readers to share.
    """

    pairs: int | None = Field(
        default=None,
        ge=1,
        le=MOST_PAIRS,
        description="Number of pairs in all; if left out, all suitable ones.",
    )
    val: int | None = Field(
        default=0,
        ge=0,
        le=MOST_PAIRS,
        description="Pairs for validation; if left out, a hundredth of all, at least one.",
    )
    test: int = Field(default=0, ge=0, le=MOST_PAIRS, description="Pairs for testing.")
    shard_size: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="Largest number of pairs in a shard; if left out, 1000, fewer in small sets.",
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="Random seed.")


@dataclass(frozen=True)
class Plan:
    """A plan and the candidates that it was made from.

    pairs: `PLAN_SCHEMA`, ordered by split (train, val, test), shard and place within the shard.
    candidates: the given one with column `reason` completed: "" for what became a pair.
    val: how many pairs the validation split has.
    """

    pairs: pa.Table
    candidates: pa.Table
    val: int


def make_plan(
    candidates: pa.Table, sources: list[Source], profile: Profile, options: PlanOptions
) -> Plan:
    """Choose, split, shuffle and shard.

    Every choice is an order of hashes of (seed, purpose, key): which candidates of a source are
    taken, which of those are validation, and in which order pairs lie. So a key's luck does not
    depend on other keys, and a few more candidates change the plan only a little.

    candidates: table of `gloam.manifests.selection.candidates.measure_candidates`.
    sources: for their names, order and limits.

    Raises ConfigError when there are fewer suitable candidates than asked for.
    """
    reasons = refusal_of(candidates, profile)
    details = candidates.column("detail").to_numpy(zero_copy_only=False).astype(object)
    if profile.duplicate_bits is not None:
        looks = candidates.column("perceptual_hash").to_numpy()
        repeats = near_duplicates(looks, reasons == KEPT, profile.duplicate_bits)
        dropped = np.flatnonzero(repeats >= 0)
        repeated = candidates.column("key").take(repeats[dropped]).to_pylist()
        reasons[dropped], details[dropped] = DUPLICATE, [f"of {key}" for key in repeated]

    hashes = _key_hashes(candidates.column("key").to_pylist(), options.seed)
    chosen = _choose_candidates(candidates, sources, reasons, hashes[:, 0], options.pairs)
    spare = reasons == KEPT
    spare[chosen] = False
    reasons[spare] = SPARE

    # The validation split is the same, whether there is one for testing or not.
    sequences = _sequences_of_clips(candidates)
    luck = hashes if sequences is None else _key_hashes(sequences.tolist(), options.seed)
    by_luck = np.argsort(luck[chosen, 1], kind="stable")
    val = options.val
    if val is None:
        val = _usual_val(None if sequences is None else sequences[chosen[by_luck]], len(chosen))
    _check_splits(val, options.test, len(chosen))
    held_out = np.split(by_luck, [val, val + options.test])
    if sequences is not None:
        held_out = _without_shared_sequences(held_out, sequences[chosen])
        left = np.setdiff1d(np.arange(len(chosen)), np.concatenate(held_out))
        reasons[chosen[left]] = HELD_OUT
        details[chosen[left]] = "its other clips are held out"
    groups = [chosen[np.sort(places)] for places in (held_out[2], held_out[0], held_out[1])]
    parts = [group[np.argsort(hashes[group, 2], kind="stable")] for group in groups]
    order = np.concatenate(parts)
    columns = {name: candidates.column(name).take(order) for name in ("key", "source", "path")}
    columns["bytes"] = candidates.column("size").take(order)
    columns["split"] = np.repeat(SPLITS, list(map(len, parts))).tolist()
    columns["shard"] = np.concatenate([_shards(len(part), options.shard_size) for part in parts])
    table = pa.table(columns, schema=PLAN_SCHEMA)
    for name, values in (("reason", reasons), ("detail", details)):
        place = candidates.column_names.index(name)
        candidates = candidates.set_column(place, name, pa.array(values, pa.string()))
    return Plan(table.combine_chunks(), candidates, val)


def _usual_val(sequences: npt.NDArray[np.object_] | None, pairs: int) -> int:
    """Return the size of a validation split that nobody said: a hundredth, at least one.

    Clips give whole sequences, in the order given here.
    One of fewer than ten would cost too much.
    """
    val = min(max(1, pairs // _HUNDREDTH), pairs - 1)
    if sequences is None:
        return val
    if len(set(sequences)) < _FEW_SEQUENCES:
        return 0
    held = set(sequences[:val])
    return sum(sequence in held for sequence in sequences)


def splits_of(keys: list[str], seed: int, val: int, test: int) -> list[str]:
    """Return the split of each pair of a plan, as `make_plan` chooses them.

    Raises ConfigError when nothing would be left to train on.
    """
    _check_splits(val, test, len(keys))
    splits = np.full(len(keys), TRAIN, object)
    by_luck = np.argsort(_key_hashes(keys, seed)[:, 1], kind="stable")
    splits[by_luck[:val]] = VAL
    splits[by_luck[val : val + test]] = TEST
    return splits.tolist()


def _sequences_of_clips(candidates: pa.Table) -> npt.NDArray[np.object_] | None:
    """Return which sequence each clip is of; None where candidates are no clips.

    Clips of one sequence look alike: all of them have the luck of their sequence, so that no two
    splits share one.
    """
    held = set(candidates.column_names)
    if "offset" not in held or not pc.any(pc.equal(candidates.column("offset"), CLIP)).as_py():
        return None
    sources, paths = (candidates.column(name).to_pylist() for name in ("source", "path"))
    both = zip(sources, paths, strict=True)
    return np.array([f"{source}\0{sequence_of(path)}" for source, path in both], object)


def _without_shared_sequences(
    held_out: list[npt.NDArray[np.int64]], sequences: npt.NDArray[np.object_]
) -> list[npt.NDArray[np.int64]]:
    """Leave out of each part the clips of sequences that an earlier part has."""
    taken: set[str] = set()
    apart = []
    for part in held_out:
        apart.append(np.array([i for i in part.tolist() if sequences[i] not in taken], np.int64))
        taken |= {sequences[i] for i in part.tolist()}
    return apart


def _check_splits(val: int, test: int, pairs: int) -> None:
    """Refuse splits that leave nothing to train on."""
    both = val + test
    what = f"val = {val:,}" + (f", test = {test:,}" if test else "")
    if both and both == pairs:
        fewer = "val and test" if test else "val"
        raise ConfigError(
            f"{what}: of {pairs:,} pairs in all none would be left to train on; ask for more pairs,"
            f" or for fewer in {fewer} (a set of one split needs none)"
        )
    if both > pairs:
        there = "is only 1 pair" if pairs == 1 else f"are only {pairs:,} pairs"
        raise ConfigError(f"{what}: there {there} in all; ask for fewer")


def _key_hashes(keys: list[str], seed: int) -> npt.NDArray[np.uint64]:
    """Return three independent 64-bit hashes a key."""
    begun = hashlib.blake2b(f"gloam plan {seed}\0".encode(), digest_size=24)
    digests = bytearray()
    for key in keys:
        hasher = begun.copy()
        hasher.update(key.encode())
        digests += hasher.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").reshape(-1, 3)


def _choose_candidates(
    candidates: pa.Table,
    sources: list[Source],
    reasons: npt.NDArray[np.object_],
    hashes: npt.NDArray[np.uint64],
    pairs: int | None,
) -> npt.NDArray[np.int64]:
    of_source = candidates.column("source").to_numpy(zero_copy_only=False)
    groups = []
    for source in sources:
        group = np.flatnonzero((of_source == source.name) & (reasons == KEPT))
        group = group[np.argsort(hashes[group], kind="stable")]
        groups.append(group[: source.limit])
    available = [len(group) for group in groups]
    # Files that are damaged or of another kind are no matter of bounds.
    judged = not set(reasons) <= {KEPT, *Reason}
    if not sum(available):
        way_out = "loosen --profile or use --no-select" if judged else "mend them or add sources"
        if Reason.SCENE_CHANGE in reasons:
            way_out += "; a clip is a folder of the frames of one scene, or a video: photographs"
            way_out += " are a folder= source"
        raise ConfigError(f"no candidate is suitable{_refusals(of_source, reasons)}; {way_out}")
    wanted = sum(available) if pairs is None else pairs
    if wanted > sum(available):
        each = ", ".join(f"{s.name} {n:,}" for s, n in zip(sources, available, strict=True))
        raise ConfigError(
            f"pairs = {wanted:,}: only {sum(available):,}"
            f" {'candidate is' if sum(available) == 1 else 'candidates are'} suitable"
            f" ({each}){_refusals(of_source, reasons)}; ask for fewer, add sources,"
            + (" raise their limits, or loosen --profile" if judged else " or raise their limits")
        )
    shares = _apportion(wanted, available)
    return np.concatenate([group[:n] for group, n in zip(groups, shares, strict=True)])


def _refusals(of_source: npt.NDArray[np.object_], reasons: npt.NDArray[np.object_]) -> str:
    """Say how many candidates were refused for which reason, by source."""
    counts = Counter(zip(of_source[reasons != KEPT], reasons[reasons != KEPT], strict=True))
    by_source: dict[str, list[str]] = {}
    for (source, reason), count in counts.most_common():
        by_source.setdefault(source, []).append(f"{reason} {count:,}")
    return "".join(f"; {source}: refused {', '.join(each)}" for source, each in by_source.items())


def _apportion(total: int, available: list[int]) -> list[int]:
    """Cut `total` in proportion to what is available, by largest remainders, the earlier first."""
    whole = sum(available)
    shares = [total * n // whole for n in available]
    by_remainder = sorted(range(len(available)), key=lambda i: (-(total * available[i] % whole), i))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares


def _shards(pairs: int, size: int | None) -> npt.NDArray[np.int32]:
    """Return the shard number of each of a split's pairs; shards differ by one pair at most."""
    if size is None:
        size = min(_LARGEST_SHARD, max(_SMALLEST_SHARD, -(-pairs // _USUAL_SHARDS)))
    numbers = np.arange(-(-pairs // size), dtype=np.int32)
    each, more = divmod(pairs, max(len(numbers), 1))
    return np.repeat(numbers, each + (numbers < more))
