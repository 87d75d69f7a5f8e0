"""Arguments of a GPU's kernels for clips; the kernels are tested by their twins on the CPU."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gloam.errors import LoaderError
from gloam.loaders.lows import LiveLows
from gloam.loaders.options import Options
from gloam.loaders.order import Position, Step
from gloam.loaders.render import cuda_lows
from gloam.loaders.render.cuda_lows import DeviceImages
from gloam.loaders.steps import DecodedStep, check_sizes
from gloam.synth.draws.table import table_of_records
from gloam.synth.models import draw
from gloam.synth.recipes.load import load_recipe

from ...clips import frame_draw

FRAMES = 3
RECIPE = load_recipe("even:0.5,uneven:0.5", ["mixture.even.video.drift_ev=uniform(-1, 1)"])
OPTIONS = Options(batch_size=2, size=(24, 32), crop="random", augment=True, workers=1)
KEYS = [f"clip{i}" for i in range(6)]


@pytest.mark.parametrize("draws", ["fresh", "set"])
def test_kernels_get_frames_and_the_draws_of_frames(monkeypatch, draws):
    given = []
    camera = SimpleNamespace(load=given.append)
    monkeypatch.setattr(cuda_lows, "new_camera", lambda: camera)
    monkeypatch.setattr(cuda_lows, "transformed_pairs", lambda *rest: given.append(rest))
    live = LiveLows(RECIPE, draws, 8)
    lows = cuda_lows.CudaLows(live, OPTIONS, KEYS)
    sizes, at = np.tile([40, 50], (2 * FRAMES, 1)), np.arange(2 * FRAMES, dtype=np.uint64) * 6000
    for own in ([0, 1], [4, 2]):
        lows.pairs(DeviceImages(np.array(own), sizes, at), 4, np.zeros((6, 7)), FRAMES)
        table, (_, normals, _, _, firsts) = given[-2:]
        assert normals.places.tolist() == list(range(2 * FRAMES))
        assert normals.at.tolist() == at.tolist()
        assert firsts.tolist() == [0] * FRAMES + [FRAMES * 6000] * FRAMES
        drawn = [
            frame_draw(draw(RECIPE, live.seed_of(4), KEYS[clip]), n)
            for clip in own
            for n in range(FRAMES)
        ]
        wanted = table_of_records(drawn)
        names = set(wanted.draws.dtype.names) - {"linear", "smooth", "first_light", "first_spread"}
        for name in sorted(names):  # the others are places, of tables that may be shared
            np.testing.assert_array_equal(table.draws[name], wanted.draws[name], name)
        np.testing.assert_array_equal(table.read, wanted.read)
    lows.close()


def test_frames_that_differ_in_size_are_named():
    sizes = np.array([[40, 50]] * 4 + [[40, 40]] + [[40, 50]])
    images, step = np.arange(6), Step(0, [Position(0, 0, 0), Position(0, 1, 0)])
    contents = SimpleNamespace(keys_of=lambda numbers: [KEYS[n] for n in numbers])
    with pytest.raises(LoaderError, match="clip1: its frames differ in size"):
        check_sizes(
            DecodedStep(step, None, sizes, images, images), [SimpleNamespace(contents=contents)]
        )
