"""How frequencies changed between two waves of one question.

Where the same people answer both waves, their permanent answers are the same noise twice, which cancels in the change.
Let a permanent answer support its own value with probability p and any other with q. A person whose value v stayed
brings to the covariance of the two estimates of a frequency just the noise of the permanent answer,

    p (1-p) / (p-q)^2   for the frequency of v,   q (1-q) / (p-q)^2   for any other,

over n1 n2, for what is added by randomizing it again is drawn afresh in every wave. A person whose value changed drew
two permanent answers and brings nothing (with local hashing, where the two may share a bucket, a little more than
nothing). So the covariance is never negative, and an error that leaves it out is on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import compose
from sottovoce.estimates import Estimate, Interval, quantile
from sottovoce.estimates.result import Labelled
from sottovoce.mechanisms import Mechanism, Memoized
from sottovoce.statistics.checks import check_share, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Label

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangeRow:
    """One value's part of a change."""

    label: Label
    before: float
    after: float
    change: float
    stderr: float
    low: float
    high: float


def change(
    before: Estimate, after: Estimate, mechanism: Mechanism | None = None, overlap: int = 0, stayed: float = 0.0
) -> Change:
    """The change of every frequency from one wave to another, with its errors.

    `overlap` is how many people answered both waves, and `stayed` the share of those whose value is the same in both.
    What is not told is taken as none, which for the respondents is never too bold. A `mechanism` is needed only if it
    is `Memoized`: fresh noise has no covariance.

    >>> from sottovoce import Memoized
    >>> m = Memoized.of(["no", "yes"], "krr", permanent=2.0, first=1.0)
    >>> waves = m.randomize_waves([["no"] * 800 + ["yes"] * 200, ["no"] * 780 + ["yes"] * 220], seed=1)
    >>> before, after = (m.tally().add_many(wave).estimate() for wave in waves)
    >>> apart, paired = change(before, after), change(before, after, m, overlap=1000, stayed=0.98)
    >>> round(paired["yes"].change, 3), round(apart["yes"].stderr, 3), round(paired["yes"].stderr, 3)
    (0.076, 0.043, 0.039)
    """
    before, after = _wave("before", before), _wave("after", after)
    if (before.domain, before.p, before.q) != (after.domain, after.p, after.q):
        raise ParameterError("before and after must be estimates of one mechanism, got two")
    overlap, stayed = check_whole(overlap, "overlap"), check_share(stayed, "stayed")
    if overlap > min(before.n, after.n):
        raise ParameterError(f"overlap must be at most the smaller wave, {min(before.n, after.n)}, got {overlap}")
    if stayed and not overlap:
        raise ParameterError(f"stayed is a share of the overlap, which must be told too, got {stayed:g}")
    return Change(before, after, _check_mechanism(mechanism, before), overlap, stayed)


@dataclass(frozen=True, eq=False)
class Change(Labelled[ChangeRow]):
    """The change of every frequency between two waves. Made by `change`."""

    measure: ClassVar[str] = "change"
    before: Estimate
    after: Estimate
    mechanism: Memoized | None
    overlap: int
    stayed: float

    @property
    def labels(self) -> Sequence[Label]:
        return self.before.domain.labels

    @property
    def n(self) -> int:  # type: ignore[override]
        """How many people answered at all."""
        return self.before.n + self.after.n - self.overlap

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """What the two waves cost somebody whose value changed in between."""
        if self.mechanism is not None:
            return self.mechanism.epsilon_over(2, changes=1)
        return compose([self.before.epsilon, self.after.epsilon])

    @property
    def simulated(self) -> bool:  # type: ignore[override]
        return self.before.simulated or self.after.simulated

    @property
    def change(self) -> Floats:
        return self.after.unbiased - self.before.unbiased

    @cached_property
    def covariance(self) -> Floats:
        """That of the two estimates about the respondents: the permanent noise of those who stayed."""
        if self.mechanism is None:
            return np.zeros(len(self))
        p, q, f = float(self.mechanism.permanent.p), float(self.mechanism.permanent.q), self._middle
        noise: Floats = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
        return self.stayed * self._shared * noise

    @cached_property
    def population_covariance(self) -> Floats:
        """The same about the population: who is in both waves is sampled once only."""
        one, other = self.before.unbiased.clip(0, 1), self.after.unbiased.clip(0, 1)
        both = np.minimum(self.stayed * self._middle, np.minimum(one, other))
        covariance: Floats = self.covariance + self._shared * (both - one * other)
        return covariance

    @property
    def _shared(self) -> float:
        return self.overlap / (self.before.n * self.after.n)

    @property
    def _middle(self) -> Floats:
        """The frequencies among those who stayed are taken to be those between the two waves."""
        return ((self.before.unbiased + self.after.unbiased) / 2).clip(0, 1)

    @property
    def correlation(self) -> Floats:
        """That of the two estimates about the population, as `difference_test` takes it."""
        return self.population_covariance / (self.before.population_stderr * self.after.population_stderr)

    @cached_property
    def stderr(self) -> Floats:
        """The standard error of the change among the respondents: the randomizer's noise alone."""
        return _root(self.before.stderr**2 + self.after.stderr**2 - 2 * self.covariance)

    @cached_property
    def population_stderr(self) -> Floats:
        """The standard error of the change in the population that the respondents were sampled from."""
        apart: Floats = self.before.population_stderr**2 + self.after.population_stderr**2
        return _root(apart - 2 * self.population_covariance)

    def interval(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> Interval[Floats]:
        """Normal intervals; simultaneous ones cover all values at once at the level (Bonferroni)."""
        error = self.population_stderr if population else self.stderr
        half = quantile(level, len(self) if simultaneous else 1) * error
        return Interval(self.change - half, self.change + half, level)

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[ChangeRow]:
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.before.unbiased, self.after.unbiased, self.change, error, low, high)
        return [ChangeRow(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def __repr__(self) -> str:
        return f"<Change of {len(self)} frequencies; {self.caption}>"


def _root(variance: Floats) -> Floats:
    root: Floats = np.sqrt(variance.clip(0))
    return root


def _wave(name: str, estimate: object) -> Estimate:
    if not isinstance(estimate, Estimate):
        raise ParameterError(f"{name} must be an estimate of frequencies, got {estimate!r:.60}")
    return replace(estimate, order=None)


def _check_mechanism(mechanism: Mechanism | None, estimate: Estimate) -> Memoized | None:
    if mechanism is None:
        return None
    if not isinstance(mechanism, Mechanism) or getattr(mechanism, "p", None) != estimate.p:
        raise ParameterError(f"mechanism must be the one that was estimated by, got {mechanism!r:.60}")
    return mechanism if isinstance(mechanism, Memoized) else None
