"""A calibration from a folder of raw files: darks and flats of some ISOs."""

from __future__ import annotations

import io
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from ...errors import SourceError, needed
from ...progress import Progress, Silent
from ...storage.atomic import write_bytes
from .estimates import (
    Dark,
    Estimate,
    Level,
    Transfer,
    black_of,
    check_flat,
    check_flat_pair,
    clipped_share,
    dark_of,
    fit_gain,
    join_points,
    level_of,
    transfer,
)
from .raw_files import RawFile, find_raws, read_raw_header

_DARK = 0.004  # of the span from black to white: means below are of the dark
_SAME = 0.03  # by which exposures may differ and be called equal
_FEWEST_DARKS = 2


@dataclass(frozen=True)
class AtIso:
    """The calibration at one ISO. gain: DN per electron. darks, flats: frames that it rests on."""

    iso: float
    gain: Estimate
    dark: Dark
    points: Transfer
    darks: int
    flats: int

    @property
    def numbers(self) -> tuple[Estimate, ...]:
        """Those of a row of a camera file: gain, read noise, its scale and shape, row noise."""
        return (self.gain, *self.dark[:4])


@dataclass(frozen=True)
class CameraCalibration:
    """A camera's calibration, with its errors. findings: what is wrong with which files."""

    name: str
    source: str
    black: int
    white: int
    isos: list[AtIso]
    findings: list[str] = field(default_factory=list)

    def yaml(self) -> bytes:
        """Return a camera file: `camera.file` of a recipe takes it."""
        rows, errors = [], []
        for one in self.isos:
            values, deviations = zip(*one.numbers, strict=True)
            rows.append([float(f"{number:.6g}") for number in (one.iso, *values)])
            errors.append([float(f"{number:.2g}") for number in (one.iso, *deviations)])
        camera = {"source": self.source, "black": self.black, "white": self.white, "by_iso": rows}
        text = (
            "# Made by gloam calibrate. by_iso: ISO, system gain K (DN per electron), read noise\n"
            "# (standard deviation), Tukey-lambda scale and shape of it, row noise; DN.\n"
            "# standard_errors: the same of each.\n"
        )
        body = {"cameras": {self.name: {**camera, "standard_errors": errors}}}
        return (text + yaml.safe_dump(body, sort_keys=False, default_flow_style=None)).encode(
            "utf-8", "backslashreplace"
        )

    def lines(self) -> list[str]:
        """Return a line for each ISO."""
        made = [f"{'ISO':>7}  {'K':>18}  {'read':>16}  {'Tukey':>16}  {'lambda':>17}  {'row':>16}"]
        for one in self.isos:
            cells = (f"{cell.value:>8.4g} ± {cell.error:<6.2g}" for cell in one.numbers)
            made.append(f"{one.iso:>7g}  " + "  ".join(cells))
        return made


def calibrate(
    raws: str | Path, name: str = "", *, progress: Progress | None = None
) -> CameraCalibration:
    """Calibrate a camera from raw files of the dark and of flat light.

    For each ISO some darks (cap on, short exposure; two at least, ten are better) and pairs of
    flats of at least two exposures. Which is which is seen in the files.

    Parameters
    ----------
    raws : str or Path
        A folder of raw files.
    name : str
        Name of the camera in the file; by default what the raw files say.
    progress : Progress, optional
        Receives the number of files read.

    Returns
    -------
    CameraCalibration
        Whose `yaml()` is a camera file.

    Raises
    ------
    SourceError
        When files cannot be read, are of several cameras, or too few.
    ConfigError
        When rawpy or exifread is missing.

    Examples
    --------
    >>> import gloam
    >>> gloam.calibrate("photos")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    gloam.errors.SourceError: photos: holds no raw files (such as ...)
    """
    folder, shown = Path(raws), progress or Silent()
    shown.stage("reading raw files", None)
    files = [read_raw_header(path) for path in find_raws(folder)]
    cameras = sorted({file.camera for file in files})
    if len(cameras) > 1:
        raise SourceError(f"{folder}: holds files of {' and '.join(cameras)}; one camera, please")
    by_iso: dict[float, list[RawFile]] = defaultdict(list)
    for file in files:
        by_iso[file.iso].append(file)
    findings: list[str] = []
    number = itertools.count(1)
    every = (
        _at_iso(iso, own, findings, lambda: shown.at(next(number)))
        for iso, own in sorted(by_iso.items())
    )
    found = [one for one in every if one is not None]
    if not found:
        said = "; ".join(findings)
        raise SourceError.at(folder, f"no ISO can be calibrated: {said}")
    blacks = [one.dark.black.value for one in found]
    named = name or re.sub(r"[^a-z0-9]+", "-", cameras[0].lower()).strip("-") or "camera"
    source = f"gloam calibrate, {len(files)} raw files" + (
        f" of {cameras[0]}" if cameras[0] else ""
    )
    white = min(file.white for file in files)
    return CameraCalibration(named, source, round(float(np.mean(blacks))), white, found, findings)


