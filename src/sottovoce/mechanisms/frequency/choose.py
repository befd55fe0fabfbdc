from __future__ import annotations

from collections.abc import Callable, Iterable

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon
from sottovoce.mechanisms.frequency.hadamard import Hadamard
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash
from sottovoce.mechanisms.frequency.projective import Projective
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.frequency.subset import Subset
from sottovoce.mechanisms.frequency.unary import Unary

VARIANCE_TOLERANCE = 1.01
"""Among mechanisms whose variance is within 1% of the least, the one with the shortest reports is chosen."""

MAX_BITS = 1024
"""The longest report that is chosen unless more is allowed: 128 bytes."""

CANDIDATES: tuple[Callable[[Domain, float], Pure], ...] = (KRR, Subset, Projective, LocalHash, Hadamard, Unary)


def choose(
    domain: int | Iterable[Label] | Domain, epsilon: float, n: int | None = None, max_bits: int | None = None
) -> Pure:
    """The mechanism of least variance for a domain and an epsilon, with reports of at most `max_bits` (1,024 if None).

    The variance of every mechanism falls like 1/n, so that n does not sway the choice among those there are now.

    >>> choose(["yes", "no", "maybe"], epsilon=1.0)
    KRR(3 values, epsilon=1)
    >>> choose(100, epsilon=1.0), choose(100, epsilon=1.0, max_bits=8)
    (Subset(100 values, epsilon=1), Hadamard(100 values, epsilon=1))
    >>> choose(1_000_000, epsilon=1.0)
    Projective(1000000 values, epsilon=1)
    """
    domain, epsilon = Domain.of(domain), check_epsilon(epsilon)
    if n is not None and n < 1:
        raise ParameterError(f"n must be at least 1, got {n}")
    limit = MAX_BITS if max_bits is None else max_bits
    mechanisms = [make(domain, epsilon) for make in CANDIDATES]
    fitting = [m for m in mechanisms if m.bits <= limit]
    if not fitting:
        least = min(m.bits for m in mechanisms)
        raise ParameterError(f"max_bits must be at least {least} for {domain.size} values, got {limit}")
    best = min(m.variance for m in fitting)
    return min((m for m in fitting if m.variance <= VARIANCE_TOLERANCE * best), key=lambda m: (m.bits, m.variance))
