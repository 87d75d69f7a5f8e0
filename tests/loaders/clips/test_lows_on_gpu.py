"""Which lows a GPU decodes, and which cores do: with a decoder of the CPU in the GPU's place."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from gloam.errors import ImageRefused
from gloam.synth.kernels.png.decode import decode_png
from gloam.synth.kernels.png.file import encode_png

pytest.importorskip("numba_cuda")
from gloam.loaders.clips import lows_on_gpu
from gloam.loaders.clips.clip_bytes import Clip


class HostDecoder:
    """Takes what the GPU's takes: gloam's own files of one size."""

    def __init__(self, device_id):
        assert device_id == 0

    def decode(self, files, height, width):
        made = [decode_png(file) for file in files]
        found = np.array([one is not None and one.shape[:2] == (height, width) for one in made])
        pixels = np.zeros((len(files), height, width, 3), np.uint8)
        for place in np.flatnonzero(found):
            pixels[place] = made[place]
        return DeviceArray(pixels), found


class DeviceArray(np.ndarray):
    def __new__(cls, pixels):
        return pixels.view(cls)

    def copy_to_host(self):
        return np.asarray(self)


@pytest.fixture
def decoder(monkeypatch):
    monkeypatch.setattr(lows_on_gpu, "PngDecoder", HostDecoder)
    made = lows_on_gpu.LowsOnGpu(0, 4, 2)
    made._name = "cpu"
    yield made
    made.close()


def encoded(pixels, kind="gloam"):
    data = encode_png(pixels) if kind == "gloam" else cv2.imencode(".png", pixels[..., ::-1])[1]
    return np.frombuffer(bytes(data), np.uint8)


def pictures(*sizes):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 9, (*size, 3), dtype=np.uint8) for size in sizes]


def clip_of(files):
    made: Future[Clip] = Future()
    made.set_result(Clip(files, [], None))
    return made


def test_a_batch_is_one_tensor(decoder):
    images = pictures(*[(12, 20)] * 6)
    clips = [clip_of([encoded(one) for one in images[i : i + 3]]) for i in (0, 3)]
    for number in range(9):
        made = decoder.begin(number, clips).result()
        np.testing.assert_array_equal(made.numpy(), images)


def test_others_files_and_other_sizes_are_decoded_too(decoder):
    images = pictures((12, 20), (12, 20), (30, 7), (12, 20))
    kinds = "gloam", "cv", "gloam", "gloam"
    files = [encoded(one, kind) for one, kind in zip(images, kinds, strict=True)]
    for order in ([0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 1, 0]):
        made = decoder.begin(0, [clip_of([files[i] for i in order])]).result()
        for one, i in zip(made, order, strict=True):
            np.testing.assert_array_equal(one.numpy(), images[i])


def test_damage_is_told(decoder):
    files = [encoded(one) for one in pictures((12, 20), (12, 20))]
    files[1] = files[1][: len(files[1]) // 2]
    with pytest.raises(ImageRefused):
        decoder.begin(0, [clip_of(files)]).result()


def test_when_a_gpu_decodes(decoder, monkeypatch):
    small, large = (encoded(one) for one in pictures((12, 20), (40, 50)))
    asked = lows_on_gpu.decodes_on_gpu
    assert asked(0, small, 64, 16)
    assert not asked(0, small, 8, 16)  # cores have done it sooner
    assert not asked(0, encoded(pictures((12, 20))[0], "cv"), 64, 16)
    monkeypatch.setattr(lows_on_gpu, "_MOST", 64 * 1000)
    assert asked(0, small, 64, 16)
    assert not asked(0, large, 64, 16)

    def unusable(device_id):
        raise RuntimeError("no NVVM")

    monkeypatch.setattr(lows_on_gpu, "PngDecoder", unusable)
    assert not asked(0, small, 64, 16)


def test_a_set_has_no_gpu_decoder_where_there_is_no_numba(monkeypatch):
    from gloam.loaders.clips import stored_batches

    nothing = SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None))
    monkeypatch.setattr(stored_batches, "importlib", nothing)
    assert stored_batches.gpu_decoder(None, 0, 64, 2, 4) is None
