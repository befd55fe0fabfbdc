"""Respondents who do not follow the rules: the cheating-detection model.

Some people do not trust the dice and say no, whatever they should say. With one design that cannot be told from a
smaller share of yes. With two groups, drawn at random and given different designs, it can: of three classes, those who
honestly answer for a yes, those who honestly answer for a no, and cheaters who always say no, group j says yes with
probability

    p[j] * (honest yes) + q[j] * (honest no) + 0 * (cheaters).

Two groups make two equations for two unknown shares. The likelihood is concave in the shares; its maximum in the
simplex is the estimate. What a cheater truly is remains unknown: the trait's share lies between that of honest yes,
and that together with the cheaters.

S. J. Clark, R. A. Desharnais, Honest Answers to Embarrassing Questions: Detecting Cheating in the Randomized Response
Model, Psychological Methods 1998.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled
from sottovoce.statistics.histograms.mixture import most_likely
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.population import PopulationResult
from sottovoce.statistics.proportions.answers import AnswerLaw, YesNoDesign, yes_no, z_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

IMPOSSIBLE_LOGLIK = -1e300
"""Stands for minus infinity, where roots are looked for among numbers."""
EDGE = 1e-15
"""A share is looked for from here to one less this."""
CLASSES = ("honest yes", "honest no", "cheaters")


@dataclass(frozen=True)
class ClassRow:
    """The share of one class."""

    label: str
    share: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Cheating(PopulationResult, Labelled[ClassRow]):
    """The shares of honest yes, honest no and cheaters in the population. Made by `cheating`."""

    measure: ClassVar[str] = "share"
    thing: ClassVar[str] = "class"
    n: int
    groups: tuple[object, ...]
    yes: tuple[int, ...]
    asked: tuple[int, ...]
    laws: tuple[AnswerLaw, ...]
    epsilon: float
    simulated: bool = False
    note: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        return CLASSES

    @cached_property
    def _counts(self) -> Array:
        """How often a yes was said in each group, then how often a no."""
        return np.array([*self.yes, *(n - yes for n, yes in zip(self.asked, self.yes, strict=True))], dtype=np.float64)

    @cached_property
    def _chances(self) -> Array:
        """How likely each class says yes in each group, then how likely it says no."""
        yes = np.array([[law.p for law in self.laws], [law.q for law in self.laws], [0.0] * len(self.laws)])
        return np.hstack([yes, 1 - yes])

    @cached_property
    def share(self) -> Array:
        """The most likely shares of the three classes."""
        return most_likely(self._chances, self._counts)

    @cached_property
    def loglik(self) -> float:
        """The log-likelihood of the answers at the estimated shares."""
        return float(scipy.special.xlogy(self._counts, self.share @ self._chances).sum())

    def _most(self, one: Array, other: Array) -> float:
        """The greatest log-likelihood of a mixture of two laws: concave, so that its slope has one root at most."""
        seen = self._counts > 0
        counts, one, other = self._counts[seen], one[seen], other[seen]
        if (np.maximum(one, other) == 0).any():  # What was seen cannot be.
            return IMPOSSIBLE_LOGLIK

        def slope(part: float) -> float:
            return float((counts * (one - other) / (part * one + (1 - part) * other)).sum())

        start, end = EDGE, 1 - EDGE
        if slope(start) <= 0 or slope(end) >= 0:
            part = 0.0 if slope(start) <= 0 else 1.0
        else:
            part = scipy.optimize.brentq(slope, start, end, xtol=1e-14)
        return float(scipy.special.xlogy(counts, part * one + (1 - part) * other).sum())

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the shares, by the expected information. At an edge of the simplex it is too wide."""
        asked, groups = np.array(self.asked), len(self.asked)
        rate = np.clip((self.share @ self._chances)[:groups], 0.5 / asked, 1 - 0.5 / asked)
        ways = self._chances[:2, :groups]
        honest = np.linalg.inv((ways * asked / (rate * (1 - rate))) @ ways.T)
        spread = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
        covariance: Array = spread @ honest @ spread.T
        return covariance

    @property
    def stderr(self) -> Array:
        return np.sqrt(np.diag(self.covariance))

    @property
    def trait(self) -> tuple[float, float]:
        """The least and the largest share that the trait can have: without the cheaters, and with all of them."""
        return float(self.share[0]), float(self.share[0] + self.share[2])

    def interval(self, level: float = 0.95) -> Interval[Array]:
        """For each class all shares that a likelihood-ratio test would not reject: inside [0, 1] by themselves."""
        height = z_value(level) ** 2 / 2
        low, high = np.array([self._profile(at, height) for at in range(3)]).T
        return Interval(low, high, level)

    def _profile(self, at: int, height: float) -> tuple[float, float]:
        best, top = float(self.share[at]), self.loglik
        one, other = (self._chances[place] for place in range(3) if place != at)

        def excess(value: float) -> float:
            """With a share held, what is left is a mixture of two laws."""
            held = value * self._chances[at]
            return top - height - self._most(held + (1 - value) * one, held + (1 - value) * other)

        low, high = (
            end if excess(end) <= 0 else scipy.optimize.brentq(excess, min(end, best), max(end, best), xtol=1e-10)
            for end in (0.0, 1.0)
        )
        return low, high

    def test(self) -> TestResult:
        """Test whether nobody cheats, by the likelihood ratio.

        No share is below zero, so that without cheaters the statistic is zero half of the time, and else chi-square.
        """
        statistic = max(2 * (self.loglik - self._most(self._chances[0], self._chances[1])), 0.0)
        p_value = float(scipy.special.chdtrc(1, statistic)) / 2 if statistic > 1e-9 else 1.0
        note = "null hypothesis: nobody cheats"
        return TestResult("likelihood-ratio test", statistic, p_value, 1, float(self.share[2]), note=note)

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> list[ClassRow]:
        """A row for each class. The intervals hold for one class at a time."""
        if not population or simultaneous:
            raise ParameterError("errors of cheating must be about the population, and one class at a time")
        columns = (self.share, self.stderr, *self.interval(level))
        return [ClassRow(*row) for row in zip(CLASSES, *(column.tolist() for column in columns), strict=True)]

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> JsonObject:
        groups = [
            {"group": str(group), "asked": asked, "yes": yes, "design": repr(law.design), "p": law.p, "q": law.q}
            for group, asked, yes, law in zip(self.groups, self.asked, self.yes, self.laws, strict=True)
        ]
        found = super().to_dict(level, simultaneous, population)
        return {**found, "groups": groups, "trait": list(self.trait), "test": self.test().to_dict()}

    def __repr__(self) -> str:
        shares = ", ".join(f"{label} {share:.4g}" for label, share in zip(CLASSES, self.share, strict=True))
        return f"<Cheating {shares}; {self.caption}>"


