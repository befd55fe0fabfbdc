from __future__ import annotations

from collections.abc import Iterable

from sottovoce.domain import Domain, Label
from sottovoce.errors import ParameterError
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.pure import Pure
from sottovoce.mechanisms.unary import Unary
from sottovoce.privacy import check_epsilon

SLACK = 1.01
"""Among mechanisms whose variance is within 1% of the least, the one with the shortest reports is chosen."""


def choose(
    domain: int | Iterable[Label] | Domain, epsilon: float, n: int | None = None, max_bits: int | None = None
) -> Pure:
    """The mechanism of least variance for a domain and an epsilon, with reports of at most `max_bits`.

    The variance of every mechanism falls like 1/n, so that n does not sway the choice among those there are now.

    >>> choose(["yes", "no", "maybe"], epsilon=1.0)
    KRR(3 values, epsilon=1)
    >>> choose(1024, epsilon=1.0)
    LocalHash(1024 values, epsilon=1)
    """
    domain, epsilon = Domain.of(domain), check_epsilon(epsilon)
    if n is not None and n < 1:
        raise ParameterError(f"n must be at least 1, got {n}")
    candidates: list[Pure] = [KRR(domain, epsilon), Unary(domain, epsilon), LocalHash(domain, epsilon)]
    fitting = [m for m in candidates if max_bits is None or m.bits <= max_bits]
    if not fitting:
        least = min(m.bits for m in candidates)
        raise ParameterError(f"max_bits must be at least {least} for {domain.size} values, got {max_bits}")
    best = min(m.variance for m in fitting)
    return min((m for m in fitting if m.variance <= SLACK * best), key=lambda m: (m.bits, m.variance))
