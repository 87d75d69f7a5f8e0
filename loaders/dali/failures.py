"""Which image DALI failed at.

It does not say, so the pairs of its next batches are found out and decoded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ...errors import LoaderError
from ..columns import read_extent
from ..dataset import decoded_pair
from ..index import Contents
from ..live.lows import normal_of
from ..options import Options


def explained(
    error: Exception,
    name: str,
    options: Options,
    suspects: Iterable[tuple[Contents, Sequence[int]]],
) -> LoaderError:
    """Return the error to raise in place of DALI's.

    It names the pair that DALI failed at, where that can be told.

    error: DALI's.
    name: of what is loaded.
    options: the loader's.
    suspects: numbers of the pairs that DALI was at.
    """
    for contents, numbers in suspects:
        with ThreadPoolExecutor(options.workers) as pool:
            # Unnamed, so that those behind the first that is found are not looked at.
            found = next(filter(None, pool.map(partial(_damage, contents), numbers)), None)
        found = found or _first_unknown(contents, options, numbers)
        if found is not None:
            return LoaderError.at(contents.name, str(found))
    # As where the machine has no memory left: what DALI says is all there is.
    return LoaderError.at(name, f"DALI: {last_words(error)}")


def _damage(contents: Contents, number: int) -> LoaderError | None:
    try:
        if contents.live:
            normal_of(contents.pairs[number], contents.layout is not None)
        else:
            decoded_pair(contents.pairs[number], "pillow", contents.layout is not None)
    except LoaderError as error:
        return error
    return None


def _first_unknown(
    contents: Contents, options: Options, numbers: Iterable[int]
) -> LoaderError | None:
    """Return which of the pairs, all of which gloam decodes, DALI does not, one by one."""
    from .pipelines import one_by_one

    members = ("normal",) if contents.live else ("low", "normal")
    images = [(contents.pairs[number], member) for number in numbers for member in members]
    pipeline = one_by_one(
        (read_extent(getattr(pair, member)) for pair, member in images),
        options.model_copy(update={"device": "cpu"}),
    )
    for pair, member in images:
        try:
            pipeline.run()
        except RuntimeError as error:
            where = getattr(pair, member).named(pair.key, member)
            return LoaderError(
                f"{where} cannot be decoded by DALI ({last_words(error)}): make it a JPEG or PNG,"
                ' or take backend="torch"',
                key=pair.key,
            )
    return None


def last_words(error: Exception) -> str:
    """Return what was wrong, out of DALI's long messages."""
    lines = [
        line
        for line in str(error).splitlines()
        if line and not line.startswith(("Critical", "Current", "  ", "which", "C++ context"))
    ]
    return lines[-1] if lines else str(error)
