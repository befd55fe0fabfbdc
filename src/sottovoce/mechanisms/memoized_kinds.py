"""The two kinds of `Memoized`: over listed values, and over texts that nobody listed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.hashing import Hashes
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms.bloom import Bloom
from sottovoce.mechanisms.cohorts import Cohorts
from sottovoce.mechanisms.hashed import Hashed
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.memoized import Memoized
from sottovoce.mechanisms.pure import Pure
from sottovoce.mechanisms.unary import Unary
from sottovoce.reports import Bits, Index, Report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.domain import Domain, Text


class MemoizedValues(Memoized, Pure):
    """Over listed values: a frequency mechanism like any other."""

    _permanents: ClassVar[tuple[type, ...]] = (KRR, Unary, LocalHash)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        domain: Domain = self.permanent.domain
        return domain

    @cached_property
    def _inner(self) -> KRR | Unary:
        return self.permanent._bucket_response if isinstance(self.permanent, LocalHash) else self.permanent

    @property
    def _hashes_values(self) -> bool:
        return isinstance(self.permanent, LocalHash)

    def _name(self, code: int) -> str:
        return str(code)

    @cached_property
    def cohorts(self) -> int:
        return self.permanent.cohorts if isinstance(self.permanent, LocalHash) else 1

    def _place(self, code: Any, cohort: Any) -> Any:
        return self.permanent.hash(cohort, code) if isinstance(self.permanent, LocalHash) else code

    _place_many = _place

    def _join(self, cohort: int, report: Report) -> Report:
        return report if isinstance(report, bytes) else cohort * self._size + report

    def _join_many(self, cohorts: NDArray[np.int64], inner: NDArray[Any]) -> NDArray[Any]:
        joined: NDArray[Any] = inner if inner.ndim > 1 else cohorts * self._size + inner
        return joined

    # Reports look as those of the permanent mechanism do, and are counted alike.

    @property
    def shape(self) -> Index | Bits:
        shape: Index | Bits = self.permanent.shape
        return shape

    @property
    def cells(self) -> int:  # type: ignore[override]
        cells: int = self.permanent.cells
        return cells

    @property
    def marks(self) -> int | None:
        marks: int | None = self.permanent.marks
        return marks

    def supports(self, report: Report) -> Iterable[int]:
        supported: Iterable[int] = self.permanent.supports(report)
        return supported

    def _count(self, data: NDArray[Any]) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self.permanent._count(data)
        return counts

    def _places(self, data: NDArray[Any]) -> Iterable[NDArray[Any]]:
        places: Iterable[NDArray[Any]] = self.permanent._places(data)
        return places

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        support: NDArray[np.int64] = self.permanent._support(cells)
        return support


class MemoizedTexts(Memoized, Cohorts):
    """Over texts: the device's cohort is drawn once, and an answer is remembered for each text.

    The code of one answer is the text's bytes. In a column it is their fingerprint, which is enough to simulate.
    """

    permanent: Hashed | Bloom
    _permanents: ClassVar[tuple[type, ...]] = (Hashed, Bloom)

    @property
    def _inner(self) -> Any:
        return self.permanent._inner

    @property
    def domain(self) -> Text:  # type: ignore[override]
        return self.permanent.domain

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
    def _hashes_values(self) -> bool:
        return True

    def _code(self, data: bytes) -> bytes:
        return data

    def _name(self, code: bytes) -> str:
        """Two texts never share it, as they may share the fingerprint that places are made of. All are as long."""
        return hashlib.sha256(code).hexdigest()

    def _place(self, code: bytes, cohort: int) -> Any:
        return self.permanent._place(self.hashing.fingerprint(code), cohort)

    def _place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.permanent._place_many(codes, cohorts)

    def _join(self, cohort: int, report: Report) -> Report:
        return self.permanent._join(cohort, report)

    def _join_many(self, cohorts: NDArray[np.int64], inner: NDArray[Any]) -> NDArray[Any]:
        return self.permanent._join_many(cohorts, inner)
