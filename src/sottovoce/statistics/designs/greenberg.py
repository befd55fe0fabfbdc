"""The unrelated question when nobody knows how common its yes is: two samples tell both proportions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.statistics.designs.answers import Sample, read
from sottovoce.statistics.designs.base import Design, Matrix, Number, exact, percent
from sottovoce.statistics.designs.binary import Unrelated
from sottovoce.statistics.proportions.joint import JointProportions, linearised_shares, share_variance
from sottovoce.statistics.proportions.proportion import Proportion

if TYPE_CHECKING:
    from sottovoce.core.domain.columns import Column
    from sottovoce.core.randomness import Keystream
    from sottovoce.statistics.designs.base import Prior

T = TypeVar("T")


@dataclass(frozen=True, init=False, repr=False)
class Greenberg(Design):
    """Two independent samples get the question with probabilities `first` and `second`, else the unrelated one.

    A yes has probability t pi + (1 - t) u in a sample with t; two different t tell pi and u, the unrelated prevalence.
    How much an answer reveals depends on u: epsilon is infinite, for u might be 0. `at` gives the designs for a u.

    >>> design = Greenberg(0.8, 0.3)
    >>> e = design.estimate_counts((36, 100), (46, 100))
    >>> e.frequency.round(3), e.stderr.round(3)
    (array([0.32, 0.52]), array([0.07 , 0.085]))
    >>> round(design.at(0.5)[0].epsilon, 3)
    2.197

    B. G. Greenberg, A.-L. A. Abul-Ela, W. R. Simmons, D. G. Horvitz, The Unrelated Question Randomized Response Model:
    Theoretical Framework, JASA 1969.
    """

    name: ClassVar[str] = "greenberg"
    how: ClassVar[str] = (
        "a coin chooses between the question and an unrelated one of unknown prevalence, and two samples get coins of "
        "different odds."
    )
    hidden: ClassVar[str] = Unrelated.hidden
    first: Fraction
    second: Fraction
    by: str

    def __init__(self, first: Number, second: Number, by: str = "respondent") -> None:
        self._freeze(by, first=exact("first", first), second=exact("second", second))
        if self.first == self.second:
            raise ParameterError(f"the two samples must differ in their probability of the question, got {first} twice")

    def at(self, prevalence: Number) -> tuple[Unrelated, Unrelated]:
        """The designs of the two samples if the prevalence of the unrelated yes were known."""
        return Unrelated(self.first, prevalence, self.by), Unrelated(self.second, prevalence, self.by)

    @cached_property
    def matrix(self) -> Matrix:
        """That of the first sample in the worst case, an unrelated question to which nobody says yes."""
        return (Fraction(1), Fraction(0)), (1 - self.first, self.first)

    @property
    def truths(self) -> Sequence[str]:
        return ("no", "yes")

    @property
    def answers(self) -> Sequence[str]:
        return ("no", "yes")

    def estimate(
        self,
        answers: Column,
        other: Column,
        weights: Column | None = None,
        other_weights: Column | None = None,
        missing: str = "refuse",
    ) -> JointProportions:
        """Both proportions from the answers of the first sample and of the second, the `other` one."""
        first = read(answers, self.codes, self.expected, weights, None, missing)
        second = read(other, self.codes, self.expected, other_weights, None, missing)
        parts = [linearised_shares(part.codes[:, None].astype(float), part.equal) for part in (first, second)]
        samples = [(float(share[0]), float(variance[0, 0])) for share, variance in parts]
        return self._both(samples, first.codes.size + second.codes.size)

    def estimate_counts(self, first: tuple[int, int], second: tuple[int, int]) -> JointProportions:
        """The same from the number of yes and of answers in each sample."""
        counts = [_counted(sample) for sample in (first, second)]
        samples = [(count.share, share_variance(count.share, count.n)) for count in counts]
        return self._both(samples, sum(count.n for count in counts))

    def loglik(self, pi: Iterable[Number], answers: Column, other: Column) -> float:
        """The log-likelihood of both proportions, pi = (yes, unrelated), given the answers of the two samples."""
        yes, unrelated = (float(exact("a proportion", share)) for share in _two("pi", pi))
        total = 0.0
        for truth, rows in ((float(self.first), answers), (float(self.second), other)):
            codes, rate = read(rows, self.codes, self.expected).codes, truth * yes + (1 - truth) * unrelated
            total += float(scipy.special.xlogy([codes.sum(), codes.size - codes.sum()], [rate, 1 - rate]).sum())
        return total

    def _both(self, samples: list[tuple[float, float]], n: int) -> JointProportions:
        first, second = float(self.first), float(self.second)
        solve = np.linalg.inv(np.array([[first, 1 - first], [second, 1 - second]]))
        shares = np.array([share for share, _ in samples])
        covariance = solve @ np.diag([variance for _, variance in samples]) @ solve.T
        note = f"{self!r}, randomized by the {self.by}; epsilon depends on the unrelated prevalence"
        return JointProportions(("yes", "unrelated"), n, solve @ shares, covariance, self.epsilon, note=note)

    def _estimate(self, sample: Sample, label: str) -> JointProportions:
        raise ParameterError("this design needs the answers of two samples")

    def simulate(self, truths: Column, seed: int | Keystream | None) -> NoReturn:
        raise ParameterError(
            "this design says nothing of the unrelated answers: simulate the designs of `at(prevalence)`"
        )

    def posterior(self, prior: Prior, answer: object) -> NoReturn:
        raise ParameterError("a posterior depends on the unrelated prevalence: ask the designs of `at(prevalence)`")

    def _rates(self) -> list[str]:
        first, second = percent(self.first), percent(self.second)
        return [f"Of 100 people in the first sample {first} answer the question, of 100 in the second {second}."]

    def _promise(self) -> str:
        return (
            "Epsilon depends on the share of yes to the unrelated question; where that is 0, a yes reveals the truth."
        )


def _two(name: str, pair: Iterable[T]) -> tuple[T, T]:
    try:
        first, second = pair
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be two numbers, got {pair!r:.40}") from None
    return first, second


def _counted(sample: tuple[int, int]) -> Proportion:
    yes, n = _two("a sample, yes and n,", sample)
    return Proportion(yes, n, Fraction(1), Fraction(0), math.inf)
