"""Distributions that a recipe's parameters are drawn from.

A person writes them as `5`, `uniform(3, 8)`, `loguniform(100, 6400)`, `normal(5.5, 1.3, 3, 8)`,
`choice(sony-a7s2, canon-5d4)`.

A draw is the distribution's quantile at one uniform number, so that it depends on that number
alone, and so that changing a bound moves every image's value a little instead of drawing it anew.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..kernels.numbers.library import exp, normal_quantile

Value = float | str
Floats = npt.NDArray[np.float64]

_CALL = re.compile(r"^\s*([a-z]+)\s*\((.*)\)\s*$", re.DOTALL)
_LEAST_KEPT = (
    1e-6  # of a normal distribution, by its bounds; beyond, the tail's quantiles lose their digits
)
ALLOWED = (
    "a number, uniform(low, high), loguniform(low, high), normal(mean, sd, low, high) or choice(a,"
    " b, ...)"
)


@dataclass(frozen=True)
class Constant:
    """Always the same value."""

    value: Value

    def quantile(self, u: Floats) -> Any:
        """Return the value, whatever the uniform numbers (N)."""
        return np.full(len(u), self.value, None if isinstance(self.value, str) else np.float64)

    def extremes(self) -> tuple[Value, ...]:
        """Return the value alone."""
        return (self.value,)

    def __str__(self) -> str:
        return format_value(self.value)


class _Range:
    """A distribution of numbers from `low` to `high`, as a dataclass of a recipe's numbers."""

    name: ClassVar[str]
    low: float
    high: float

    def extremes(self) -> tuple[Value, ...]:
        """Return the least and the greatest value."""
        return (self.low, self.high)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(format_value, vars(self).values()))})"

    def _bounded(self, values: Floats) -> Floats:
        return np.minimum(np.maximum(values, self.low), self.high)


@dataclass(frozen=True)
class Listed(Constant):
    """The numbers of a parameter that is drawn several times, one each."""

    value: Any  # tuple of float

    def extremes(self) -> tuple[Value, ...]:
        """Return all numbers."""
        return tuple(self.value)

    def __str__(self) -> str:
        return f"[{', '.join(format_value(number) for number in self.value)}]"


@dataclass(frozen=True)
class Uniform(_Range):
    """Uniform in [low, high]."""

    name = "uniform"
    low: float
    high: float

    def quantile(self, u: Floats) -> Floats:
        """Return the values at uniform numbers between 0 and 1 (N)."""
        return self.low + (self.high - self.low) * u


@dataclass(frozen=True)
class LogUniform(_Range):
    """A value whose logarithm is uniform: each octave between low and high is equally likely."""

    name = "loguniform"
    low: float
    high: float

    def quantile(self, u: Floats) -> Floats:
        """Return the values at uniform numbers between 0 and 1 (N)."""
        first = math.log(self.low)
        return self._bounded(exp(first + (math.log(self.high) - first) * u))


@dataclass(frozen=True)
class Gaussian(_Range):
    """Normal, cut off at low and high (the rest is scaled up, nothing piles up at the bounds)."""

    name = "normal"
    mean: float
    deviation: float
    low: float
    high: float

    def quantile(self, u: Floats) -> Floats:
        """Return the values at uniform numbers between 0 and 1 (N)."""
        if self.deviation == 0:
            return np.full(len(u), min(max(self.mean, self.low), self.high))
        normal = NormalDist(self.mean, self.deviation)
        below = normal.cdf(self.low)
        kept = normal.cdf(self.high) - below
        p = below + kept * u
        inside = (p > 0) & (p < 1)
        values = normal_quantile(np.where(inside, p, 0.5), self.mean, self.deviation)
        return np.where(inside, self._bounded(values), np.where(p <= 0, self.low, self.high))

    def share_kept(self) -> float:
        """Return how much of the whole distribution lies between the bounds, 0 to 1."""
        if self.deviation == 0:
            return float(self.low <= self.mean <= self.high)
        normal = NormalDist(self.mean, self.deviation)
        if self.low == self.high:
            return normal.pdf(self.low) * self.deviation
        return normal.cdf(self.high) - normal.cdf(self.low)


@dataclass(frozen=True)
class Choice:
    """One of several values, all equally likely."""

    values: tuple[Value, ...]

    def quantile(self, u: Floats) -> Any:
        """Return the values at uniform numbers between 0 and 1 (N)."""
        place = np.minimum((u * len(self.values)).astype(np.int64), len(self.values) - 1)
        # Names beside numbers are told apart by whoever uses them, as objects.
        mixed = len({isinstance(value, str) for value in self.values}) > 1
        return np.array(self.values, object if mixed else None)[place]

    def extremes(self) -> tuple[Value, ...]:
        """Return all values."""
        return self.values

    def __str__(self) -> str:
        return f"choice({', '.join(format_value(value) for value in self.values)})"


Distribution = Constant | Uniform | LogUniform | Gaussian | Choice
_RANGES: dict[str, type[Uniform | LogUniform | Gaussian]] = {
    kind.name: kind for kind in (Uniform, LogUniform, Gaussian)
}
UNIT = Uniform(0.0, 1.0)
STANDARD = Gaussian(0.0, 1.0, -math.inf, math.inf)


def parse(value: Any) -> Distribution:
    """Parse a distribution from a value of YAML or of the command line.

    Raises ValueError with what is allowed, when it is none.

    Examples
    --------
    >>> parse("uniform(3, 8)").quantile(np.array([0.5])).tolist()
    [5.5]
    >>> parse("choice(sony-a7s2, canon-5d4)").quantile(np.array([0.1])).tolist()
    ['sony-a7s2']
    """
    if isinstance(value, Distribution):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"must be {ALLOWED}")
    if not isinstance(value, str):
        return Constant(_number(str(value)))
    match = _CALL.match(value)
    if not match:
        return Constant(_number_or_name(value))
    return _call(match[1], [part.strip() for part in match[2].split(",")])


def _call(name: str, arguments: list[str]) -> Distribution:
    if name == "choice":
        if "" in arguments:
            raise ValueError("choice needs at least one value, and none of them empty")
        return Choice(tuple(_number_or_name(argument) for argument in arguments))
    kind = _RANGES.get(name)
    if kind is None:
        raise ValueError(f"must be {ALLOWED}")
    if len(arguments) != len(fields(kind)):
        raise ValueError(f"{name} takes {len(fields(kind))} numbers, not {len(arguments)}")
    numbers = [_number(argument) for argument in arguments]
    low, high = numbers[-2:]
    if low > high:
        raise ValueError(f"reversed range: {format_value(low)} is above {format_value(high)}")
    distribution = kind(*numbers)
    if isinstance(distribution, LogUniform) and low <= 0:
        raise ValueError("loguniform needs a low above 0")
    if isinstance(distribution, Gaussian):
        if (deviation := distribution.deviation) < 0:
            raise ValueError(
                f"a standard deviation cannot be negative, {format_value(deviation)} is"
            )
        if distribution.share_kept() < _LEAST_KEPT:
            raise ValueError(
                f"{distribution}: next to nothing of it lies between its bounds; bring mean and"
                " bounds together"
            )
    return distribution


def _number(text: str) -> float:
    if isinstance(value := _number_or_name(text), str):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def _number_or_name(text: str) -> Value:
    """Return a finite number; any other text is a name."""
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    return text.strip()


def format_value(value: Value) -> str:
    """Return a value as a recipe writes it: numbers with twelve digits at most."""
    return value if isinstance(value, str) else f"{value:.12g}"
