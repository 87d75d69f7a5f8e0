"""One image's own parameters for the camera model, drawn from a recipe and shaped like it.

With the normal's pixels they are all that a low depends on. They are stored with the pair, so that
anyone can make the low again without the recipe.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from ..degradations.draw import DegradationsDraw
from ..parameters.drawing import Drawn, Off, nothing_of

Floats = tuple[float, ...]


def _none_for_nan(value: Any) -> Any:
    """Return None for NaN, by which columns of numbers say that there is none."""
    return None if value != value else value


class ExposureDraw(Drawn):
    """See `recipe.ExposureSection`."""

    ev: float
    by_brightness: float = 0.0


class StopsDraw(Drawn):
    """See `recipe.Vignette`."""

    ev: float


class HighlightsDraw(Drawn):
    """See `recipe.Highlights`. place: in (0, 1), keys how it differs from place to place."""

    ev: float
    sigma_ev: float = 0.0
    place: float = 0.0


class ToneCurveDraw(Drawn):
    """See `recipe.ToneCurve`. No numbers where there is none."""

    red: Floats = ()
    green: Floats = ()
    blue: Floats = ()


class ToneDraw(Drawn):
    """See `recipe.Tone`."""

    strength: float
    transfer: Literal["srgb", "gamma"]
    gamma: float
    applied: Literal["both", "in"]
    exponent: float = 1.0
    shoulder: float = 0.0
    toe: float = 0.055
    curve: ToneCurveDraw = ToneCurveDraw()


class SmoothDraw(Drawn):
    """A smooth field. cells: along each side, 0 for none. values: in EV, row by row."""

    sigma_ev: float
    cells: int
    values: Floats


class LightsDraw(Drawn):
    """Pools of light, a number each in every tuple.

    place: in (0, 1), among all places, ordered and weighted by the photograph's own light.
    """

    count: int
    place: Floats
    ev: Floats
    radius: Floats
    falloff: Floats
    warmth_ev: Floats


class SceneDraw(Drawn):
    """See `recipe.SceneSection`."""

    strength: float


class GradientDraw(Drawn):
    """A gradient. angle: of its direction, in radians."""

    ev: float
    angle: float


class GridDraw(Drawn):
    """A bilateral grid. cells: along each side, 0 for none. levels: along lightness.

    values: in EV, level by level from black to white, row by row.
    """

    sigma_ev: float
    cells: int
    levels: int
    values: Floats


class PoolsDraw(Drawn):
    """Pools of light that stop at edges, a number each in every tuple.

    place: in (0, 1), among all places, ordered and weighted by how the photograph shines there.
    """

    count: int
    place: Floats
    ev: Floats
    radius: Floats
    falloff: Floats
    edges: Floats


class SceneLightDraw(Drawn):
    """See `recipe.SceneLight`. undone: at each of the lightnesses."""

    undone: Floats
    grid: GridDraw
    ambient: float
    pools: PoolsDraw


class IlluminationDraw(Drawn):
    """The field; all its parts are nothing in an image that has none.

    scene_light: None where the field does not know the photograph's lightness.
    """

    smooth: SmoothDraw
    lights: LightsDraw
    lamps: LightsDraw
    scene: SceneDraw
    vignette: StopsDraw
    gradient: GradientDraw
    scene_light: Annotated[SceneLightDraw | None, Off(nothing_of(SceneLightDraw))] = None


class SensorDraw(Drawn):
    """A sensor at its ISO.

    gain, row_sigma: K in DN per electron, and row noise in DN.
    read_noise: "tukey" or "gaussian".
    read_scale, read_shape: scale in DN, and lambda (0 and unused for Gaussian noise).
    black, white: black level and largest value, DN.
    """

    gain: float
    row_sigma: float
    read_noise: Literal["tukey", "gaussian"]
    read_scale: float
    read_shape: float
    black: int
    white: int


class BodyDraw(Drawn):
    """A camera.

    name, iso: of the sensor whose noise the low has, at its calibrated ISO; None where noise is of
      the recipe's own. Sets whose versions have no "draws" name a sensor there, too, which is not
      used. matrix: linear sRGB to camera RGB, row by row; rows sum to 1.
    """

    name: str | None
    iso: Annotated[float | None, BeforeValidator(_none_for_nan)]
    matrix: Floats
    sensor: SensorDraw


class WhiteBalanceDraw(Drawn):
    """Gains over green. error_ev: what the camera got wrong, of red and of blue."""

    red: float
    blue: float
    error_ev: tuple[float, float]


class ChromaDraw(Drawn):
    """See `recipe.ChromaNoiseReduction`."""

    strength: float
    sigma: float


class IspDraw(Drawn):
    """See `recipe.Isp`."""

    digital_gain_ev: float
    contrast: float
    demosaic: Literal["binned", "none", "bilinear", "malvar"]
    chroma: ChromaDraw


class VideoDraw(Drawn):
    """See `recipe.Video`. phase: of the flicker, in turns."""

    fps: float
    drift_ev: float
    flicker_ev: float
    flicker_hz: float
    phase: float

    def ev(self, frame: int) -> float:
        """Return by how many stops a frame is darker than the clip's first one."""
        seconds = frame / self.fps
        turns = self.phase, self.phase + self.flicker_hz * seconds
        first, now = (math.sin(2 * math.pi * turn) for turn in turns)
        return self.drift_ev * seconds + self.flicker_ev * (now - first)


