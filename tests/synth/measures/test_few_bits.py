"""Files of 16 bits that hold 10 to 14, dark throughout: every command and loader says it, once."""

from __future__ import annotations

import io
import warnings

import cv2
import numpy as np
import pytest
import tifffile

import gloam
from gloam.errors import GloamWarning


def encoded(samples, suffix):
    if suffix == ".npy":
        out = io.BytesIO()
        np.save(out, samples)
        return out.getvalue()
    if suffix == ".tif":
        out = io.BytesIO()
        tifffile.imwrite(out, samples[..., ::-1], photometric="rgb")
        return out.getvalue()
    return cv2.imencode(suffix, samples)[1].tobytes()


def folders(root, low_bits, normal_bits, suffix=".png"):
    """Three pairs of a scene of so many bits in files of 16, or of 8 in files of 8."""
    for name, bits, share in (("low", low_bits, 0.2), ("normal", normal_bits, 1.0)):
        (root / name).mkdir()
        for number in range(3):
            rng = np.random.default_rng(number)
            scene = cv2.resize(rng.random((12, 12, 3)), (96, 80), interpolation=cv2.INTER_LINEAR)
            scene = np.clip(share * (scene + rng.normal(0, 0.004, scene.shape)), 0, 1)
            kind = np.uint8 if bits == 8 else np.uint16
            samples = np.rint(scene * ((1 << bits) - 1)).astype(kind)
            (root / name / f"{number}{suffix}").write_bytes(encoded(samples, suffix))
    return root / "low", root / "normal"


LOADED = {"batch_size": 1, "size": 32, "device": "cpu"}
READERS = {
    "stats": gloam.stats,
    "report": lambda low, normal: gloam.report(low, normal, out=low.parent / "x.html"),
    "fit": gloam.fit,
    "judge": lambda low, normal: gloam.judge(low=low, normal=normal, perceptual=False),
    "loader": lambda low, normal: gloam.PairLoader(gloam.pairs_in(low, normal), **LOADED),
    "torch": lambda low, normal: gloam.TorchLoader(gloam.pairs_in(low, normal), **LOADED),
    "live": lambda low, normal: gloam.TorchLoader(gloam.pairs_in(normal), live=True, **LOADED),
}


def told(reader, *given):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            READERS[reader](*given)
        except gloam.errors.SourceError:
            assert reader == "fit"  # of few and dark pairs
    return [str(one.message) for one in found if "16-bit" in str(one.message)]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("bits", "suffix", "said"),
    [(10, ".npy", 10), (12, ".png", 12), (12, ".tif", 12), (14, ".png", 14), (16, ".png", 0)],
)
def test_pictures_of_fewer_bits_than_their_files_are_told_once(
    tmp_path, reader, bits, suffix, said
):
    said = 0 if (reader, said) == ("live", 14) else said  # such lists may be of dark pictures
    found = told(reader, *folders(tmp_path, bits, bits, suffix))
    words = f"if they hold {said} bits, multiply them by {1 << 16 - said}"
    assert [words in one for one in found] == ([True] if said else [])


def test_arrays_of_floats_hold_no_bits(tmp_path):
    low, normal = folders(tmp_path, 12, 16)
    for path in low.iterdir():
        samples = cv2.imread(str(path), cv2.IMREAD_UNCHANGED) / np.float32(65535)
        path.unlink()
        np.save(path.with_suffix(".npy"), samples)
    for path in normal.iterdir():
        path.rename(path.with_suffix(".png"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gloam.stats(low)


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_a_build_counts_photographs_of_fewer_bits(tmp_path, suffix):
    (tmp_path / "photos").mkdir()
    folders(tmp_path / "photos", 16, 12, suffix)
    (tmp_path / "photos" / "low").rename(tmp_path / "photos" / "dark")
    sources = f"folder={tmp_path / 'photos'}"
    report = gloam.build(tmp_path / "set", sources, select=False, val=0, workers=1)
    assert [dict(one) for one in report.reasons.values()] == [{"unsupported": 3}]


def test_lows_alone_and_outputs_are_told_and_dark_lows_of_16_bits_are_not(tmp_path):
    (tmp_path / "a").mkdir()
    low, normal = folders(tmp_path / "a", 12, 8)
    assert "no sample is above 8" in told("loader", low, normal)[0]
    with pytest.warns(GloamWarning, match=f"{low}: 16-bit pictures.* hold 10 bits, multiply .* 64"):
        gloam.stats(low)
    with pytest.warns(GloamWarning, match=f"{low}: 16-bit pictures"):
        gloam.judge(low, low=normal, normal=normal, perceptual=False)
    (tmp_path / "b").mkdir()
    dark, bright = folders(tmp_path / "b", 12, 16)
    for reader in READERS:
        assert told(reader, dark, bright) == []
