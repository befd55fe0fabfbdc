"""Any design at all: k truths, m answers, and the probability of each answer under each truth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.statistics.designs.answers import Sample, read
from sottovoce.statistics.designs.base import Design, Matrix, Number, adding_up, exact, percent
from sottovoce.statistics.histograms.mixture import most_likely
from sottovoce.statistics.proportions.joint import JointProportions, linearised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column
    from sottovoce.statistics.designs.base import AnswerColumn, Prior

    Floats = NDArray[np.float64]

MAX_SIZE = 200


@dataclass(frozen=True, init=False, repr=False)
class Custom(Design):
    """A design by its matrix: a row for each truth, a column for each answer, rows that add up to one.

    >>> design = Custom([["8/10", "1/10", "1/10"], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], truths=["a", "b", "c"])
    >>> round(design.epsilon, 4)  # 8 to 1
    2.0794
    >>> print(design.estimate(["a"] * 50 + ["b"] * 30 + ["c"] * 20))
    value  frequency  std. error  95% interval (population)
    a         0.5714      0.0714           0.4314 .. 0.7114
    b         0.2857      0.0655           0.1574 .. 0.4140
    c         0.1429      0.0571           0.0309 .. 0.2549
    n = 100; epsilon = 2.07944; Custom(3 truths, 3 answers), randomized by the respondent
    """

    name: ClassVar[str] = "custom"
    how: ClassVar[str] = "each truth has its own odds for each answer."
    hidden: ClassVar[str] = "how the chance fell"
    matrix: Matrix
    truths: tuple[Label, ...]
    answers: tuple[Label, ...]
    by: str

    def __init__(
        self,
        matrix: Iterable[Iterable[Number]],
        truths: Iterable[Label] | None = None,
        answers: Iterable[Label] | None = None,
        by: str = "respondent",
    ) -> None:
        rows = _rows(matrix)
        truth = _labels("truths", truths, len(rows))
        same = answers is None and truths is not None and len(rows[0]) == len(rows)
        self._freeze(by, matrix=rows, truths=truth,
                     answers=truth if same else _labels("answers", answers, len(rows[0])))  # fmt: skip

    @property
    def codes(self) -> Mapping[Hashable, int]:
        return _spellings(self.answers)

    @property
    def truth_codes(self) -> Mapping[Hashable, int]:
        return _spellings(self.truths)

    @property
    def expected(self) -> str:
        return f"one of {', '.join(map(str, self.answers)):.80}"

    # What answers tell.

    @cached_property
    def laws(self) -> Floats:
        """The matrix in floating point."""
        return np.array(self.matrix, dtype=np.float64)

    @cached_property
    def scores(self) -> Floats:
        """For each truth and answer, a score whose mean is 1 under that truth and 0 under the others.

        Of all such scores, those with the least variance if all truths are equally common. They add up to one.
        """
        usual = self.laws.mean(axis=0)
        laws, usual = self.laws[:, usual > 0], usual[usual > 0]
        if np.linalg.matrix_rank(laws) < len(laws):
            raise ParameterError(
                "the rows of the matrix must be linearly independent, or answers cannot tell the truths apart"
            )
        scaled = laws / usual
        scores = np.zeros_like(self.laws)
        scores[:, self.laws.mean(axis=0) > 0] = np.linalg.solve(scaled @ laws.T, scaled)
        return scores

    def estimate(self, answers: Column, weights: Column | None = None, missing: str = "refuse") -> JointProportions:
        """The proportion of each truth in the population, unbiased, with covariance; and the likeliest distribution."""
        return self._estimate(read(answers, self.codes, self.expected, weights, None, missing), "")

    def _estimate(self, sample: Sample, label: str) -> JointProportions:
        weights = sample.equal
        frequency, linear = linearised(self.scores.T[sample.codes], weights)
        counts: Floats = np.bincount(sample.codes, weights, minlength=len(self.answers)).astype(np.float64)
        if (self.laws.sum(axis=0)[counts > 0] == 0).any():
            raise ParameterError("an answer was given that has probability 0 under every truth")
        mle = most_likely(self.laws, counts)
        one = float(weights @ weights / weights.sum() ** 2)
        noise, alike = self._noise(mle) * one, bool((counts > 0).sum() == 1)
        covariance = self._spread(mle) * one if sample.weights is None or alike else linear
        note = f"{self!r}, randomized by the {self.by}"
        n = int(sample.codes.size)
        return JointProportions(self.truths, n, frequency, covariance, self.epsilon, noise, mle, note=note)

    def _spread(self, distribution: Floats) -> Floats:
        """The covariance of one answer's scores, if the truths have this distribution."""
        shares = distribution @ self.laws
        spread: Floats = (self.scores * shares) @ self.scores.T - np.outer(self.scores @ shares, self.scores @ shares)
        return spread

    def _noise(self, distribution: Floats) -> Floats:
        """The covariance of one answer's scores, given the truth, on average over the truths."""
        within = np.diag(distribution @ self.laws) - (self.laws.T * distribution) @ self.laws
        noise: Floats = self.scores @ within @ self.scores.T
        return noise

    def loglik(self, pi: Prior, answers: Column) -> float:
        """The log-likelihood of a distribution over the truths, given the answers.

        Of two truths, the probability of the second is enough.
        """
        distribution = np.asarray([float(share) for share in self._prior(pi)])
        counts = np.bincount(read(answers, self.codes, self.expected).codes, minlength=len(self.answers))
        return float(scipy.special.xlogy(counts, distribution @ self.laws).sum())

    def posterior(self, prior: Prior, answer: object) -> dict[Label, float]:
        """What to believe after an answer: the probability of each truth, for prior probabilities."""
        return dict(zip(self.truths, self._posterior(self._prior(prior), answer), strict=True))

    def _prior(self, prior: Prior) -> list[Fraction]:
        given = [prior.get(truth) for truth in self.truths] if isinstance(prior, Mapping) else prior
        if isinstance(given, Real) and len(self.truths) == 2:
            second = exact("a prior probability", given)
            given = [1 - second, second]
        if isinstance(given, str) or not isinstance(given, Iterable):
            given = []
        shares = [exact("a prior probability", share) for share in given]
        if len(shares) != len(self.truths) or abs(float(sum(shares)) - 1) > 1e-9:
            raise ParameterError(
                f"a prior must have {len(self.truths)} probabilities that add up to 1, got {prior!r:.60}"
            )
        return shares

    # How it is shown.

    def _decoded(self, codes: NDArray[np.int64]) -> AnswerColumn:
        labels = np.empty(len(self.answers), dtype=object)
        labels[:] = self.answers
        return labels[codes]

    def __repr__(self) -> str:
        return f"Custom({len(self.truths)} truths, {len(self.answers)} answers)"

    def _rates(self) -> list[str]:
        return [
            f"Of 100 people whose truth is {truth}: "
            + ", ".join(f"{percent(chance)} answer {answer}" for answer, chance in zip(self.answers, row, strict=True))
            + "."
            for truth, row in zip(self.truths, self.matrix, strict=True)
        ]


