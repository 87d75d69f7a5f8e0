"""Distributions that a recipe's parameters are drawn from.

A person writes them as `5`, `uniform(3, 8)`, `loguniform(100, 6400)`, `normal(5.5, 1.3, 3, 8)`,
`choice(sony-a7s2, canon-5d4)`.

A draw is the distribution's quantile at one uniform number, so that it depends on that number
alone, and so that changing a bound moves every image's value a little instead of drawing it anew.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

Value = float | str

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

    def quantile(self, u: float) -> Value:
        """Return the value, whatever the uniform number."""
        return self.value

    def extremes(self) -> tuple[Value, ...]:
        """Return the value alone."""
        return (self.value,)

    def __str__(self) -> str:
        return shown(self.value)


@dataclass(frozen=True)
class Uniform:
    """Uniform in [low, high]."""

    low: float
    high: float

    def quantile(self, u: float) -> float:
        """Return the value at a uniform number between 0 and 1."""
        return self.low + (self.high - self.low) * u

    def extremes(self) -> tuple[Value, ...]:
        """Return the least and the greatest value."""
        return (self.low, self.high)

    def __str__(self) -> str:
        return f"uniform({shown(self.low)}, {shown(self.high)})"


@dataclass(frozen=True)
class LogUniform:
    """A value whose logarithm is uniform: each octave between low and high is equally likely."""

    low: float
    high: float

    def quantile(self, u: float) -> float:
        """Return the value at a uniform number between 0 and 1."""
        value = math.exp(math.log(self.low) + (math.log(self.high) - math.log(self.low)) * u)
        return min(max(value, self.low), self.high)

    def extremes(self) -> tuple[Value, ...]:
        """Return the least and the greatest value."""
        return (self.low, self.high)

    def __str__(self) -> str:
        return f"loguniform({shown(self.low)}, {shown(self.high)})"


@dataclass(frozen=True)
class Normal:
    """Normal, cut off at low and high (the rest is scaled up, nothing piles up at the bounds)."""

    mean: float
    deviation: float
    low: float
    high: float

    def quantile(self, u: float) -> float:
        """Return the value at a uniform number between 0 and 1."""
        if self.deviation == 0:
            return min(max(self.mean, self.low), self.high)
        normal = NormalDist(self.mean, self.deviation)
        below, above = normal.cdf(self.low), normal.cdf(self.high)
        p = below + (above - below) * u
        if not 0 < p < 1:
            return self.low if p <= 0 else self.high
        return min(max(normal.inv_cdf(p), self.low), self.high)

    def share_kept(self) -> float:
        """Return how much of the whole distribution lies between the bounds, 0 to 1."""
        if self.deviation == 0:
            return float(self.low <= self.mean <= self.high)
        normal = NormalDist(self.mean, self.deviation)
        if self.low == self.high:
            return normal.pdf(self.low) * self.deviation
        return normal.cdf(self.high) - normal.cdf(self.low)

    def extremes(self) -> tuple[Value, ...]:
        """Return the least and the greatest value."""
        return (self.low, self.high)

    def __str__(self) -> str:
        numbers = self.mean, self.deviation, self.low, self.high
        return f"normal({', '.join(shown(number) for number in numbers)})"


@dataclass(frozen=True)
class Choice:
    """One of several values, all equally likely."""

    values: tuple[Value, ...]

    def quantile(self, u: float) -> Value:
        """Return the value at a uniform number between 0 and 1."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    def extremes(self) -> tuple[Value, ...]:
        """Return all values."""
        return self.values

    def __str__(self) -> str:
        return f"choice({', '.join(shown(value) for value in self.values)})"


Distribution = Constant | Uniform | LogUniform | Normal | Choice


def parse(value: Any) -> Distribution:
    """Read a distribution from what YAML or the command line gives.

    Parameters
    ----------
    value : number, str or a distribution

    Raises
    ------
    ValueError
        With what is allowed, when it is none.

    Examples
    --------
    >>> parse("uniform(3, 8)").quantile(0.5)
    5.5
    >>> parse("choice(sony-a7s2, canon-5d4)").quantile(0.1)
    'sony-a7s2'
    """
    if isinstance(value, Distribution):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"must be {ALLOWED}")
    if not isinstance(value, str):
        return Constant(_number(str(value)))
    match = _CALL.match(value)
    if not match:
        return Constant(_value(value))
    return _call(match[1], [part.strip() for part in match[2].split(",")])


def _call(name: str, arguments: list[str]) -> Distribution:
    if name == "choice":
        if "" in arguments:
            raise ValueError("choice needs at least one value, and none of them empty")
        return Choice(tuple(_value(argument) for argument in arguments))
    counts = {"uniform": 2, "loguniform": 2, "normal": 4}
    if name not in counts:
        raise ValueError(f"must be {ALLOWED}")
    if len(arguments) != counts[name]:
        raise ValueError(f"{name} takes {counts[name]} numbers, not {len(arguments)}")
    numbers = [_number(argument) for argument in arguments]
    low, high = numbers[-2:]
    if low > high:
        raise ValueError(f"reversed range: low {shown(low)} is above high {shown(high)}")
    if name == "loguniform" and low <= 0:
        raise ValueError("loguniform needs a low above 0")
    if name == "normal":
        if numbers[1] < 0:
            raise ValueError(f"a standard deviation cannot be negative, {shown(numbers[1])} is")
        distribution = Normal(*numbers)
        if distribution.share_kept() < _LEAST_KEPT:
            raise ValueError(
                f"{distribution}: next to nothing of it lies between its bounds; bring mean and"
                " bounds together"
            )
        return distribution
    return Uniform(low, high) if name == "uniform" else LogUniform(low, high)


def _number(text: str) -> float:
    try:
        return _finite(float(text))
    except ValueError:
        raise ValueError(f"{text!r} is not a finite number") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number


def _value(text: str) -> Value:
    try:
        return _finite(float(text))
    except ValueError:
        return text.strip()


def shown(value: Value) -> str:
    """Return a value as a recipe writes it: numbers with twelve digits at most."""
    return value if isinstance(value, str) else f"{value:.12g}"