class ChannelsDraw(Drawn):
    """A number for each channel."""

    red: float
    green: float
    blue: float


class CorrelationDraw(Drawn):
    """See `noise.Correlation`."""

    red_green: float
    green_blue: float
    red_blue: float


class OwnGrainDraw(Drawn):
    """See `noise.OwnGrain`."""

    across: float = 0.0
    down: float = 0.0
    coarse: float = 0.0


class GrainDraw(Drawn):
    """See `noise.GrainSection`."""

    across: float = 0.0
    down: float = 0.0
    red: OwnGrainDraw = OwnGrainDraw()
    green: OwnGrainDraw = OwnGrainDraw()
    blue: OwnGrainDraw = OwnGrainDraw()
    size: int = 2


class NoiseFormDraw(Drawn):
    """See `noise.NoiseForm`."""

    red: Floats = ()
    green: Floats = ()
    blue: Floats = ()


class NoiseCurveDraw(Drawn):
    """See `noise.NoiseCurve`. No numbers where there is none."""

    light: Floats = ()
    red: Floats = ()
    green: Floats = ()
    blue: Floats = ()
    skewness: NoiseFormDraw = NoiseFormDraw()
    kurtosis: NoiseFormDraw = NoiseFormDraw()


class NoiseDraw(Drawn):
    """See `noise.NoiseSection`."""

    offset: ChannelsDraw
    shot: ChannelsDraw
    read: ChannelsDraw
    tail_share: ChannelsDraw
    tail: ChannelsDraw
    rows: ChannelsDraw
    correlation: CorrelationDraw
    grain: GrainDraw = GrainDraw()
    curve: NoiseCurveDraw = NoiseCurveDraw()
    kurtosis: float


class GlowDraw(Drawn):
    """See `emitters.Glow`."""

    share: float
    radius: float


class StreaksDraw(Drawn):
    """See `emitters.Streaks`. angle: of the first, in radians."""

    lines: int
    share: float
    length: float
    angle: float


class EmittersDraw(Drawn):
    """Lamps, a number each in every tuple; see `emitters.Emitters`.

    place, within: in (0, 1), among the photograph's cells, and among a cell's pixels, in order and
    weighted by their light.
    """

    count: int
    place: Floats
    within: Floats
    ev: Floats
    radius: Floats
    temperature: Floats
    glow: GlowDraw
    streaks: StreaksDraw


class CameraDraw(Drawn):
    """Parameters of one low, as `recipe.CameraRecipe` has distributions.

    pixel_seed: 63 bits that key the noise of all samples (so that readers of JSON take it for a
    signed 64-bit number). degradations, noise, emitters: None where a recipe has none. video: None
    where all frames of a clip are exposed alike.
    """

    model: Literal["camera"] = "camera"
    pixel_seed: int
    exposure: ExposureDraw
    highlights: HighlightsDraw
    tone: ToneDraw
    illumination: IlluminationDraw
    camera: BodyDraw
    white_balance: WhiteBalanceDraw
    isp: IspDraw
    degradations: Annotated[DegradationsDraw | None, Off(nothing_of(DegradationsDraw))] = None
    noise: Annotated[NoiseDraw | None, Off(nothing_of(NoiseDraw))] = None
    emitters: Annotated[EmittersDraw | None, Off(nothing_of(EmittersDraw))] = None
    video: Annotated[VideoDraw | None, Off(nothing_of(VideoDraw))] = None
