"""Stored images: the pixels of every other decoder, and its words for what is damaged."""

from __future__ import annotations

import numpy as np
import pytest

import gloam
from gloam.errors import ImageRefused
from gloam.manifests.images.decode import decode
from gloam.manifests.images.normals import encode
from gloam.synth.input_images import decode_image
from gloam.synth.kernels.png.file import encode_png


def test_pixels_are_those_of_the_general_decoder(photograph):
    low = gloam.darken(photograph, "uneven", seed=1, key="a")
    np.testing.assert_array_equal(decode_image(encode_png(low), "png"), low)
    for suffix in ("png", "jpg"):
        data = encode(low, suffix)
        np.testing.assert_array_equal(decode_image(data, suffix), decode(data, suffix))


def test_pngs_of_gloam_are_decoded_by_its_kernel(photograph, monkeypatch):
    def refuse(data, suffix):
        raise AssertionError("asked the general decoder")

    monkeypatch.setattr("gloam.manifests.images.decode.decode", refuse)
    np.testing.assert_array_equal(decode_image(encode_png(photograph), "png"), photograph)


@pytest.mark.parametrize("place", [20, 60, -30, -5])
def test_damage_is_refused_in_the_general_decoders_words(photograph, place):
    data = bytearray(encode_png(photograph))
    data[place] ^= 16
    with pytest.raises(ImageRefused) as general:
        decode(bytes(data), "png")
    with pytest.raises(ImageRefused) as own:
        decode_image(bytes(data), "png")
    assert own.value.detail == general.value.detail
    with pytest.raises(ImageRefused):
        decode_image(b"", "png")
