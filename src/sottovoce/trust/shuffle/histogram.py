"""Histograms in the shuffle model: a frequency mechanism with the epsilon0 that shuffling makes up for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon
from sottovoce.mechanisms import FREQUENCIES, build
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.trust.base import Release, TrustModel
from sottovoce.trust.shuffle.accounting import Shuffled, largest_local_epsilon, shuffle_epsilon
from sottovoce.trust.shuffle.bounds import check_delta, check_reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.core.randomness import Keystream

CANDIDATES = ("krr", "subset", "projective")
ANSWERS_AT_A_TIME = 2**20


@dataclass(frozen=True, init=False)
class ShuffledHistogram:
    """The histogram of n honest people's answers, (epsilon, delta)-private for whoever sees the shuffled reports.

    Every mechanism gets the largest epsilon0 that its own accounting allows; the one of least variance is taken, or
    another by its name. `mechanism` randomizes, tallies and estimates as ever.

    >>> h = ShuffledHistogram(["tea", "coffee", "water"], epsilon=0.5, n=10_000, delta=1e-6)
    >>> h.mechanism, h.shuffled.upper <= 0.5
    (KRR(3 values, epsilon=4.34894), True)
    >>> round(h.stderr, 4), round(build("krr", h.domain, 0.5).variance ** 0.5 / 100, 4)  # Without a shuffler.
    (0.0013, 0.0261)
    """

    domain: Domain
    n: int
    delta: float
    mechanism: Pure

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float,
        n: int,
        delta: float = 1e-6,
        mechanism: str = "auto",
    ) -> None:
        domain, n, delta = Domain.of(domain), check_reports(n), check_delta(delta)
        if mechanism != "auto" and mechanism not in FREQUENCIES:
            raise ParameterError(f"a mechanism must be auto or one of {', '.join(FREQUENCIES)}, got {mechanism!r:.40}")
        made = _mechanism(mechanism, domain.size, n, check_epsilon(epsilon), delta)
        fields = {"domain": domain, "n": n, "delta": delta, "mechanism": build(made.name, domain, made.epsilon)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @cached_property
    def shuffled(self) -> Shuffled:
        """What is spent, from above and from below."""
        return shuffle_epsilon(self.mechanism, self.n, self.delta)

    @property
    def stderr(self) -> float:
        """The root mean squared error of a frequency, averaged over the domain."""
        return math.sqrt(self.mechanism.variance / self.n)


@lru_cache(maxsize=128)
def _mechanism(name: str, size: int, n: int, epsilon: float, delta: float) -> Pure:
    """The mechanism over codes, with the largest epsilon0."""
    names = [name] if name != "auto" else ["krr"] if size == 2 else CANDIDATES
    made = [build(each, Domain(size), _local(each, size, n, epsilon, delta)) for each in names]
    return min(made, key=lambda m: m.variance)


def _local(name: str, size: int, n: int, epsilon: float, delta: float) -> float:
    return largest_local_epsilon(epsilon, n, delta, lambda local: build(name, Domain(size), local))


@dataclass(frozen=True)
class Shuffle(TrustModel):
    """Every answer is randomized on its own device, more mildly, and a shuffler forgets who sent it.

    All who answer are taken to be honest.

    >>> round(Shuffle().stderr(Domain(10), 1.0, n=10_000), 5)
    0.00086
    """

    mechanism: str = "auto"
    delta: float = 1e-6
    trusts: ClassVar[str] = "a shuffler"

    def __post_init__(self) -> None:
        check_delta(self.delta)

    @property
    def name(self) -> str:
        return "shuffle" if self.mechanism == "auto" else f"shuffle {self.mechanism}"

    def release(
        self, domain: Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        m = _mechanism(self.mechanism, domain.size, codes.size, epsilon, self.delta)
        tally = m.tally()
        for at in range(0, codes.size, ANSWERS_AT_A_TIME):
            tally.add_many(m.randomize_many(codes[at : at + ANSWERS_AT_A_TIME], seed=stream))
        estimate = tally.estimate()
        by = f"{m!r}, {codes.size:,} shuffled; delta = {self.delta:g}"
        return Release(estimate.unbiased, estimate.interval(level), epsilon, by)

    def stderr(self, domain: Domain, epsilon: float, n: int) -> float:
        return math.sqrt(_mechanism(self.mechanism, domain.size, n, epsilon, self.delta).variance / n)
