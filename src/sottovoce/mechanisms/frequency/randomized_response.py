from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_probability
from sottovoce.mechanisms.frequency.krr import KRR

Binary = Iterable[Label] | Domain
TRUTH_VALUES = (False, True)


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse(KRR):
    """Randomized response for one bit: the truth with probability p, the opposite otherwise.

    >>> RandomizedResponse(1.0)
    RandomizedResponse(2 values, epsilon=1)
    >>> RandomizedResponse.from_coins().epsilon
    1.0986122886681098
    >>> RandomizedResponse.from_truth(0.75) == RandomizedResponse.from_gamma(0.25) == RandomizedResponse.from_coins()
    True

    S. L. Warner, Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias, JASA 1965.
    """

    name: ClassVar[str] = "rr"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no",)

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        p: float | Fraction | None = None,
        domain: Binary = TRUTH_VALUES,
    ) -> None:
        domain = Domain.of(domain)
        if domain.size != 2:
            raise ParameterError(f"randomized response needs a domain of 2 values, got {domain.size}")
        super().__init__(domain, epsilon, p=p)

    @classmethod
    def from_truth(cls, truth: float | Fraction, domain: Binary = TRUTH_VALUES) -> RandomizedResponse:
        """Answer truthfully with this probability, and with the opposite otherwise."""
        return cls(p=truth, domain=domain)

    @classmethod
    def from_gamma(cls, gamma: float | Fraction, domain: Binary = TRUTH_VALUES) -> RandomizedResponse:
        """Answer truthfully with probability 1/2 + gamma, for gamma in (0, 1/2)."""
        half, exact = Fraction(1, 2), check_probability("gamma", gamma)
        if exact >= half:
            raise ParameterError(f"gamma must lie strictly between 0 and 1/2, got {gamma}")
        return cls(p=half + exact, domain=domain)

    @classmethod
    def from_coins(cls, domain: Binary = TRUTH_VALUES) -> RandomizedResponse:
        """Toss a coin: heads, answer truthfully; tails, answer what a second coin says."""
        return cls(p=Fraction(3, 4), domain=domain)

    @classmethod
    def warner(cls, p: float | Fraction, domain: Binary = TRUTH_VALUES) -> RandomizedResponse:
        """Spin a spinner that points to the statement with probability p and to its negation otherwise.

        Who answers "true" to the negation says the opposite of the truth, so the reports are those of `from_truth`.
        """
        return cls(p=p, domain=domain)
