"""The two kinds of `Memoized`: over listed values, and over texts that nobody listed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.hashing import Hashes
from sottovoce.core.lazy import numpy as np
from sottovoce.core.reports import CohortBits, Index, Report
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.frequency.unary import Unary
from sottovoce.mechanisms.longitudinal.memoized import Memoized
from sottovoce.mechanisms.text.bloom import Bloom, Filter
from sottovoce.mechanisms.text.cohorts import Cohorts
from sottovoce.mechanisms.text.hashed import Hashed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain, Text
    from sottovoce.estimates import Estimate, HashedEstimate, Result
    from sottovoce.estimates.tally import Tally


class MemoizedValues(Memoized, Pure):
    """Over listed values: a frequency mechanism like any other."""

    permanent: KRR | Unary | LocalHash
    permanents: ClassVar[tuple[type[Mechanism], ...]] = (KRR, Unary, LocalHash)

    if TYPE_CHECKING:

        def tally(self) -> Tally[Estimate]: ...

        def _estimate(self, tally: Tally[Result]) -> Estimate: ...

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return self.permanent.domain

    def supports(self, report: Report) -> Iterable[int]:
        return self.permanent.supports(report)

    def is_supported(self, code: int, report: Report) -> bool:
        return self.permanent.is_supported(code, report)

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.permanent._support(cells)


class MemoizedTexts(Memoized, Cohorts):
    """Over texts: the device's cohort is drawn once, and an answer is remembered for each text.

    The code of one answer is the text's bytes. In a column it is their fingerprint, which is enough to simulate.
    """

    permanent: Hashed | Bloom
    permanents: ClassVar[tuple[type[Mechanism], ...]] = (Hashed, Bloom)

    if TYPE_CHECKING:

        def tally(self) -> Tally[HashedEstimate]: ...

        def _estimate(
            self, tally: Tally[Result], values: Iterable[str | None] | None = None, method: str = "mean"
        ) -> HashedEstimate: ...

    @property
    def domain(self) -> Text:  # type: ignore[override]
        return self.permanent.domain

    @property
    def shape(self) -> Index | CohortBits:
        return self.permanent.shape

    @property
    def cohorts(self) -> int:  # type: ignore[override]
        return self.permanent.cohorts

    @property
    def salt(self) -> str:  # type: ignore[override]
        return self.permanent.salt

    @property
    def buckets(self) -> int:
        return self.permanent.buckets

    @property
    def hashes(self) -> int:
        return self.permanent.hashes

    @property
    def hashing(self) -> Hashes:
        return self.permanent.hashing

    @property
    def _inner(self) -> KRR | Unary | Filter:
        return self._where.inner

    def _code(self, data: bytes) -> bytes:
        return data

    def _place(self, code: bytes, cohort: int) -> Any:
        return self._where.place(code, cohort)

    def _place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._where.place_many(codes, cohorts)
