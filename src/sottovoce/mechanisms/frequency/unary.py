from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels.rows import put
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
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Bits, Report, ReportArray
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, init=False, repr=False)
class Unary(Pure):
    """Unary encoding: one bit for each value, set with probability p for the true value and q for any other.

    The symmetric kind flips every bit alike (q = 1 - p); the optimal kind sends the true bit by a fair coin (p = 1/2),
    which gives the least variance for an epsilon. Reports are as long as the domain.

    >>> m = Unary(14, p=0.75, q=0.25)
    >>> m.epsilon, m.bits
    (2.1972245773362196, 14)
    >>> optimal = Unary(14, epsilon=m.epsilon)
    >>> optimal.variance < m.variance
    True

    T. Wang, J. Blocki, N. Li, S. Jha, Locally Differentially Private Protocols for Frequency Estimation, USENIX
    Security 2017.
    """

    name: ClassVar[str] = "unary"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no", "choice")
    domain: Domain
    p: Probability
    q: Probability

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        kind: str | None = None,
        *,
        p: float | Fraction | None = None,
        q: float | Fraction | None = None,
    ) -> None:
        if epsilon is None:
            if p is None or q is None or kind is not None:
                raise ParameterError("give either epsilon (and a kind) or both p and q")
            set_true, set_other = round_down(check_probability("p", p)), round_up(check_probability("q", q))
        elif p is not None or q is not None:
            raise ParameterError("give either epsilon (and a kind) or both p and q")
        else:
            set_true, set_other = _probabilities(check_epsilon(epsilon), kind or "optimal")
        if not set_true > set_other:
            raise ParameterError(f"p must be greater than q, got p = {set_true} and q = {set_other}")
        self._freeze(domain=Domain.of(domain), p=set_true, q=set_other)

    @cached_property
    def epsilon(self) -> float:
        return log_above(self.p * (1 - self.q) / ((1 - self.p) * self.q))

    @cached_property
    def shape(self) -> Bits:
        return Bits(self.domain.size)

    @property
    def cells(self) -> int:
        return self.domain.size

    @property
    def marks(self) -> None:
        return None

    def supports(self, report: Report) -> Iterable[int]:
        bits = int.from_bytes(self.shape.check(report), "little")
        return tuple(code for code in range(self.domain.size) if bits >> code & 1)

    def _law(self, code: int) -> dict[Report, Fraction]:
        law = {0: Fraction(1)}
        for other in range(self.domain.size):
            chance = self.p if other == code else self.q
            law = {
                report | bit << other: probability * (chance if bit else 1 - chance)
                for report, probability in law.items()
                for bit in (0, 1)
            }
        return {report.to_bytes(self.shape.width, "little"): probability for report, probability in law.items()}

    def _perturb(self, code: int, source: Source) -> bytes:
        chances = [self.q] * self.domain.size
        chances[code] = self.p
        return self.shape.of_bits(source.coins(chances))

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        noisy_bits(self.shape, self.p, self.q, codes[:, None], stream, out.view(np.uint8))

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        return self.shape.sums(data)

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return cells


def noisy_bits(
    shape: Bits, p: Probability, q: Probability, places: NDArray[np.int64], stream: Keystream, rows: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Rows of bits become 1 with probability p at the places of a row and with probability q elsewhere."""
    stream.coin_rows(q, rows)
    shape.trim(rows)
    for column in places.T:  # Where two places coincide, the last coin counts: it falls like the first.
        put(rows, column, stream.bernoulli(p, len(places)))
    return rows


def _probabilities(epsilon: float, kind: str) -> tuple[Probability, Probability]:
    if kind == "symmetric":
        odds = exp_below(epsilon / 2)
        p = round_down(odds / (1 + odds))
        return p, Probability(1 - p)
    if kind == "optimal":
        return Probability(1, 2), round_up(1 / (1 + exp_below(epsilon)))
    raise ParameterError(f"kind must be optimal or symmetric, got {kind!r}")
