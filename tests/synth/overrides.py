"""Overrides of a recipe that several tests make lows with."""

from __future__ import annotations

from pathlib import Path

APART = str(Path(__file__).parent / "apart.yaml")
"""A recipe that draws every parameter by itself: `uneven` as its first sets have it."""

ON_SENSOR = str(Path(__file__).parent / "on_sensor.yaml")
"""A recipe of even light whose noise is a sensor's: `even` as its first sets have it."""

BLOBS = str(Path(__file__).parent / "uneven_before.yaml")
"""A recipe of smooth fields and pools that know no edges: `uneven` before it knew lightness."""

EVEN_BEFORE = str(Path(__file__).parent / "even_before.yaml")
"""The recipe `even` as it was before curves."""
COLOURED = str(Path(__file__).parent / "coloured.yaml")
"""A recipe of coloured light and highlights: `night-lights` as its first sets have it."""

NOISE_OF_CHANNELS = [
    "noise.read.red=uniform(0, 2)",
    "noise.read.green=choice(0, 0.5)",
    "noise.shot.blue=0.3",
    "noise.offset.green=uniform(-1, 1)",
    "noise.tail_share.red=0.1",
    "noise.tail.red=1.7",
    "noise.rows.blue=0.2",
    "noise.correlation.red_green=0.3",
    "noise.correlation.red_blue=-0.2",
    "noise.kurtosis=0.5",
    "noise.grain.across=choice(0, 0.4)",
    "noise.grain.down=choice(0, -0.1)",
    "isp.demosaic=choice(binned, none, malvar)",
    "isp.chroma.strength=choice(0, 0.5)",
    "tone.toe=choice(0.04, 0.055)",
    "tone.shoulder=uniform(0, 3)",
    "tone.exponent=uniform(0.9, 1.1)",
    "exposure.by_brightness=choice(0, 0.5)",
    "degradations.shift.length=uniform(0, 1.5)",
]

CURVES = [
    "noise.curve.light=[1, 3, 20]",
    "noise.curve.red=[0.3, -0.2, 0.5]",
    "noise.curve.green=uniform(-0.2, 0.2)",
    "noise.grain.size=choice(2, 5)",
    "noise.grain.red.coarse=choice(0, 0.5)",
    "noise.grain.green.across=uniform(0, 0.2)",
    "noise.grain.blue.down=choice(0, 0.3)",
    "tone.curve.red=[0.001, 0.006, 0.015, 0.05, 0.2, 0.6, 2, 9]",
    "tone.curve.blue=[0, 0.006, 0.015, 0.05, 0.2, 0.6, 1, 1.5]",
    "highlights.sigma_ev=0.5",
]
"""Noise and tone of `NOISE_OF_CHANNELS`, and what curves, channels and patches change of them."""

FORMS = [
    *CURVES,
    "noise.curve.skewness.green=[0.3, 0.1]",
    "noise.curve.kurtosis.blue=0.5",
    "noise.wide_share=choice(0.05, 0.5)",
]
"""The same with skewness and kurtosis by light."""

UNMIXED = ["illumination.probability=0", "camera.matrix=none", "isp.chroma.strength=0"]
"""Overrides of a recipe whose channels stay apart, in even light."""
