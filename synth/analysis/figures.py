"""Figures of `gloam stats`. Needs matplotlib."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from .pair_statistics import LABELS, reference_statistics
from .photon_transfer import TransferPoint, by_sensor
from .set_statistics import Measured

_SHOWN = ("mean", "exposure_ev", "field_ev", "low_grid_ev", "noise_g")
_COLOURS = {"LOL": "tab:orange", "DICM": "tab:green"}


def statistics_figure(measured: Measured) -> bytes:
    """Draw histograms over the reference bands, and the photon transfer curve, as a PNG.

    The bands are percentiles 5 to 95, with a line at the median.
    """
    figure = Figure(figsize=(15, 8), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    references = reference_statistics()
    for axis, name in zip(axes, _SHOWN, strict=False):
        values = np.array(
            [row[name] for row in measured.rows if np.isfinite(row.get(name, np.nan))]
        )
        axis.set_title(LABELS[name])
        if len(values):
            bins = int(np.clip(2 * np.sqrt(len(values)), 10, 40))
            axis.hist(
                values,
                bins=bins,
                range=(min(0.0, values.min()), float(np.percentile(values, 99)) or 1.0),
                color="tab:blue",
            )
        for set_name, reference in references.items():
            band = reference.get(name)
            if isinstance(band, list):
                colour = _COLOURS.get(set_name, "grey")
                axis.axvspan(
                    band[0],
                    band[2],
                    color=colour,
                    alpha=0.15,
                    zorder=0,
                    label=f"{set_name}, 5 to 95 %",
                )
                axis.axvline(band[1], color=colour)
        axis.set_ylabel("pairs")
        axis.legend(fontsize="small")
    _draw_transfer(axes[-1], measured.transfer)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()


def _draw_transfer(axis: Axes, transfer: list[TransferPoint]) -> None:
    axis.set_title("photon transfer: set (dots), camera file (lines)")
    if not transfer:  # folders, and sets whose levels are not those of one sensor
        axis.text(
            0.5,
            0.5,
            "needs a set of the camera model,\ndemosaic binned or none",
            ha="center",
            transform=axis.transAxes,
        )
        axis.set_axis_off()
        return
    for (camera, iso), points in by_sensor(transfer).items():
        levels = [point.level for point in points]
        (line,) = axis.loglog(
            levels, [point.expected for point in points], label=f"{camera} ISO {iso:.0f}"
        )
        axis.loglog(levels, [point.measured for point in points], "o", color=line.get_color())
    axis.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_locator(LogLocator(subs=(1, 2, 5)))
        scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        scale.set_minor_formatter(NullFormatter())
    axis.set_xlabel("level of the low without noise, of 255")
    axis.set_ylabel("variance, levels$^2$")