def _rows(matrix: Iterable[Iterable[Number]]) -> Matrix:
    try:
        rows = tuple(tuple(exact("an entry of the matrix", entry) for entry in row) for row in matrix)
    except TypeError:
        raise ParameterError(f"a matrix must be a list of rows of probabilities, got {matrix!r:.60}") from None
    if not 2 <= len(rows) <= MAX_SIZE or len({len(row) for row in rows}) != 1 or not 2 <= len(rows[0]) <= MAX_SIZE:
        raise ParameterError(f"a matrix must have from 2 to {MAX_SIZE} rows of as many entries, at least 2 each")
    return tuple(tuple(adding_up(f"row {at} of the matrix", row)) for at, row in enumerate(rows, 1))


def _labels(name: str, labels: Iterable[Label] | None, count: int) -> tuple[Label, ...]:
    given: Sequence[Label] = Domain(count if labels is None else labels).labels
    if len(given) != count:
        raise ParameterError(f"{name} must have {count} labels, got {len(given)}")
    if len({_spelling(label) for label in given}) < count:
        raise ParameterError(f"{name} must differ in more than case and spaces, got {', '.join(map(repr, given)):.60}")
    return tuple(given)


def _spelling(label: Label) -> str:
    """A label as an answer in a file may spell it."""
    return str(label).strip().casefold()


def _spellings(labels: tuple[Label, ...]) -> dict[Hashable, int]:
    texts = {_spelling(label): at for at, label in enumerate(labels)}
    return texts | {label: at for at, label in enumerate(labels) if not isinstance(label, str)}
