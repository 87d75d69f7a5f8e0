"""Which image DALI failed at.

It does not say, so the samples of the steps that it was at are decoded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...errors import LoaderError
from ..components import OpenComponent
from ..contents import Contents
from ..options import Options
from ..order import Step
from ..stored_pairs import read_extent

Suspect = tuple[Contents, int]
"""A sample that was to be decoded, by its number."""


class DecodingFailed(LoaderError):
    """A decoder fails at clips that another one may decode."""


def explained(
    name: str,
    options: Options,
    components: Sequence[OpenComponent],
    error: Exception,
    steps: Sequence[Step],
) -> LoaderError:
    """Return the error to raise in place of DALI's.

    It names the image that DALI failed at, where that can be told; of clips `DecodingFailed`, where
    gloam decodes them.

    error: DALI's.
    name: of what is loaded.
    steps: those that DALI was at.
    """
    suspects, words = _samples_of_steps(components, steps), f"DALI: {last_words(error)}"
    with ThreadPoolExecutor(max(options.workers, 1)) as pool:
        # Unnamed, so that those behind the first that is found are not looked at.
        found = next(filter(None, pool.map(_decoding_error, suspects)), None)
    if components[0].contents.of_clips:
        return found or DecodingFailed.at(name, words)
    found = found or _first_refused_by_dali(options, suspects)
    # As where the machine has no memory left: what DALI says is all there is.
    return LoaderError.at(name, str(found) if found else words)


def _samples_of_steps(components: Sequence[OpenComponent], steps: Sequence[Step]) -> list[Suspect]:
    """Return the samples of steps, each once."""
    found = dict[tuple[int, bool, int], Suspect]()
    for one in (one for step in steps for one in step.positions):
        component, number = components[one.component], one.number
        found[one.component, False, number] = component.contents, number
        if component.bright is not None and one.bright is not None:
            number = one.bright[0]
            found[one.component, True, number] = component.bright, number
    return list(found.values())


def _decoding_error(suspect: Suspect) -> LoaderError | None:
    contents, number = suspect
    try:
        contents.images_of(contents.pair(number), "pillow")
    except LoaderError as error:
        return error
    return None


def _first_refused_by_dali(options: Options, suspects: Sequence[Suspect]) -> LoaderError | None:
    """Return which of the pairs, all of which gloam decodes, DALI does not, one by one."""
    from .pipelines import one_by_one

    pairs = [contents.pair(number) for contents, number in suspects]
    images = [(pair.key, "low", one) for pair in pairs for one in pair.lows]
    images += [(pair.key, "normal", one) for pair in pairs for one in pair.normals]
    on_cpu = options.model_copy(update={"device": "cpu"})
    pipeline = one_by_one((read_extent(extent) for *_, extent in images), on_cpu)
    for key, member, extent in images:
        try:
            pipeline.run()
        except RuntimeError as error:
            return LoaderError(
                f"{extent.named(key, member)} cannot be decoded by DALI ({last_words(error)}): make"
                ' it a JPEG or PNG, or take backend="torch"',
                key=key,
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
