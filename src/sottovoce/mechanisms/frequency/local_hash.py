from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, overload

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.field import MAX_ORDER, Field, is_order
from sottovoce.core.geometry import Space, words
from sottovoce.core.kernels import loops
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, check_epsilon
from sottovoce.core.randomness import Keystream, Source, heads, last_fair
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, init=False, repr=False)
class LocalHash(Pure):
    """Local hashing: a public hash of the value to a few buckets, then k-ary randomized response on the bucket.

    The hash functions are inner products over a finite field. Write a value and a cohort as vectors of base-g digits;
    the bucket is their inner product. Two different values then share a bucket in exactly one cohort in g, so that
    q = 1/g is exact, and the collector decodes all values at once by a fast transform. A report is the number of the
    device's random cohort times g, plus the bucket.

    The binary kind has 2 buckets; the optimal kind has about e^epsilon + 1, which gives the least variance.

    >>> m = LocalHash(1024, epsilon=1.0)
    >>> m.buckets, m.cohorts, m.bits, m.q
    (4, 1024, 12, 0.25)

    T. Wang, J. Blocki, N. Li, S. Jha, Locally Differentially Private Protocols for Frequency Estimation, USENIX
    Security 2017.
    """

    name: ClassVar[str] = "local_hash"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no", "choice")
    domain: Domain
    buckets: int
    p: Probability

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        kind: str | None = None,
        *,
        buckets: int | None = None,
        p: float | Fraction | None = None,
    ) -> None:
        domain = Domain.of(domain)
        if kind is not None and buckets is not None:
            raise ParameterError("give either a kind or a number of buckets")
        if buckets is None:
            buckets = best_buckets(domain.size, epsilon, kind or "optimal")
        self._freeze(domain=domain, buckets=Field(buckets).order, p=KRR(buckets, epsilon, p=p).p)
        if self.p < self.q:
            raise ParameterError(f"p must be greater than 1/{buckets}, got {self.p}")

    @cached_property
    def q(self) -> Probability:
        return Probability(1, self.buckets)

    @property
    def epsilon(self) -> float:
        return self._bucket_response.epsilon

    @cached_property
    def cohorts(self) -> int:
        return self._space.size

    @cached_property
    def shape(self) -> Index:
        return Index(self.cohorts * self.buckets)

    @cached_property
    def _space(self) -> Space:
        return Space.holding(self.buckets, self.domain.size)

    @cached_property
    def _bucket_response(self) -> KRR:
        return KRR(self.buckets, p=self.p)

    @overload
    def hash(self, cohort: int, code: int) -> int: ...
    @overload
    def hash(self, cohort: int | NDArray[np.int64], code: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def hash(self, cohort: int | NDArray[np.int64], code: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """The bucket of a value in a cohort: an inner product over the field, of numbers or of columns."""
        return self._space.inner(cohort, code)

    def supports(self, report: Report) -> Iterable[int]:
        cohort, bucket = divmod(self.shape.check(report), self.buckets)
        return tuple(code for code in range(self.domain.size) if self.hash(cohort, code) == bucket)

    def is_supported(self, code: int, report: Report) -> bool:
        cohort, bucket = divmod(self.shape.check(report), self.buckets)
        return bool(self.hash(cohort, code) == bucket)

    def _law(self, code: int) -> dict[Report, Fraction]:
        return {
            cohort * self.buckets + bucket: chance / self.cohorts
            for cohort in range(self.cohorts)
            for bucket, chance in self._bucket_response._law(self.hash(cohort, code)).items()
            if isinstance(bucket, int)
        }

    def _perturb(self, code: int, source: Source) -> int:
        cohort = source.below(self.cohorts)
        return cohort * self.buckets + self._bucket_response._perturb(self.hash(cohort, code), source)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        count, others = codes.size, self.buckets - 1
        if (compiled := loops()) is not None:
            draws = (self.cohorts, last_fair(self.cohorts), heads(self.p), last_fair(others))
            loop = partial(compiled.hash_and_respond, words(codes), *self._space.tables[3:], *draws, out)
            stream.feed(loop, count, self.cohorts, self.p, others)
            return
        cohorts = stream.below(self.cohorts, count)
        buckets = self._bucket_response._perturb_many(self._space.inner_many(cohorts, codes), stream)
        out[:] = cohorts * self.buckets + buckets

    # A cohort and its multiples hash alike but for the names of the buckets, so the tally keeps one row of cells for
    # each such line of cohorts. The last row is for the zero cohort, which sends every value to bucket 0.

    @cached_property
    def cells(self) -> int:
        return (self._space.lines + 1) * self.buckets

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        cohort, bucket = divmod(data.astype(np.int64), self.buckets)
        factor, line = self._space.normalise_many(cohort)
        bucket = np.where(line < 0, bucket, self._space.field.multiply(factor, bucket))
        return (line % (self._space.lines + 1) * self.buckets + bucket,)

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = cells.reshape(-1, self.buckets)
        support: NDArray[np.int64] = self._space.sums(rows[:-1]) + rows[-1, 0]
        return support[: self.domain.size]

    def _support_table(self) -> NDArray[np.float64]:
        """Whether each report supports each value."""
        cohort, bucket = np.divmod(np.arange(self.shape.outcomes), self.buckets)
        matches: NDArray[np.bool_] = self.hash(cohort[:, None], np.arange(self.domain.size)[None, :]) == bucket[:, None]
        return matches.astype(np.float64)

    def _second_moments(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each row c of weights and each value x, the mean of (sum_v c_v S_v)^2 over the reports of a holder of x.

        S_v says whether a report supports v. Here it supports all values of a bucket.
        """
        p, lie = float(self.p), (1 - float(self.p)) / (self.buckets - 1)
        total, own = self._squares(weights)
        moments: NDArray[np.float64] = (lie * total[:, None] + (p - lie) * own) / self.cohorts
        return moments

    def _squares(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The squares of the weights' sums over a bucket, added up: over all buckets, and over those that x falls into.

        Both run over all cohorts. Cohort 0 has every value in bucket 0; the others come in lines of g - 1 that agree
        but for the names of the buckets. Those with k digits behind the leading one hash by k + 1 digits of a value.
        """
        space, rows = self._space, len(weights)
        g, size, digits = space.order, space.size, space.digits
        negative = space.field.negative(np.arange(g))
        padded = np.zeros((rows, size))
        padded[:, : weights.shape[1]] = weights
        total = padded.sum(axis=1) ** 2
        own = np.repeat(total[:, None], size, axis=1)
        for k in range(digits):
            lead = padded.reshape(rows, -1, g, g**k).sum(axis=1)
            sums = space.transform(lead.transpose(2, 0, 1)[:, :, negative].reshape(-1, g), k).reshape(rows, g**k, g)
            squares = sums[:, :, negative] ** 2
            total = total + (g - 1) * squares.sum(axis=(1, 2))
            image = space.transform(squares.transpose(1, 0, 2).reshape(-1, g), k).reshape(rows, g**k, g)
            own += (g - 1) * np.tile(image.transpose(0, 2, 1).reshape(rows, -1), g ** (digits - k - 1))
        return total, own[:, : weights.shape[1]]


def best_buckets(size: int, epsilon: float | None, kind: str) -> int:
    """The number of buckets with the least variance: the best of the field orders on either side of e^epsilon + 1."""
    if kind == "binary":
        return 2
    if kind != "optimal":
        raise ParameterError(f"kind must be optimal or binary, got {kind!r}")
    if epsilon is None:
        raise ParameterError("give epsilon, or both buckets and p")
    ideal = min(math.exp(check_epsilon(epsilon)) + 1, size, MAX_ORDER)
    above = next(g for g in range(math.ceil(ideal), 2 * MAX_ORDER) if is_order(g))
    below = next((g for g in range(math.floor(ideal), 1, -1) if is_order(g)), above)
    return min(above, below, key=lambda g: _noise(g, epsilon))


def _noise(buckets: int, epsilon: float) -> Fraction:
    p, q = KRR(buckets, epsilon).p, Fraction(1, buckets)
    return q * (1 - q) / (p - q) ** 2
