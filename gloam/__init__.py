"""gloam: paired low-light / normal-light image sets from ordinary photographs.

The sets are for training low-light image enhancement.

    darken(image, recipe, seed=, key=)      one low
    Darken(recipe), darken_batch(images)    the same as an augmentation, and of many images
    load_recipe(name)                       what lows are drawn from
    build(root, sources, ...)               photographs to a set
    regenerate(origin, root, ...)           the same pairs with new noise
    open_set(root), verify(root)            a finished set
    export, publish, rebuild, stage         a set in another form, given away, made again, copied
    stats, report, preview                  numbers, a page, a contact sheet to look at
    realism(lows, normals, recipe=)         whether lows can be told from real ones
    judge(outputs, on=)                     figures of a network's outputs, with intervals
    leaks(a, b)                             pictures of one set that are in another
    fit, calibrate                          a recipe from real lows, a camera from raw files
    solve_field(normal, low)                the light by place and lightness of one real pair
    brackets(folder, out)                   real pairs from one's own exposure brackets
    doctor()                                what this machine lacks
    PairLoader, TorchLoader, pairs_in       loading pairs in training
    mix(components)                         several sources in every batch, by weights
    ImageLoader                             loading photographs and their classes
    ClipLoader                              loading clips of video
    real(name, folder, split), sets()       real sets as their authors lay them out
    errors                                  what is raised

Importing gloam loads nothing else and changes nothing; each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors as errors
    from .loaders import ClipLoader as ClipLoader
    from .loaders import ImageLoader as ImageLoader
    from .loaders import PairLoader as PairLoader
    from .loaders import TorchLoader as TorchLoader
    from .loaders import mix as mix
    from .loaders import pairs_in as pairs_in
    from .loaders.darkening import Darken as Darken
    from .loaders.darkening import darken_batch as darken_batch
    from .loaders.doctor import doctor as doctor
    from .loaders.judging.judge import judge as judge
    from .manifests.real.real import real as real
    from .manifests.real.real import sets as sets
    from .manifests.sets.pair_set import open_set as open_set
    from .manifests.sets.stage import stage as stage
    from .synth.analysis.leaks import leaks as leaks
    from .synth.analysis.preview import preview as preview
    from .synth.analysis.set_statistics import stats as stats
    from .synth.brackets.brackets import brackets as brackets
    from .synth.building.build import build as build
    from .synth.building.regenerate import regenerate as regenerate
    from .synth.building.verify import verify as verify
    from .synth.calibrating.calibrate import calibrate as calibrate
    from .synth.fitting.field import solve_field as solve_field
    from .synth.fitting.fit import fit as fit
    from .synth.models import darken as darken
    from .synth.publishing.export import export as export
    from .synth.publishing.publish import publish as publish
    from .synth.publishing.rebuild import rebuild as rebuild
    from .synth.realism.realism import realism as realism
    from .synth.recipes.load import load_recipe as load_recipe
    from .synth.reporting.report import report as report

    __version__: str

_HOMES = {
    "ClipLoader": ("loaders", "ClipLoader"),
    "Darken": ("loaders.darkening", "Darken"),
    "ImageLoader": ("loaders", "ImageLoader"),
    "PairLoader": ("loaders", "PairLoader"),
    "TorchLoader": ("loaders", "TorchLoader"),
    "brackets": ("synth.brackets.brackets", "brackets"),
    "build": ("synth.building.build", "build"),
    "calibrate": ("synth.calibrating.calibrate", "calibrate"),
    "darken": ("synth.models", "darken"),
    "darken_batch": ("loaders.darkening", "darken_batch"),
    "doctor": ("loaders.doctor", "doctor"),
    "errors": ("errors", ""),
    "export": ("synth.publishing.export", "export"),
    "fit": ("synth.fitting.fit", "fit"),
    "judge": ("loaders.judging.judge", "judge"),
    "leaks": ("synth.analysis.leaks", "leaks"),
    "load_recipe": ("synth.recipes.load", "load_recipe"),
    "mix": ("loaders", "mix"),
    "open_set": ("manifests.sets.pair_set", "open_set"),
    "pairs_in": ("loaders", "pairs_in"),
    "preview": ("synth.analysis.preview", "preview"),
    "publish": ("synth.publishing.publish", "publish"),
    "real": ("manifests.real.real", "real"),
    "realism": ("synth.realism.realism", "realism"),
    "rebuild": ("synth.publishing.rebuild", "rebuild"),
    "regenerate": ("synth.building.regenerate", "regenerate"),
    "report": ("synth.reporting.report", "report"),
    "sets": ("manifests.real.real", "sets"),
    "solve_field": ("synth.fitting.field", "solve_field"),
    "stage": ("manifests.sets.stage", "stage"),
    "stats": ("synth.analysis.set_statistics", "stats"),
    "verify": ("synth.building.verify", "verify"),
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("gloam")
    if name in _HOMES:
        from importlib import import_module

        module, attribute = _HOMES[name]
        home = import_module(f".{module}", __name__)
        return getattr(home, attribute) if attribute else home
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
