"""Deep verification: every low made again and compared pixel by pixel.

Each is made from its stored normal and its stored draw; and normals are to be the same pixels to
the libraries that loaders and trainers read with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

import numpy as np

from ...engines.engine import Counted, Engine, ignore_progress
from ...engines.local import LocalEngine
from ...errors import ImageRefused, SetError, first_line
from ...manifests.images.decode import find_reader_mismatch
from ...manifests.recorded_request import OutputOptions
from ...manifests.sets.pair_set import PairSet
from ...manifests.sets.problems import Kind, Problem
from ...manifests.sets.sample import LOW, NORMAL, Sample
from ...manifests.sets.units import Unit, each_unit
from ..clips import frame_names, is_clip, named_frames, render_clip
from ..input_images import decode_image
from ..kernels.arrays import Pixels
from ..measures.wrong_pairs import MOST_BRIGHTER, MOST_OF_AREA, brighter, brighter_area, brightness
from ..models import MODEL, Draw, LowMaker, draw_many, form_of, has_lamps, parse_draw
from ..recipes.load import recorded_recipe
from . import WARM
from .make_unit import Making, encode_low

_Drawn = tuple[Draw, Callable[[Pixels], Pixels]]
_AT_ONCE = 16  # pairs whose draws are read together
_MEND = (
    "its bytes are as they were written, so the machine or the gloam that made it erred; build the"
    " set anew, in another folder"
)


def recheck_set(
    pairs: PairSet, engine: Engine | None = None, at: Counted = ignore_progress
) -> list[Problem]:
    """Make every low of a set again and compare; of a live set, every draw.

    pairs: with its normals, where they lie in another set. engine: this process by default. at:
    called with the number of pairs compared so far.

    Returns pairs whose stored low is not what normal and draw make. Raises SetError when the set
    holds lows only and was opened without the set that it was made from, or when its lows are of
    another model.
    """
    engine = engine or LocalEngine()
    pairs.check_pass(engine)
    model = pairs.info.build.versions.get("model", "1")
    if model != str(MODEL):
        raise SetError.at(
            pairs.root,
            f"its lows were made by model {model}, this gloam has model {MODEL}; verify it deeply"
            " with that gloam",
        )
    engine.warm(WARM)
    request = pairs.info.build.request
    # A live set holds draws alone: they are to be those of its recipe, seed and keys.
    recipe = recorded_recipe(request.recipe, f"recipe of {pairs.root}") if pairs.live else None
    form = form_of(pairs.info.build.versions)
    how = Making(pairs.root, "", recipe, pairs.info.seed, request.output, form=form)
    results = each_unit(partial(_recheck_unit, how), pairs.units(), engine, at)
    problems = [problem for found, _ in results for problem in found]
    for number, parts in enumerate(("", f" on more than {MOST_OF_AREA:.1%} of its area")):
        bright = [where for _, found in results for where in found[number]]
        if len(bright) > MOST_BRIGHTER * len(pairs):
            others = f", as are {len(bright) - 1:,} others" if len(bright) > 1 else ""
            what = f"its low is brighter than its normal{parts}{others}"
            problems.append(Problem(bright[0], what, kind=Kind.LOW, remark=True))
    return problems


def _recheck_unit(how: Making, unit: Unit) -> tuple[list[Problem], tuple[list[str], list[str]]]:
    """Return what is wrong with a unit, and where lows are brighter than normals, or parts are."""
    problems: list[Problem] = []
    damage: list[Problem] = []
    bright: tuple[list[str], list[str]] = [], []

    def readable() -> Iterator[Sample]:
        try:
            yield from unit.pairs()
        except SetError as error:
            damage.append(Problem(*unit.where(error)))

    pairs = readable()
    while group := list(islice(pairs, _AT_ONCE)):
        for pair, known in zip(group, _draws_of(group, how), strict=True):
            where = f"{unit.name}: {pair.key}"
            try:
                problem = _problem_of(pair, known, how, where, bright)
            except ImageRefused as refusal:
                problem = f"cannot be decoded: {refusal.detail}"
            except (ValueError, TypeError) as error:
                problem = f"the stored draw is damaged: {first_line(error)}"
            if problem:
                problems.append(Problem(where, problem, _MEND, Kind.LOW))
    return problems + damage, bright


def _draws_of(group: Sequence[Sample], how: Making) -> list[_Drawn | None]:
    """Return the draw of each pair, and what makes its low; None of clips, and of damaged draws.

    Draws of several pairs are read together, which takes a fifth of the time.
    """
    found: dict[int, _Drawn] = {}
    with suppress(Exception):  # each pair tells of it alone
        stills = {
            place: parse_draw(one.record["draw"])
            for place, one in enumerate(group)
            if not (how.recipe or is_clip(one.record["members"]))
        }
        maker = LowMaker([*stills.values()])
        for number, (place, one) in enumerate(stills.items()):
            found[place] = one, partial(maker.low, number)
    return [found.get(place) for place in range(len(group))]


def _problem_of(
    pair: Sample,
    known: _Drawn | None,
    how: Making,
    where: str,
    bright: tuple[list[str], list[str]],
) -> str:
    """Say what is wrong with a pair or a clip, if anything.

    known: its draw and what makes its low, where they are at hand. bright: get `where` it is, if
    its low is the brighter one, or is in parts.
    """
    drawn, make = known or (parse_draw(pair.record["draw"]), None)
    clip = is_clip(pair.record["members"])
    names = frame_names(pair.members, NORMAL) if clip else [NORMAL]
    normals = [pair.decoded(name, decode_image) for name in names]
    for name, normal in zip(names, normals, strict=True):
        problem = find_reader_mismatch(pair.members[name].data, normal)
        if problem:
            if clip:
                return f"{name}: {problem}"
            return f"low and normal are out of step for some readers: of the normal, {problem}"
    if how.recipe is not None:
        wrong = draw_many(how.recipe, how.seed, [pair.key], how.form)[0] != drawn
        return "the stored draw is not that of the recipe, the seed and its key" if wrong else ""
    made_lows = render_clip(normals, drawn) if make is None else [make(normals[0])]
    lows = named_frames(LOW, made_lows, clip)
    for low, normal in zip(lows.values(), normals[:1], strict=False):  # of a clip the first
        if brighter(brightness(low, normal)).any():
            bright[0].append(where)
        elif not has_lamps(drawn) and brighter_area(low, normal) > MOST_OF_AREA:
            bright[1].append(where)
    for number, (name, made) in enumerate(lows.items()):
        problem = _difference(pair.decoded(name, decode_image), made, how.output)
        if problem:
            return f"frame {number}: {problem}" if clip else problem
    return ""


def _difference(low: Pixels, made: Pixels, output: OutputOptions) -> str:
    """Compare a stored low with the one that is made again."""
    if output.low_codec == "jpg":
        encoded = encode_low(made, output)
        made = decode_image(encoded.data, encoded.suffix)
    if low.shape != made.shape:
        sizes = [f"{width} x {height}" for height, width, _ in (low.shape, made.shape)]
        return f"the low is {sizes[0]}, its normal {sizes[1]}"
    different = int(np.count_nonzero(low != made))
    what = f"{different} of {low.size} samples of the low are not what its normal and draw make"
    return what if different else ""
