"""Batches as NumPy's arrays, over the memory of torch's tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gloam
from gloam.errors import LoaderError
from gloam.loaders.backend import converted, converter, find_device
from gloam.loaders.options import Options


@pytest.mark.parametrize("make", [gloam.PairLoader, gloam.TorchLoader, gloam.ImageLoader])
def test_batches_are_numpy_arrays_with_the_same_samples(make, photographs, tmp_path):
    gloam.build(tmp_path / "set", f"folder={photographs}", select=False, val=8, recipe="even")
    options = {"batch_size": 4, "size": 32, "shuffle": False, "keys": True, "device": "cpu"}
    if make is gloam.TorchLoader:
        del options["device"]
        options["workers"] = 0
    theirs = list(make(tmp_path / "set", "val", **options))
    own = list(make(tmp_path / "set", "val", framework="numpy", **options))
    assert len(own) == len(theirs) == 2
    for batch, other in zip(own, theirs, strict=True):
        assert batch[-1] == other[-1]
        for array, tensor in zip(batch[:-1], other[:-1], strict=True):
            assert isinstance(array, np.ndarray)
            assert (array == tensor.numpy()).all()


def test_states_do_not_depend_on_the_framework(photographs):
    options = {"batch_size": 2, "size": 32, "live": True, "workers": 0}
    first = gloam.TorchLoader(gloam.pairs_in(photographs), **options)
    passed = iter(first)
    next(passed)
    state = first.state_dict()
    wanted = [low.numpy() for low, _ in passed]
    other = gloam.TorchLoader(gloam.pairs_in(photographs), framework="numpy", **options)
    other.load_state_dict(state)
    for low, (found, _) in zip(wanted, other, strict=True):
        assert (low == found).all()


def test_whatever_nests_is_converted_without_a_copy():
    tensor = torch.arange(6)
    batch = tensor, ["a"], {"boxes": [tensor, tensor], "numbers": 3}
    made = converted(batch, converter(Options(batch_size=1, framework="numpy")))
    assert made[1:2] == (["a"],)
    assert np.shares_memory(made[2]["boxes"][1], tensor.numpy())


def test_what_cannot_be_is_told():
    with pytest.raises(LoaderError, match="take framework='numpy'"):
        converter(Options(batch_size=1, framework="cupy"))
    with pytest.raises(LoaderError, match="take framework='cupy'"):
        converter(Options(batch_size=1, framework="numpy", device="gpu"))
    with pytest.raises(LoaderError, match="needs CuPy"):
        converter(Options(batch_size=1, framework="cupy", device="gpu"))
    with pytest.raises(LoaderError, match="framework"):
        gloam.TorchLoader([], batch_size=1, framework="paddle")


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_a_gpu_that_torch_does_not_see_is_one_line(device):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(LoaderError, match=r"torch sees no GPU.*take device='cpu'"):
        find_device(device).current()


def test_a_loader_in_a_dataloader_is_told_so(photographs):
    pairs = [(str(photo), str(photo)) for photo in sorted(photographs.glob("*.jpg"))[:4]]
    with gloam.TorchLoader(pairs, batch_size=2, size=32, workers=0) as loader:
        with pytest.raises(LoaderError, match="no DataLoader goes around it"):
            next(iter(torch.utils.data.DataLoader(loader)))
        assert len(list(loader)) == 2
