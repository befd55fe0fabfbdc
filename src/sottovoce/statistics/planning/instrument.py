"""What a question is asked with: a design or a mechanism, seen as the error and the privacy of one report."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

from sottovoce.mechanisms import Mean, Mechanism
from sottovoce.statistics.designs.base import Design
from sottovoce.statistics.proportions.answers import YesNoDesign


class Posterior(NamedTuple):
    """What an attacker believes: before a report, and after the report that speaks least or most for it."""

    prior: float
    low: float
    high: float


@dataclass(frozen=True)
class Direct:
    """The question asked openly, for comparison: it protects nobody."""

    p: Fraction = Fraction(1)
    q: Fraction = Fraction(0)
    epsilon: float = math.inf
    how: str = "the question is asked openly, and a report is the answer itself."

    def __repr__(self) -> str:
        return "Direct()"


PlannedDesign: TypeAlias = Design | Mechanism | YesNoDesign
"""What can be planned for: a survey design, a mechanism, or anything with p, q and epsilon."""


@dataclass(frozen=True)
class Instrument(ABC):
    """A design or mechanism with its epsilon. `values` are estimated at once, each between ends `width` apart."""

    design: PlannedDesign
    epsilon: float
    values: int
    width: float

    @property
    @abstractmethod
    def spread(self) -> float:
        """The range of the unbiased value of one report."""

    @abstractmethod
    def variance(self, proportion: float | None, population: bool) -> float:
        """The variance of that value: at a proportion, or at the worst there is."""

    def posterior(self, prior: float) -> Posterior:
        """How far any report can move a belief: the odds change by a factor of at most e^epsilon."""
        if self.epsilon == math.inf:
            return Posterior(prior, 0.0, 1.0)
        low, high = (1 / (1 + (1 - prior) / prior * math.exp(sign * self.epsilon)) for sign in (1, -1))
        return Posterior(prior, low, high)


class ReportNoise(NamedTuple):
    """The variance of a report's unbiased value for those who hold a value, and for the worst of those who do not."""

    held: float
    other: float

    def worst(self, population: bool) -> float:
        """The proportion where the variance is largest. About a population it is a parabola, else a line."""
        return min(max((self.held - self.other + 1) / 2, 0.0), 1.0) if population else float(self.held > self.other)

    def variance(self, proportion: float | None, population: bool) -> float:
        f = self.worst(population) if proportion is None else proportion
        return f * self.held + (1 - f) * self.other + population * f * (1 - f)


@dataclass(frozen=True)
class ShareInstrument(Instrument):
    """Proportions of values, with the noise of each.

    `laws` are the probabilities of each report to a yes-or-no question, under yes and under no. Where a report supports
    a value or does not, p and q are the probabilities that it does, for who holds the value and who does not.
    """

    noises: tuple[ReportNoise, ...]
    reach: float
    laws: tuple[tuple[Fraction, Fraction], ...] = ()
    p: Fraction | None = None
    q: Fraction | None = None

    @property
    def spread(self) -> float:
        return self.reach

    @property
    def supports(self) -> bool:
        """Whether a report supports a value or does not: then the share of reports that do tells all."""
        return self.p is not None

    def support(self, proportion: float | None) -> float:
        """The share of reports that support a value: at its proportion, or where the variance is worst."""
        p, q = float(self.p or 0), float(self.q or 0)
        return q + (p - q) * (self.noises[0].worst(True) if proportion is None else proportion)

    def variance(self, proportion: float | None, population: bool) -> float:
        return max(noise.variance(proportion, population) for noise in self.noises)

    def posterior(self, prior: float) -> Posterior:
        """With yes or no, what the reports do by Bayes' rule; with more values, the bounds that epsilon sets."""
        if not self.laws:
            return super().posterior(prior)
        pairs = [(float(yes) * prior, float(no) * (1 - prior)) for yes, no in self.laws]
        beliefs = [yes / (yes + no) for yes, no in pairs if yes + no]
        return Posterior(prior, min(beliefs), max(beliefs))


@dataclass(frozen=True)
class MeanInstrument(Instrument):
    """A report has an unbiased value for a number; beforehand only its worst variance is known."""

    design: Mean | Direct

    @cached_property
    def spread(self) -> float:
        if isinstance(self.design, Direct):
            return self.width
        values = [self.design.value(report) for report in range(self.design.cells)]
        return float(max(values) - min(values))

    def variance(self, proportion: float | None, population: bool) -> float:
        if isinstance(self.design, Direct):
            return self.width**2 / 4 if population else 0.0
        return float(self.design.population_variance if population else self.design.variance)
