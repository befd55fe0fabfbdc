"""The terms of a plan: how sure, about whom, by which method, and which test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import to_float
from sottovoce.statistics.planning.instrument import Instrument, ShareInstrument
from sottovoce.statistics.planning.solve import MAX_PEOPLE

METHODS = ("normal", "wilson", "exact", "chebyshev", "hoeffding")
TESTS = ("one", "groups", "waves")


@dataclass(frozen=True)
class Terms:
    """What a margin or a power is about. Without a proportion it is that of the worst case."""

    level: float = 0.95
    proportion: float | None = None
    population: bool = True
    method: str = "normal"
    simultaneous: bool = False
    test: str = "one"
    correlation: float = 0.0

    def __post_init__(self) -> None:
        for name, choices in (("method", METHODS), ("test", TESTS)):
            if getattr(self, name) not in choices:
                raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r:.40}")
        for name in ("population", "simultaneous"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} must be True or False, got {getattr(self, name)!r:.40}")
        plain = {"level": number("level", self.level, 0, 1, strictly=True)}
        plain["correlation"] = number("correlation", self.correlation, -1, 1)
        if self.proportion is not None:
            plain["proportion"] = number("proportion", self.proportion, 0, 1)
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.method in ("wilson", "exact") and not self.population:
            raise ParameterError(f"the method {self.method} is about the population, not the respondents alone")
        if self.correlation and (self.test != "waves" or self.proportion is None or not self.population):
            raise ParameterError("a correlation is for two waves about a population, with a proportion")

    def check(self, asked: Instrument, power: bool) -> None:
        """Refuse terms that do not fit what is asked for."""
        shares = isinstance(asked, ShareInstrument)
        if self.proportion is not None and not shares:
            raise ParameterError("a mean is planned for the worst case: leave out the proportion")
        if self.method in ("wilson", "exact") and not (isinstance(asked, ShareInstrument) and asked.supports):
            raise ParameterError(f"the method {self.method} is for reports that support a value or do not, "
                                 f"not for those of {asked.design!r:.60}")  # fmt: skip
        if power and self.method not in ("normal", "exact"):
            raise ParameterError(f"a power is planned by the method normal or exact, got {self.method}")
        if power and self.method == "exact" and (self.test != "one" or self.proportion is None):
            raise ParameterError("an exact power is for the test one, with a proportion")

    def alpha(self, asked: Instrument) -> float:
        """The chance that an interval misses, or of a false alarm; simultaneous statements share it."""
        return (1 - self.level) / (asked.values if self.simultaneous else 1)


def upper(alpha: float) -> float:
    """How many standard deviations from its mean a normal variable lies with probability alpha, or further.

    >>> round(upper(0.05), 4)
    1.96
    """
    return -NormalDist().inv_cdf(alpha / 2)


def number(name: str, value: object, low: float, high: float, strictly: bool = False) -> float:
    """A finite number between two others, or an error that says so; `strictly` leaves out both ends."""
    exact = to_float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(exact):
        raise ParameterError(f"{name} must be a number, got {value!r:.40}")
    if not low <= exact <= high or (strictly and exact in (low, high)):
        span = f"above {low:g}" if high == math.inf else f"{'strictly ' * strictly}between {low:g} and {high:g}"
        raise ParameterError(f"{name} must lie {span}, got {value}")
    return exact


def whole(name: str, value: object) -> int:
    """A whole number from 1 to 2^53."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value.__index__() <= MAX_PEOPLE:
        raise ParameterError(f"{name} must be a whole number from 1 to 2^53, got {value!r:.40}")
    return int(value.__index__())
