"""What mechanisms over unlisted values have in common: cohorts with public hash functions of their own.

A device draws its cohort without a look at the answer, hashes the answer to buckets by the cohort's public functions,
randomizes the buckets, and reports the cohort in the open beside the randomized buckets.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sottovoce.core.domain import AnswerDomain, Text, to_list
from sottovoce.core.domain.columns import Column
from sottovoce.core.errors import DomainError, ParameterError, ReportError
from sottovoce.core.hashing import Hashes
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import CohortBits, Index, Report, ReportArray, Shape
from sottovoce.estimates.collisions import noise, shared
from sottovoce.mechanisms.base import Code, Mechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import HashedEstimate, Result
    from sottovoce.estimates.tally import Tally

METHODS = ("mean", "regression")


class Inner(Protocol):
    """What randomizes the buckets of a value: a pure mechanism, or a Bloom filter."""

    @property
    def p(self) -> Probability: ...
    @property
    def q(self) -> Probability: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def cells(self) -> int: ...
    @property
    def marks(self) -> int | None: ...
    def _law(self, code: Code) -> dict[Report, Fraction]: ...
    def _perturb(self, code: Code, source: Source) -> Report: ...
    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> ReportArray: ...
    def _count(self, data: ReportArray) -> NDArray[np.int64]: ...
    def _support_many(self, rows: NDArray[np.int64]) -> NDArray[np.int64]: ...


class Cohorts(Mechanism):
    """A mechanism that hashes texts to buckets. The code of an answer is its fingerprint.

    A subclass says how buckets are randomized and which of them stand for a value in a cohort.
    """

    domain_type: ClassVar[type[AnswerDomain]] = Text
    domain: Text
    cohorts: int
    salt: str

    if TYPE_CHECKING:  # Some subclasses store these, others derive them.

        @property
        def p(self) -> Probability:
            """The probability that a report supports a bucket of the true value."""

        @property
        def q(self) -> Probability:
            """The probability that a report supports any one other bucket."""

        @property
        def buckets(self) -> int:
            """How many buckets values are hashed to."""

        @property
        def hashes(self) -> int:
            """How many hash functions a cohort has."""

        def tally(self) -> Tally[HashedEstimate]: ...

    @property
    @abstractmethod
    def _inner(self) -> Inner: ...

    @abstractmethod
    def _place(self, code: Code, cohort: int) -> int | tuple[int, ...]:
        """What the inner mechanism is given for a value in a cohort."""

    @abstractmethod
    def _place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]: ...

    @cached_property
    def hashing(self) -> Hashes:
        """The public hash functions."""
        return Hashes(self.salt, self.buckets, self.cohorts, self.hashes)

    @cached_property
    def shape(self) -> Index | CohortBits:
        """The number of the cohort times the number of inner reports plus the report, or its bits and the cohort's."""
        inner = self._inner.shape
        if isinstance(inner, Index):
            if inner.outcomes * self.cohorts > GRID:
                raise ParameterError(f"reports must be numbers below 2^53: {self._inner!r} has too many for cohorts")
            return Index(inner.outcomes * self.cohorts)
        return CohortBits(inner.bits + (self.cohorts - 1).bit_length(), self.cohorts)

    def _codes(self) -> Iterable[tuple[Code, str | None]]:
        return ((self._code(self.domain.encode(label)), label) for label in self.domain.labels)

    def _code(self, data: bytes) -> Code:
        """What is kept of a text: its fingerprint."""
        return self.hashing.marked(data, self.domain.max_bytes)

    def _code_many(self, rows: list[bytes]) -> NDArray[np.int64]:
        return self.hashing.fingerprints(rows)

    # Randomizing.

    def _encode(self, value: object, source: Source) -> Code:
        return self._code(self.domain.encode(value))

    def _encode_many(self, values: Column, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        rows = to_list(values)
        try:  # Answers repeat: each is hashed once.
            places = {value: at for at, value in enumerate(dict.fromkeys(rows))}
            codes = self._code_many(self.domain.encode_many(list(places)))
        except (DomainError, TypeError):
            return self._code_many(self.domain.encode_many(rows, first_row))  # An error names its row.
        return codes[np.fromiter(map(places.__getitem__, rows), dtype=np.int64, count=len(rows))]

    def _law(self, code: Code) -> dict[Report, Fraction]:
        return {
            self._join(cohort, report): chance / self.cohorts
            for cohort in range(self.cohorts)
            for report, chance in self._inner._law(self._place(code, cohort)).items()
        }

    def _perturb(self, code: Code, source: Source) -> Report:
        cohort = source.below(self.cohorts)
        return self._join(cohort, self._inner._perturb(self._place(code, cohort), source))

    def _join(self, cohort: int, report: Report) -> Report:
        if isinstance(self.shape, CohortBits):
            assert isinstance(report, bytes)  # noqa: S101
            return self.shape.join(cohort, report)
        assert isinstance(report, int)  # noqa: S101
        return cohort * (self.shape.outcomes // self.cohorts) + report

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        cohorts = stream.below(self.cohorts, codes.size)
        out[:] = self._join_many(cohorts, self._inner._perturb_many(self._place_many(codes, cohorts), stream))

    def _join_many(self, cohorts: NDArray[np.int64], inner: ReportArray) -> ReportArray:
        if isinstance(self.shape, CohortBits):
            return self.shape.join_many(cohorts, inner.view(np.uint8))
        reports: NDArray[np.int64] = cohorts * (self.shape.outcomes // self.cohorts) + inner
        return reports

    # Counting. Each cohort has a row of cells: those of the inner mechanism, and its number of reports if those do not
    # tell it.

    @property
    def _row_cells(self) -> int:
        """How many cells the row of a cohort has."""
        return self._inner.cells + (self._inner.marks is None)

    @property
    def cells(self) -> int:
        return self.cohorts * self._row_cells

    @property
    def marks(self) -> int | None:
        return self._inner.marks

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        inner: Any = self._inner
        if type(inner)._places is Mechanism._places:  # A report is the number of its cell, and so it is here.
            return (data,)
        cohorts, own = np.divmod(data.astype(np.int64), inner.shape.outcomes)
        return (cohorts * self._row_cells + places for places in inner._places(own))

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        if not isinstance(self.shape, CohortBits):
            return super()._count(data)
        cohorts, inner = self.shape.split_many(data.view(np.uint8))
        order = np.argsort(cohorts.astype(np.uint16), kind="stable")  # NumPy sorts 16 bits faster.
        ends = np.cumsum(np.bincount(cohorts, minlength=self.cohorts))
        rows = np.zeros((self.cohorts, self._row_cells), dtype=np.int64)
        for cohort in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
            own = inner[order[ends[cohort - 1] if cohort else 0 : ends[cohort]]]
            rows[cohort, : self._inner.cells] = self._inner._count(own)
            rows[cohort, self._inner.cells :] = len(own)
        return rows.ravel()

    def _sizes(self, rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """How many reports each cohort has, n together."""
        marks = self._inner.marks
        sizes: NDArray[np.int64] = rows[:, -1] if marks is None else rows.sum(axis=1) // marks
        if sizes.sum() != n:  # A tally may come from a file.
            raise ReportError(f"the cohorts of a tally must have {n} reports together, got {sizes.sum()}")
        return sizes

    # Estimating.

    @cached_property
    def variance(self) -> float:
        """The squared error of the frequency of a value that nobody holds, times n; collisions are not in it."""
        return noise(float(self.p), float(self.q), self.buckets, self.hashes)[0]

    def stderr(self, n: int, concentration: float = 1.0) -> float:
        """The standard error of the frequency of a rare value, from n reports.

        The concentration is the sum of the squared frequencies of the others: 1 if all hold the same value.
        """
        if n < 1 or not 0 <= concentration <= 1:
            raise ParameterError(f"n must be at least 1 and concentration from 0 to 1, got {n} and {concentration}")
        r = shared(self.buckets, self.hashes)
        return float((self.variance / n + concentration * r / ((1 - r) * self.hashes * self.cohorts)) ** 0.5)

    def _estimate(self, tally: Tally[Result], values: Iterable[str | None] | None = None,
                  method: str = "mean") -> HashedEstimate:  # fmt: skip
        from sottovoce.estimates.decoding import Sketch, by_mean, by_regression

        if method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        labels, codes = self._candidates(values)
        rows = tally.cells.reshape(self.cohorts, -1)
        support = self._inner._support_many(rows[:, : self._inner.cells])
        sketch = Sketch(self.hashing, self._sizes(rows, tally.n), support, float(self.p), float(self.q))
        decode = by_mean if method == "mean" else by_regression
        return decode(sketch, labels, codes, self.epsilon, tally.simulated)

    def _candidates(self, values: Column | None) -> tuple[list[str | None], NDArray[np.int64]]:
        """The values that are asked about, as they are shown, and their fingerprints."""
        if values is None:
            raise ParameterError("these values are not listed anywhere: say which to estimate, estimate(values=[...])")
        try:
            data = self.domain.encode_many(values)
        except DomainError as error:
            raise ParameterError(f"values to estimate: {error}") from None
        if not data:
            raise ParameterError("values to estimate must be at least one, got none")
        codes = self.hashing.fingerprints(data)
        labels = [each.decode() if each else None for each in data]
        order = np.argsort(codes, kind="stable")
        twice = np.flatnonzero(np.diff(codes[order]) == 0)
        if twice.size:
            label = labels[int(order[twice[0]])]
            raise ParameterError(f"values to estimate must differ from one another, got {label!r} twice")
        return labels, codes


def check_text(domain: object) -> Text:
    if domain is not None and not isinstance(domain, Text):
        raise ParameterError(f"domain must be a Text, got {domain!r:.80}")
    return domain or Text()
