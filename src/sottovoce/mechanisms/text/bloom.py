from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, check_epsilon, check_probability, log_above, round_down, round_up
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Bits, Report, ReportArray
from sottovoce.mechanisms.frequency.unary import Unary, noisy_bits
from sottovoce.mechanisms.text.cohorts import Cohorts, check_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Filter:
    """A Bloom filter with noise: a bit that is set is sent as 1 with probability p, another with probability q.

    It is unary encoding with several bits set. They are given by their places, which may coincide.
    """

    length: int
    p: Probability
    q: Probability
    marks: ClassVar[None] = None

    @cached_property
    def shape(self) -> Bits:
        return Bits(self.length)

    @cached_property
    def domain(self) -> Domain:
        """The bits, as values."""
        return Domain(self.length)

    @property
    def cells(self) -> int:
        return self.length

    def _chances(self, places: tuple[int, ...]) -> list[Probability]:
        chances = [self.q] * self.length
        for place in places:
            chances[place] = self.p
        return chances

    def _law(self, places: tuple[int, ...]) -> dict[Report, Fraction]:
        law = {0: Fraction(1)}
        for at, chance in enumerate(self._chances(places)):
            law = {
                report | bit << at: probability * (chance if bit else 1 - chance)
                for report, probability in law.items()
                for bit in (0, 1)
            }
        return {report.to_bytes(self.shape.width, "little"): probability for report, probability in law.items()}

    def _perturb(self, places: tuple[int, ...], source: Source) -> bytes:
        return self.shape.of_bits(source.coins(self._chances(places)))

    def _perturb_many(self, places: NDArray[np.int64], stream: Keystream) -> ReportArray:
        return noisy_bits(self.shape, self.p, self.q, places, stream, self.shape.empty(len(places)))

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        return self.shape.sums(data)

    def _support_many(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return rows


@dataclass(frozen=True, init=False, repr=False)
class Bloom(Cohorts):
    """Texts in Bloom filters: several hash functions set a bit each, and every bit is randomized.

    This is how RAPPOR reports texts. Two values differ in at most twice as many bits as there are hash functions, and
    that is what epsilon is about.

    >>> m = Bloom.rappor(bits=128, hashes=2, cohorts=8, f=0.5)  # what is remembered of a value for good
    >>> round(m.epsilon, 4), m.p, m.q, m.bits
    (4.3944, 0.75, 0.25, 131)
    >>> m = Bloom.rappor(bits=128, hashes=2, cohorts=8, f=0.5, p=0.5, q=0.75)  # one report of what is remembered
    >>> round(m.epsilon, 4), m.p, m.q
    (1.0743, 0.6875, 0.5625)

    Ú. Erlingsson, V. Pihur, A. Korolova, RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response, CCS 2014.
    """

    name: ClassVar[str] = "bloom"
    question_kinds: ClassVar[tuple[str, ...]] = ("text",)
    domain: Text
    buckets: int
    hashes: int
    cohorts: int
    salt: str
    p: Probability
    q: Probability

    def __init__(
        self,
        buckets: int = 128,
        hashes: int = 2,
        cohorts: int = 64,
        epsilon: float | None = None,
        *,
        p: float | Fraction | None = None,
        q: float | Fraction | None = None,
        salt: str = "",
        domain: Text | None = None,
    ) -> None:
        self._freeze(domain=check_text(domain), buckets=buckets, hashes=hashes, cohorts=cohorts, salt=salt)
        if self.hashing.buckets < 2 * hashes:
            raise ParameterError(f"buckets must be at least twice the hashes ({2 * hashes}), got {buckets}")
        if (epsilon is None) == (p is None) or (p is None) != (q is None):
            raise ParameterError("give either epsilon or both p and q")
        if epsilon is not None:
            pair = Unary(2, math.nextafter(check_epsilon(epsilon) / hashes, 0), kind="symmetric")
            p, q = pair.p, pair.q
        set_bit, other = round_down(check_probability("p", p)), round_up(check_probability("q", q))
        if not set_bit > other:
            raise ParameterError(f"p must be greater than q, got p = {set_bit} and q = {other}")
        self._freeze(p=set_bit, q=other)

    @classmethod
    def rappor(
        cls,
        bits: int = 128,
        hashes: int = 2,
        cohorts: int = 64,
        *,
        f: float | Fraction,
        p: float | Fraction | None = None,
        q: float | Fraction | None = None,
        salt: str = "",
        domain: Text | None = None,
    ) -> Bloom:
        """One report of RAPPOR: each bit is replaced by a fair coin with probability f.

        With p and q it is then sent as 1 with probability q if it is 1 and p if it is 0, as the paper has them; here
        the larger of the two is taken for q, in whichever order they come.
        """
        share = check_probability("f", f)
        if (p is None) != (q is None):
            raise ParameterError("give both p and q, or neither")
        low, high = sorted((check_probability("p", p), check_probability("q", q))) if p is not None else (0, 1)
        keep, flip = 1 - share / 2, share / 2
        p, q = keep * high + flip * low, flip * high + keep * low
        return cls(bits, hashes, cohorts, p=p, q=q, salt=salt, domain=domain)

    @cached_property
    def epsilon(self) -> float:
        """All bits of one value may be told from all bits of another: as many pairs of bits as hash functions."""
        return log_above((self.p * (1 - self.q) / ((1 - self.p) * self.q)) ** self.hashes)

    @cached_property
    def _inner(self) -> Filter:
        return Filter(self.buckets, self.p, self.q)

    def _place(self, code: int, cohort: int) -> tuple[int, ...]:
        return tuple(self.hashing.bucket(code, cohort, at) for at in range(self.hashes))

    def _place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.stack([self.hashing.spread(codes, cohorts, at) for at in range(self.hashes)], axis=1)

    def __repr__(self) -> str:
        return f"Bloom({self.buckets} bits, {self.hashes} hashes, {self.cohorts} cohorts, epsilon={self.epsilon:.6g})"
