"""Which image DALI failed at.

It does not say, so the samples of the steps that it was at are decoded here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from ...errors import LoaderError
from ..components import OpenComponent
from ..options import Options
from ..order import Step
from ..stored_pairs import StoredPair, decoded_pair, normal_of, read_extent

Suspect = tuple[StoredPair, tuple[str, ...], bool]
"""A pair, those of its members that were to be decoded, and whether it is a set's."""


def explained(
    name: str,
    options: Options,
    components: Sequence[OpenComponent],
    error: Exception,
    steps: Sequence[Step],
) -> LoaderError:
    """Return the error to raise in place of DALI's.

    It names the image that DALI failed at, where that can be told.

    error: DALI's.
    name: of what is loaded.
    steps: those that DALI was at.
    """
    pairs = list(_suspects(components, steps))
    with ThreadPoolExecutor(max(options.workers, 1)) as pool:
        # Unnamed, so that those behind the first that is found are not looked at.
        found = next(filter(None, pool.map(_damage, pairs)), None)
    found = found or _first_unknown(options, pairs)
    # As where the machine has no memory left: what DALI says is all there is.
    return LoaderError.at(name, str(found) if found else f"DALI: {last_words(error)}")


def _suspects(components: Sequence[OpenComponent], steps: Sequence[Step]) -> Iterator[Suspect]:
    """Yield what the steps hold, each sample once."""
    seen = set()
    for one in dict.fromkeys(one for step in steps for one in step.positions):
        component = components[one.component]
        for contents, number in (
            (component.contents, one.number),
            (component.bright, -1 if one.bright is None else one.bright[0]),
        ):
            if contents is None or number < 0 or (id(contents), number) in seen:
                continue
            seen.add((id(contents), number))
            members = ("normal",) if contents.live else ("low", "normal")
            yield contents.pair(number), members, contents.layout is not None


def _damage(suspect: Suspect) -> LoaderError | None:
    pair, members, of_set = suspect
    try:
        if members == ("normal",):
            normal_of(pair, of_set)
        else:
            decoded_pair(pair, "pillow", of_set)
    except LoaderError as error:
        return error
    return None


def _first_unknown(options: Options, suspects: Sequence[Suspect]) -> LoaderError | None:
    """Return which of the pairs, all of which gloam decodes, DALI does not, one by one."""
    from .pipelines import one_by_one

    images = [(pair, member) for pair, members, _ in suspects for member in members]
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
