"""Designs with two truths and two answers: all are lambda = q + (p - q) pi."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, overload

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.mechanisms import RandomizedResponse
from sottovoce.statistics.designs.answers import YES_NO, Sample, read
from sottovoce.statistics.designs.base import Design, Matrix, Number, adding_up, exact, percent
from sottovoce.statistics.proportions.proportion import Proportion, Proportions, Weighted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column
    from sottovoce.statistics.designs.base import Prior
    from sottovoce.statistics.proportions.one_proportion import OneProportion


class Binary(Design):
    """A design with p = P(answer yes | truth yes) and q = P(answer yes | truth no)."""

    words: ClassVar[tuple[str, str]] = ("no", "yes")

    if TYPE_CHECKING:  # Some subclasses store these, others derive them.

        @property
        def p(self) -> Fraction:
            """The probability of the answer yes under the truth yes."""

        @property
        def q(self) -> Fraction:
            """The probability of the answer yes under the truth no."""

    @cached_property
    def matrix(self) -> Matrix:
        return (1 - self.q, self.q), (1 - self.p, self.p)

    @property
    def truths(self) -> tuple[str, str]:
        return ("no", "yes")

    @property
    def answers(self) -> tuple[str, ...]:
        return self.words

    @property
    def codes(self) -> Mapping[Hashable, int]:
        return YES_NO | {self.words[0]: 0, self.words[1]: 1}

    @property
    def expected(self) -> str:
        known = super().expected
        return known if self.words == ("no", "yes") else f"{self.words[1]} or {self.words[0]}, or {known}"

    def posterior(self, prior: Prior, answer: object) -> float:
        """What to believe after an answer: the probability of yes, for a prior probability of yes."""
        yes = exact("prior", prior)
        return self._posterior((1 - yes, yes), answer)[1]

    @overload
    def estimate(
        self, answers: Column, weights: Column | None = None, groups: None = None, missing: str = "refuse"
    ) -> Proportion: ...
    @overload
    def estimate(
        self, answers: Column, weights: Column | None = None, *, groups: Column, missing: str = "refuse"
    ) -> Proportions: ...
    @overload
    def estimate(
        self, answers: Column, weights: Column | None, groups: Column, missing: str = "refuse"
    ) -> Proportions: ...
    def estimate(
        self,
        answers: Column,
        weights: Column | None = None,
        groups: Column | None = None,
        missing: str = "refuse",
    ) -> OneProportion | Proportions:
        """The proportion of yes in the population: a `Proportion`, or `Proportions` if there are groups.

        Missing answers are refused, or left out by missing="drop".
        """
        sample = read(answers, self.codes, self.expected, weights, groups, missing)
        if sample.groups is None:
            return self._estimate(sample, "yes")
        parts = tuple(self._estimate(part, label) for label, part in sample.parts().items())
        return Proportions(parts, note=self._note)

    def estimate_counts(self, yes: int, n: int) -> Proportion:
        """The same from the number of yes answers among n."""
        return Proportion(yes, n, self.p, self.q, self.epsilon, note=self._note)

    @overload
    def loglik(self, pi: float | Fraction, answers: Column) -> float: ...
    @overload
    def loglik(self, pi: Sequence[float] | NDArray[np.float64], answers: Column) -> NDArray[np.float64]: ...
    def loglik(
        self, pi: float | Fraction | Sequence[float] | NDArray[np.float64], answers: Column
    ) -> float | NDArray[np.float64]:
        """The log-likelihood of a proportion, or an array of them, given the answers."""
        return self.estimate(answers).loglik(pi)

    @property
    def _note(self) -> str:
        return f"{self!r}, randomized by the {self.by}"

    def _estimate(self, sample: Sample, label: str) -> OneProportion:
        yes, n = int(sample.codes.sum()), int(sample.codes.size)
        weighted = None if sample.weights is None else Weighted.of(sample.codes.astype(float), sample.weights)
        return Proportion(yes, n, self.p, self.q, self.epsilon, label=label, note=self._note, weighted=weighted)

    def _decoded(self, codes: NDArray[np.int64]) -> NDArray[np.bool_ | np.int64]:
        return np.equal(codes, 1)

    def _rates(self) -> list[str]:
        yes = self.words[1].capitalize()
        holders, others = percent(self.p), percent(self.q)
        return [f"Of 100 people whose truth is Yes, {holders} answer {yes}; of 100 whose truth is No, {others} do."]

    def _informative(self) -> None:
        if self.p == self.q:
            raise ParameterError(f"{self!r} must not make yes as likely under both truths, or answers say nothing")


@dataclass(frozen=True, init=False, repr=False)
class Warner(Binary):
    """A spinner points to the statement with probability p, to its negation otherwise; say whether it is true of you.

    >>> design = Warner(0.7)
    >>> design
    Warner('7/10')
    >>> design.epsilon, design.revealed
    (0.8472978603872037, 0.7)
    >>> print(design.estimate(["yes"] * 44 + ["no"] * 56))
    value    n  yes  frequency  std. error  95% interval (population)
    yes    100   44     0.3500      0.1241           0.1292 .. 0.5949
    n = 100; epsilon = 0.847298; Warner('7/10'), randomized by the respondent

    S. L. Warner, Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias, JASA 1965.
    """

    name: ClassVar[str] = "warner"
    how: ClassVar[str] = "a spinner chooses the statement or its negation, and the respondent says whether it is true."
    hidden: ClassVar[str] = "where the spinner stopped"
    p: Fraction
    by: str

    def __init__(self, p: Number, by: str = "respondent") -> None:
        self._freeze(by, p=exact("p", p))
        self._informative()

    @classmethod
    def from_epsilon(cls, epsilon: float) -> Warner:
        """For a device: the probabilities of `RandomizedResponse`, which never costs more than epsilon.

        >>> Warner.from_epsilon(1.0).epsilon <= 1.0
        True
        """
        return cls(Fraction(RandomizedResponse(epsilon).p), by="device")

    @property
    def q(self) -> Fraction:
        return 1 - self.p


@dataclass(frozen=True, init=False, repr=False)
class Forced(Binary):
    """A die tells whether to answer the truth, to say yes or to say no. The three probabilities add up to one.

    >>> design = Forced("4/6", "1/6", "1/6")
    >>> float(design.p), round(design.epsilon, 4)  # 5 to 1
    (0.8333333333333334, 1.6094)

    R. F. Boruch, Assuring Confidentiality of Responses in Social Research, The American Sociologist 1971.
    """

    name: ClassVar[str] = "forced"
    how: ClassVar[str] = "a die tells whether to answer the truth, to say yes or to say no."
    hidden: ClassVar[str] = "how the die fell"
    truth: Fraction
    yes: Fraction
    no: Fraction
    by: str

    def __init__(self, truth: Number, yes: Number, no: Number, by: str = "respondent") -> None:
        parts = {"truth": exact("truth", truth), "yes": exact("yes", yes), "no": exact("no", no)}
        shares = adding_up("truth, yes and no", list(parts.values()))
        self._freeze(by, **dict(zip(parts, shares, strict=True)))
        self._informative()

    @property
    def p(self) -> Fraction:
        return self.truth + self.yes

    @property
    def q(self) -> Fraction:
        return self.yes


@dataclass(frozen=True, init=False, repr=False)
class Unrelated(Binary):
    """With probability `truth` the question, otherwise an unrelated one, whose prevalence of yes is known.

    Where it is not known, ask two samples: `Greenberg`.

    >>> design = Unrelated(0.7, prevalence=0.25)
    >>> float(design.p), float(design.q), round(design.epsilon, 4)
    (0.775, 0.075, 2.3354)

    B. G. Greenberg, A.-L. A. Abul-Ela, W. R. Simmons, D. G. Horvitz, The Unrelated Question Randomized Response Model:
    Theoretical Framework, JASA 1969.
    """

    name: ClassVar[str] = "unrelated"
    how: ClassVar[str] = "a coin chooses between the question and an unrelated one, whose share of yes is known."
    hidden: ClassVar[str] = "which question was answered, nor the answer to the unrelated one"
    truth: Fraction
    prevalence: Fraction
    by: str

    def __init__(self, truth: Number, prevalence: Number, by: str = "respondent") -> None:
        self._freeze(by, truth=exact("truth", truth), prevalence=exact("prevalence", prevalence))
        self._informative()

    @property
    def p(self) -> Fraction:
        return self.truth + self.q

    @property
    def q(self) -> Fraction:
        return (1 - self.truth) * self.prevalence


@dataclass(frozen=True, init=False, repr=False)
class Mangat(Binary):
    """Who holds yes says so; the others use Warner's spinner, which points to the statement with probability `spinner`.

    The answer no reveals that the truth is no: there is no finite epsilon.

    >>> design = Mangat(0.7)
    >>> design.epsilon, float(design.p), float(design.q)
    (inf, 1.0, 0.3)

    N. S. Mangat, An Improved Randomized Response Strategy, Journal of the Royal Statistical Society B 1994.
    """

    name: ClassVar[str] = "mangat"
    how: ClassVar[str] = "who holds yes says so; the others answer as a spinner tells, by Warner's design."
    hidden: ClassVar[str] = "whether the spinner was used, and where it stopped"
    spinner: Fraction
    by: str

    def __init__(self, spinner: Number, by: str = "respondent") -> None:
        self._freeze(by, spinner=exact("spinner", spinner))
        self._informative()

    @property
    def p(self) -> Fraction:
        return Fraction(1)

    @property
    def q(self) -> Fraction:
        return 1 - self.spinner
