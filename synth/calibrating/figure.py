"""A calibration as a figure. Needs matplotlib."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ...errors import ConfigError
from ...storage.atomic import write_bytes
from .calibrate import CameraCalibration


def draw_calibration(found: CameraCalibration, path: Path) -> None:
    """Draw photon transfer with its lines, and gain and noise over ISO, as a PNG.

    Raises ConfigError when matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("--figure needs matplotlib: pip install 'gloam[figures]'") from error
    figure = Figure(figsize=(13, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for one in found.isos:
        points = left.plot(
            one.points.signal, one.points.variance, ".", markersize=2, alpha=0.4, rasterized=True
        )[0]
        ends = np.array([max(one.points.signal.min(), 1.0), one.points.signal.max()])
        dark = one.dark.read.value**2
        left.plot(
            ends, one.gain.value * ends + dark, color=points.get_color(), label=f"ISO {one.iso:g}"
        )
    left.set(xscale="log", yscale="log", xlabel="signal over black, DN", ylabel="variance, DN²")
    left.set_title("photon transfer: points of patches, lines of the fit")
    left.legend(fontsize="small")
    isos = [one.iso for one in found.isos]
    for name, estimates in {
        "K, DN per electron": [one.gain for one in found.isos],
        "read noise, DN": [one.dark.read for one in found.isos],
        "row noise, DN": [one.dark.row for one in found.isos],
    }.items():
        values, errors = zip(*estimates, strict=True)
        right.errorbar(isos, values, yerr=errors, marker="o", capsize=3, label=name)
    right.set(xscale="log", yscale="log", xlabel="ISO")
    right.set_title(found.name)
    right.legend(fontsize="small")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    write_bytes(path, buffer.getvalue())