def _at_iso(
    iso: float, files: Sequence[RawFile], findings: list[str], at: Callable[[], None]
) -> AtIso | None:
    """Calibrate one ISO; where too little is there, say so."""
    seen: list[tuple[RawFile, Level]] = []
    shape: tuple[int, ...] | None = None
    for file in files:
        mosaic = file.mosaic()
        at()
        if shape is not None and mosaic.shape != shape:
            findings.append(f"{file.path.name}: has another size than the others, and is left out")
            continue
        shape = mosaic.shape
        seen.append((file, level_of(mosaic)))
    black = black_of([level for _, level in seen], files[0].black, files[0].white)
    least = black + _DARK * (files[0].white - black)
    flats = [(file, level.mean - black) for file, level in seen if level.mean >= least]
    darks = [file.mosaic() for file, level in seen if level.mean < least]
    if len(darks) < _FEWEST_DARKS:
        findings.append(f"ISO {iso:g}: {len(darks)} darks; take two and more, cap on")
        return None
    dark = dark_of(darks)
    cut = clipped_share(darks, black)
    black = black if cut else dark.black.value
    points, used = _transfer_of(flats, black, findings)
    if not points:
        findings.append(f"ISO {iso:g}: no two flats of one exposure that can be used")
        return None
    every = join_points(points)
    try:
        gain = fit_gain(every)
    except ValueError as error:
        findings.append(f"ISO {iso:g}: {error}")
        return None
    if cut:
        findings.append(
            f"ISO {iso:g}: black is cut off in its darks, {cut:.1%} of their sites are at the"
            " lowest level: their noise cannot be told, and it is left out; its gain K is"
            f" {gain.value:.4g} ± {gain.error:.2g}"
        )
        return None
    return AtIso(iso, gain, dark, every, len(darks), used)


def _transfer_of(
    flats: list[tuple[RawFile, float]], black: float, findings: list[str]
) -> tuple[list[Transfer], int]:
    """Return the points of each two flats of one exposure, and how many flats were used."""
    points, used = [], 0
    for first, second in _pairs(flats):
        mosaics = [file.mosaic() for file in (first, second)]
        both = f"{first.path.name}, {second.path.name}"
        bad = False
        for file, mosaic in zip((first, second), mosaics, strict=True):
            for what in check_flat(mosaic, black, file.white):
                findings.append(f"{file.path.name} {what}")
                bad = bad or what.startswith("clips")
        if bad:
            continue
        made = transfer(mosaics[0], mosaics[1], black, first.white)
        rough = float(np.median(made.variance / np.maximum(made.signal, 1.0)))
        wrong = check_flat_pair(mosaics[0], mosaics[1], black, rough)
        findings += [f"{both}: {what}" for what in wrong]
        # Bands are in the difference, and would count as noise; all else goes away in it.
        if not any("bands" in what for what in wrong):
            points.append(made)
            used += 2
    return points, used


def _pairs(flats: list[tuple[RawFile, float]]) -> list[tuple[RawFile, RawFile]]:
    """Pair flats of one exposure: of equal times or, where none are told, of about equal light."""
    timed = all(file.seconds for file, _ in flats)
    ordered = sorted(flats, key=lambda one: (one[0].seconds if timed else one[1], one[0].path))
    made: list[tuple[RawFile, RawFile]] = []
    i = 0
    while i + 1 < len(ordered):
        (one, light), (other, another) = ordered[i], ordered[i + 1]
        same = one.seconds == other.seconds if timed else another <= light * (1 + 2 * _SAME)
        if same:
            made.append((one, other))
        i += 2 if same else 1
    return made


def draw_calibration(found: CameraCalibration, path: Path) -> None:
    """Draw photon transfer with its lines, and gain and noise over ISO, as a PNG by matplotlib."""
    made = needed("matplotlib.figure", "--figure needs matplotlib", "figures").Figure
    from ..measures.figure import as_drawn  # which needs it, too

    figure = made(figsize=(13, 5), layout="constrained")
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
    right.set_title(as_drawn(found.name))
    right.legend(fontsize="small")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    write_bytes(path, buffer.getvalue())
