"""The examples in the docstrings of the public names run, and say what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import shutil
from pathlib import Path

import pytest

import gloam

from .clips import panned, write_frames

PLACES = {
    "gloam.ClipLoader": "gloam.loaders.clips.clip_loader",
    "gloam.darken": "gloam.synth.models",
    "gloam.Darken": "gloam.loaders.darkening",
    "gloam.darken_batch": "gloam.loaders.darkening",
    "gloam.brackets": "gloam.synth.brackets.brackets",
    "gloam.calibrate": "gloam.synth.calibrating.calibrate",
    "gloam.export": "gloam.synth.publishing.export",
    "gloam.fit": "gloam.synth.fitting.fit",
    "gloam.preview": "gloam.synth.measures.contact_sheet",
    "gloam.publish": "gloam.synth.publishing.publish",
    "gloam.rebuild": "gloam.synth.publishing.publish",
    "gloam.report": "gloam.synth.measures.report",
    "gloam.stage": "gloam.manifests.sets.stage",
    "gloam.stats": "gloam.synth.measures.set_statistics",
    "gloam.doctor": "gloam.loaders.doctor",
    "gloam.load_recipe": "gloam.synth.recipes.load",
    "gloam.build": "gloam.synth.building.build",
    "gloam.regenerate": "gloam.synth.building.regenerate",
    "gloam.open_set": "gloam.manifests.sets.pair_set",
    "gloam.verify": "gloam.synth.building.verify",
    "gloam.PairLoader": "gloam.loaders.pair_loader",
    "gloam.ImageLoader": "gloam.loaders.image_loader",
    "gloam.TorchLoader": "gloam.loaders.pair_loader",
    "gloam.mix": "gloam.loaders.mixture",
    "gloam.pairs_in": "gloam.loaders.contents",
    "gloam.judge": "gloam.loaders.judging.judge",
    "gloam.leaks": "gloam.synth.measures.leaks",
    "gloam.real": "gloam.manifests.real.real",
    "gloam.solve_field": "gloam.synth.fitting.field",
    "gloam.sets": "gloam.manifests.real.real",
    "gloam.realism": "gloam.synth.measures.realism",
    "gloam.errors.GloamError": "gloam.errors",
    "PairSet": "gloam.manifests.sets.pair_set",
    "parse": "gloam.synth.parameters.distributions",
    "parse_source": "gloam.manifests.sources.spec",
    "make_keys": "gloam.manifests.selection.candidates",
    "draw": "gloam.synth.models",
    "render": "gloam.synth.models",
    "render_batch": "gloam.synth.renderers",
}


def test_every_public_name_has_an_example():
    named = {name.removeprefix("gloam.").partition(".")[0] for name in PLACES}
    assert set(gloam.__all__) - {"__version__"} <= named


@pytest.fixture(scope="module")
def ground(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples name: photographs, a set, and folders of lows and normals."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "photos").mkdir()
    for photo in sorted(photographs.iterdir())[:6]:
        shutil.copy(photo, folder / "photos")
    gloam.build(folder / "SET", [f"folder={folder / 'photos'}"], val=2, select=False)
    gloam.build(
        folder / "files", [f"folder={folder / 'photos'}"], val=2, select=False, layout="files"
    )
    for sequence in ("a", "b"):
        write_frames(folder / "clips" / sequence, panned(1, 3))
    return folder


@pytest.mark.parametrize("name", PLACES)
def test_an_example_says_what_happens(name, ground, tmp_path, monkeypatch):
    shutil.copytree(ground, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    module = importlib.import_module(PLACES[name])
    last = name.rpartition(".")[2]
    value = getattr(module, last)
    found = doctest.DocTestFinder(recurse=False).find(value, last, module=module)
    examples = [example for test in found for example in test.examples]
    assert examples
    assert not any(doctest.SKIP in example.options for example in examples)
    for test in found:
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        report: list[str] = []
        assert not runner.run(test, out=report.append).failed, "".join(report)


def test_workers_have_one_default_in_the_whole_face():
    functions = [getattr(gloam, name) for name in gloam.__all__]
    given = [inspect.signature(one).parameters for one in functions if inspect.isfunction(one)]
    defaults = [one["workers"].default for one in given if "workers" in one]
    assert len(defaults) > 10
    assert set(defaults) == {None}
