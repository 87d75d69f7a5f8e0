"""`gloam.build`: the function of the command."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from ...engines.engine import Engine
from ...engines.process import available_cores
from ...errors import ConfigError
from ...manifests.config import load_yaml, validate
from ...manifests.request import OutputOptions
from ...manifests.selection.bounds import EVERYTHING, load_profile
from ...manifests.selection.plan import PlanOptions
from ...manifests.sources import Source, parse_source
from ...manifests.sources.collections import CLIPS
from ...manifests.sources.spec import name_sources
from ...progress import Progress, progress_of
from ...storage.stores import as_path
from ..recipes.load import Recipe, load_recipe
from ..recipes.overrides import Overrides, override_texts
from .build import Report
from .build import build as build_request
from .keep_out import pictures
from .request import BuildFile, Request

_FIELDS = {**PlanOptions.model_fields, **OutputOptions.model_fields}
_WINDOWS = ("frames", "stride", "step")


def build(
    root: str | Path,
    sources: str | Source | Iterable[str | Source] = (),
    *,
    config: str | Path | None = None,
    pairs: int | None = None,
    val: int | None = None,
    test: int | None = None,
    recipe: Recipe | str | None = None,
    overrides: Overrides = (),
    seed: int | None = None,
    layout: Literal["shards", "files"] | None = None,
    shard_size: int | None = None,
    low_codec: Literal["png", "jpeg", "none"] | None = None,
    low_quality: int | None = None,
    low_chroma: Literal["444", "422", "420"] | None = None,
    max_side: int | None = None,
    max_pixels: int | None = None,
    labels: bool | None = None,
    frames: int | None = None,
    stride: int | None = None,
    step: int | None = None,
    profile: str | Path | None = None,
    select: bool | None = None,
    not_like: str | Path | Iterable[str | Path] = (),
    name: str | None = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | bool | None = None,
    max_refused: float = 1.0,
    engine: Engine | None = None,
) -> Report:
    """Make a set of pairs from photographs, or continue one that the same call began.

    Parameters
    ----------
    root : str or Path
        Folder of the set; new, empty, or of this same build.
    sources : str, Source, or several
        Photographs, as `folder=photos` or `voc=VOCdevkit/VOC2012@trainval:1000`; those inside
        scikit-image where there are none.
    config : str or Path, optional
        A build file; other arguments override it.
    pairs, val, test : int, optional
        Number of pairs in all (default: every suitable photograph), for validation (default: a
        hundredth, at least one; an existing set keeps its own) and for testing (default: 0).
    recipe : Recipe or str, optional
        A shipped recipe's name, a YAML file, or a loaded recipe ("uneven").
    overrides : dict, str or iterable of str
        Single values of the recipe to change, such as `{"camera.iso": 3200}` or `camera.iso=3200`.
    seed : int, optional
        Random seed (0).
    layout, shard_size, low_codec, low_quality, low_chroma, max_side, max_pixels, labels, name
        Optional.
        See `request.OutputOptions` and `plan.PlanOptions`.
    frames, stride, step : int, optional
        Windows of `clips=` sources: frames of each clip, frame step within a clip (1), and frames
        from the start of one clip to the start of the next (`frames`).
    profile : str or Path, optional
        YAML bounds on suitable photographs.
    select : bool, optional
        False takes every photograph that can be read.
    not_like : str, Path, or several
        Sets whose scenes to leave out, such as a benchmark's: folders of images, gloam's sets, or
        real ones as "lol-v1=FOLDER"; see `gloam.leaks`. Photographs in frames, or of which such a
        picture is a smaller part, are not looked for.
    workers : int, optional
        Processes, by default as many as there are cores. They change no byte.
    cache : str or Path, optional
        Folder to keep measurements in, for later builds.
    progress : Progress or bool, optional
        Receives the progress. By default bars, in a terminal or a notebook; none for False.
    max_refused : float
        Largest share of the planned pairs that may fail while they are made.
    engine : Engine, optional
        Does the work, instead of processes of this machine.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError, SourceError, SetError, WorkerLost
        See `gloam.synth.building.build.build`.

    Examples
    --------
    >>> import gloam
    >>> report = gloam.build("made", ["folder=photos"], val=1, recipe="even", select=False)
    >>> report.info.counts
    {'train': 5, 'val': 1, 'refused': 0}
    """
    given = dict(locals())  # before anything else has a name here
    options = {name: given[name] for name in (*_FIELDS, *_WINDOWS, "not_like")}
    request = make_request(
        [sources] if isinstance(sources, str | Source) else sources,
        config,
        recipe,
        overrides,
        profile,
        select,
        options,
    )
    cached = None if cache is None else as_path(cache)
    with progress_of(progress) as shown:
        return build_request(
            request,
            as_path(root),
            workers or available_cores(),
            cached,
            shown,
            max_refused,
            engine=engine,
        )


def make_request(
    sources: Iterable[str | Source],
    config: str | Path | None,
    recipe: Recipe | str | None,
    overrides: Overrides,
    profile: str | Path | None,
    select: bool | None,
    options: dict[str, Any],
) -> Request:
    """Make a request from a build file and options, which override it.

    sources, config, recipe, overrides, profile, select: as of `build`. options: of plan and output,
    by name; None where they were not given.

    Raises ConfigError with the key, its value and what is allowed.
    """
    file = validate(BuildFile, load_yaml(as_path(config)), str(config)) if config else BuildFile()
    given = {name: value for name, value in options.items() if value is not None}
    if select is False and profile:
        raise ConfigError("--no-select and --profile exclude each other")
    chosen = [
        parse_source(source) if isinstance(source, str) else source for source in sources
    ] or list(file.sources)
    changes = [*override_texts(file.set), *override_texts(overrides)]
    takes_everything = select is False or (select is None and not file.select and not profile)
    bounds = Path(profile) if profile else (Path(file.profile) if file.profile else None)
    plan = (
        {"val": None}
        | file.plan.model_dump(exclude_unset=True)
        | {k: v for k, v in given.items() if k in PlanOptions.model_fields}
    )
    output = file.output.model_dump() | {
        k: v for k, v in given.items() if k in OutputOptions.model_fields
    }
    avoided = options.get("not_like") or file.not_like
    avoided = [avoided] if isinstance(avoided, str | Path) else avoided
    pictures.cache_clear()  # a folder may hold other ones by now
    windows = [name for name in _WINDOWS if name in given]
    if windows and not any(source.kind == CLIPS for source in chosen):
        raise ConfigError(f"--{windows[0]} is of {CLIPS}= sources; there is none", key=windows[0])
    chosen = [_with_windows(source, given) for source in chosen]
    return validate(
        Request,
        {
            "sources": tuple(name_sources(chosen or [Source(kind="sample")])),
            "profile": EVERYTHING if takes_everything else load_profile(bounds),
            "plan": validate(PlanOptions, plan, "options"),
            "recipe": load_recipe(file.recipe if recipe is None else recipe, changes),
            "output": validate(OutputOptions, output, "options"),
            "not_like": tuple(map(str, avoided)),
        },
        "options",
    )


def _with_windows(source: Source, given: dict[str, Any]) -> Source:
    """Return a source of clips with the windows that were asked for; others as they are."""
    if source.kind != CLIPS:
        return source
    values = source.model_dump() | {k: given[k] for k in _WINDOWS if k in given}
    if not values["frames"]:
        raise ConfigError(
            f"{CLIPS}={source.path}: say how many frames a clip has: --frames 8, say", key="frames"
        )
    return validate(Source, values, "options")
