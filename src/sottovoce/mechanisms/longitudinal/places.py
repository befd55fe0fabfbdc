"""Where a value is randomized: as it is, or in the bucket or bits that it has in a cohort."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sottovoce.core.errors import ParameterError
from sottovoce.core.hashing import hash_rest
from sottovoce.core.reports import Report, ReportArray
from sottovoce.mechanisms.base import Code
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash
from sottovoce.mechanisms.frequency.unary import Unary
from sottovoce.mechanisms.text.bloom import Bloom, Filter
from sottovoce.mechanisms.text.hashed import Hashed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Places(Protocol):
    """How the values of a permanent mechanism are found in a cohort. A code is a number, or the bytes of a text."""

    @property
    def cohorts(self) -> int:
        """How many cohorts devices are in: 1 if values are not hashed."""

    @property
    def inner(self) -> KRR | Unary | Filter:
        """What draws a permanent answer for a place: a value, a bucket, or the bits of a filter."""

    @property
    def hashed(self) -> bool:
        """Whether what is randomized is the place of a value and not the value itself."""

    def name(self, code: Code) -> str:
        """What stands for a value in a memory: two values never share it."""

    def place(self, code: Code, cohort: int) -> Any:
        """The place of a value in a cohort."""

    def place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for a column of codes, or of fingerprints of texts."""

    def join(self, cohort: int, report: Report) -> Report:
        """A report together with its cohort."""

    def join_many(self, cohorts: NDArray[np.int64], inner: ReportArray) -> ReportArray:
        """The same for a column."""


@dataclass(frozen=True)
class ListedPlaces:
    """Listed values: they stand for themselves, unless local hashing gives them buckets."""

    permanent: KRR | Unary | LocalHash

    @property
    def hashed(self) -> bool:
        return isinstance(self.permanent, LocalHash)

    @property
    def cohorts(self) -> int:
        return self.permanent.cohorts if isinstance(self.permanent, LocalHash) else 1

    @property
    def inner(self) -> KRR | Unary:
        return self.permanent._bucket_response if isinstance(self.permanent, LocalHash) else self.permanent

    def name(self, code: int) -> str:
        return str(code)

    def place(self, code: int, cohort: int) -> int:
        return self.permanent.hash(cohort, code) if isinstance(self.permanent, LocalHash) else code

    def place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.permanent.hash(cohorts, codes) if isinstance(self.permanent, LocalHash) else codes

    def join(self, cohort: int, report: Report) -> Report:
        return report if isinstance(report, bytes) else cohort * self.inner.domain.size + report

    def join_many(self, cohorts: NDArray[np.int64], inner: ReportArray) -> ReportArray:
        joined: ReportArray = inner if inner.ndim > 1 else cohorts * self.inner.domain.size + inner
        return joined


@dataclass(frozen=True)
class TextPlaces:
    """Texts: their places follow from fingerprints. In a column the fingerprint is all there is, enough to simulate."""

    permanent: Hashed | Bloom
    hashed = True

    @property
    def cohorts(self) -> int:
        return self.permanent.cohorts

    @property
    def inner(self) -> KRR | Unary | Filter:
        inner = self.permanent._inner
        if not isinstance(inner, KRR | Unary | Filter):
            raise ParameterError(f"permanent must be hashed over krr or unary, got {self.permanent!r:.80}")
        return inner

    def name(self, code: bytes) -> str:
        """Two texts never share it, as they may share the fingerprint that places are made of. All are as long."""
        name = hashlib.sha256(code).hexdigest()
        hash_rest(len(code), self.permanent.domain.max_bytes)
        return name

    def place(self, code: bytes, cohort: int) -> int | tuple[int, ...]:
        return self.permanent._place(self.permanent.hashing.marked(code, self.permanent.domain.max_bytes), cohort)

    def place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.permanent._place_many(codes, cohorts)

    def join(self, cohort: int, report: Report) -> Report:
        return self.permanent._join(cohort, report)

    def join_many(self, cohorts: NDArray[np.int64], inner: ReportArray) -> ReportArray:
        return self.permanent._join_many(cohorts, inner)
