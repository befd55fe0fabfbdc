from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels import in_one_piece, loops
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import (
    Probability,
    check_epsilon,
    check_probability,
    exp_below,
    log_above,
    round_down,
    round_up,
)
from sottovoce.core.randomness import Keystream, Source, heads, last_fair
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, init=False, repr=False)
class KRR(Pure):
    """K-ary randomized response: the truth with probability p, otherwise another value, each as likely.

    The best choice for few values or a large epsilon: with D values its variance grows like D.

    >>> m = KRR(["red", "green", "blue"], epsilon=1.0)
    >>> m.epsilon <= 1.0, m.bits, f"{m.p:.4f} {m.q:.4f}"
    (True, 2, '0.5761 0.2119')
    >>> KRR(["red", "green", "blue"], p=0.5).channel()["red"]
    {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}

    P. Kairouz, K. Bonawitz, D. Ramage, Discrete Distribution Estimation under Local Privacy, ICML 2016.
    """

    name: ClassVar[str] = "krr"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no", "choice")
    domain: Domain
    p: Probability

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        *,
        p: float | Fraction | None = None,
    ) -> None:
        domain = Domain.of(domain)
        if (epsilon is None) == (p is None):
            raise ParameterError("give either epsilon or p")
        if epsilon is not None:
            odds = exp_below(check_epsilon(epsilon))
            truth = round_down(odds / (odds + domain.size - 1))
        else:
            exact = check_probability("p", p)
            truth = round_down(exact) if exact * domain.size > 1 else round_up(exact)
        if truth * domain.size == 1 or (epsilon is not None and truth * domain.size < 1):
            raise ParameterError(f"p must differ from 1/{domain.size}, or reports say nothing (epsilon is too small)")
        self._freeze(domain=domain, p=truth)

    @cached_property
    def q(self) -> Probability:
        return Probability((1 - self.p) / (self.domain.size - 1))

    @cached_property
    def epsilon(self) -> float:
        return log_above(max(self.p / self.q, self.q / self.p))

    @cached_property
    def shape(self) -> Index:
        return Index(self.domain.size)

    @property
    def cells(self) -> int:
        return self.domain.size

    def supports(self, report: Report) -> Iterable[int]:
        return (self.shape.check(report),)

    def _law(self, code: int) -> dict[Report, Fraction]:
        return {other: Fraction(self.p if other == code else self.q) for other in range(self.domain.size)}

    def _perturb(self, code: int, source: Source) -> int:
        truth, other = source.bernoulli(self.p), source.below(self.domain.size - 1)
        return (other + (other >= code), code)[truth]

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        count, others = codes.size, self.domain.size - 1
        if (compiled := loops()) is not None:
            fixed = (in_one_piece(codes), heads(self.p), others, last_fair(others), out)
            stream.feed(partial(compiled.respond, *fixed), count, self.p, others)
            return
        truth = stream.bernoulli(self.p, count)
        other = stream.below(others, count)
        other += other >= codes
        out[:] = np.where(truth, codes, other)

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return cells

    def _support_table(self) -> NDArray[np.float64]:
        """Whether each report supports each value."""
        return np.eye(self.domain.size)

    def _second_moments(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each row c of weights and each value x, the mean of (sum_v c_v S_v)^2 over the reports of a holder of x.

        S_v says whether a report supports v. Here a report supports one value.
        """
        p, q = float(self.p), float(self.q)
        squares: NDArray[np.float64] = weights**2
        moments: NDArray[np.float64] = q * squares.sum(axis=1, keepdims=True) + (p - q) * squares
        return moments