def cheating(answers: Column, groups: Column, designs: Mapping[Any, YesNoDesign]) -> Cheating:
    """Estimate how many answer honestly, and how many say no whatever the design asks of them.

    `groups` says to which group each answer belongs, `designs` which design each group had. Who is in which group must
    have been drawn at random.

    >>> class Forced:  # Told to say yes with probability q, else honest.
    ...     def __init__(self, q): self.p, self.q, self.epsilon = 1, q, float("inf")
    >>> answers = [1] * 460 + [0] * 540 + [1] * 740 + [0] * 260
    >>> c = cheating(answers, ["a"] * 1000 + ["b"] * 1000, {"a": Forced(0.25), "b": Forced(0.75)})
    >>> print(c)
    value        share  std. error  95% interval (population)
    honest yes  0.3200      0.0246           0.2719 .. 0.3684
    honest no   0.5600      0.0420           0.4771 .. 0.6416
    cheaters    0.1200      0.0222           0.0772 .. 0.1644
    n = 2,000; no finite epsilon
    >>> c.test().rejects()
    True
    """
    if not isinstance(designs, Mapping) or len(designs) < 2:
        raise ParameterError(f"designs must map two groups or more to their designs, got {designs!r:.60}")
    laws = tuple(AnswerLaw.of(str(group), design) for group, design in designs.items())
    reports, labels = yes_no("answers", answers, *laws), to_list(groups)
    if len(labels) != len(reports):
        raise ParameterError(f"groups must be as many as answers, {len(reports):,}, got {len(labels):,}")
    if np.linalg.matrix_rank(np.array([[law.p, law.q] for law in laws])) < 2:
        raise ParameterError("groups must differ in their designs, or cheaters cannot be told from honest people")
    yes, asked = _counted(reports.tolist(), labels, designs)
    simulated = bool(getattr(answers, "simulated", False))
    epsilon = max(law.epsilon for law in laws)
    return Cheating(len(labels), tuple(designs), yes, asked, laws, epsilon, simulated)


def _counted(
    reports: list[float], labels: list[object], designs: Mapping[Any, YesNoDesign]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many said yes in each group, and how many there were."""
    yes, asked = dict.fromkeys(designs, 0), dict.fromkeys(designs, 0)
    for report, label in zip(reports, labels, strict=True):
        if label not in asked:
            raise ParameterError(f"a group must have a design, but {label!r:.40} has none")
        asked[label] += 1
        yes[label] += int(report)
    for group, count in asked.items():
        if not count:
            raise ParameterError(f"a group must have answers, but {group!r:.40} has none")
    return tuple(yes.values()), tuple(asked.values())
