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
    from .synth.brackets.brackets import brackets as brackets
    from .synth.building.build import build as build
    from .synth.building.regenerate import regenerate as regenerate
    from .synth.building.verify import verify as verify
    from .synth.calibrating.calibrate import calibrate as calibrate
    from .synth.fitting.field import solve_field as solve_field
    from .synth.fitting.fit import fit as fit
    from .synth.measures.contact_sheet import preview as preview
    from .synth.measures.leaks import leaks as leaks
    from .synth.measures.realism import realism as realism
    from .synth.measures.report import report as report
    from .synth.measures.set_statistics import stats as stats
    from .synth.models import darken as darken
    from .synth.publishing.export import export as export
    from .synth.publishing.publish import publish as publish
    from .synth.publishing.publish import rebuild as rebuild
    from .synth.recipes.load import load_recipe as load_recipe

    __version__: str

_NAMES = {
    "errors": "errors",
    "loaders": "ClipLoader ImageLoader PairLoader TorchLoader mix pairs_in",
    "loaders.darkening": "Darken darken_batch",
    "loaders.doctor": "doctor",
    "loaders.judging.judge": "judge",
    "manifests.real.real": "real sets",
    "manifests.sets.pair_set": "open_set",
    "manifests.sets.stage": "stage",
    "synth.measures.leaks": "leaks",
    "synth.measures.contact_sheet": "preview",
    "synth.measures.set_statistics": "stats",
    "synth.brackets.brackets": "brackets",
    "synth.building.build": "build",
    "synth.building.regenerate": "regenerate",
    "synth.building.verify": "verify",
    "synth.calibrating.calibrate": "calibrate",
    "synth.fitting.field": "solve_field",
    "synth.fitting.fit": "fit",
    "synth.models": "darken",
    "synth.publishing.export": "export",
    "synth.publishing.publish": "publish rebuild",
    "synth.measures.realism": "realism",
    "synth.recipes.load": "load_recipe",
    "synth.measures.report": "report",
}
"""Names of the face, by the modules that have them; `errors` is one."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("gloam")
    if name in _HOMES:
        from importlib import import_module

        home = import_module(f".{_HOMES[name]}", __name__)
        return home if name == "errors" else getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
