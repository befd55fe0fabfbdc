"""Reports: what leaves a device. Their shapes, and a column of them.

A mechanism's reports have one of a few shapes. A shape checks untrusted reports before anything is counted, and
fixes how many bits one takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from sottovoce.core.domain.columns import as_numpy
from sottovoce.core.errors import ReportError
from sottovoce.core.kernels import loops, occurrences
from sottovoce.core.kernels.rows import column_sums
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from sottovoce.mechanisms.base import Mechanism

Report: TypeAlias = int | bytes
"""What one person sends: a number, or bits packed into bytes."""
ReportArray: TypeAlias = "NDArray[np.integer[Any]]"
"""Reports of many people: a column of numbers of any width, or a row of bytes for each person."""


class Shape(Protocol):
    """How reports look: one of them, a column of them, and their size."""

    @property
    def bits(self) -> int: ...

    def check(self, report: object) -> Report: ...

    def check_many(self, data: object) -> ReportArray: ...

    def from_arrow(self, array: pa.Array) -> ReportArray: ...

    def empty(self, count: int, wide: bool = False) -> ReportArray: ...


@dataclass(frozen=True)
class Index:
    """A report that is one of `outcomes` integers.

    >>> Index(5).bits, Index(5).check(4)
    (3, 4)
    """

    outcomes: int

    @cached_property
    def bits(self) -> int:
        return (self.outcomes - 1).bit_length()

    @property
    def dtype(self) -> np.dtype[np.integer[Any]]:
        return np.min_scalar_type(self.outcomes - 1)

    def check(self, report: object) -> int:
        if isinstance(report, bool) or not hasattr(report, "__index__"):
            raise ReportError(f"a report must be a whole number, got {report!r:.40}")
        try:
            value = int(report.__index__())
        except TypeError:  # An array has an index only if it is one number.
            raise ReportError(f"a report must be a whole number, got {report!r:.40}") from None
        if not 0 <= value < self.outcomes:
            raise ReportError(f"a report must be from 0 to {self.outcomes - 1}, got {value!r:.40}")
        return value

    def check_many(self, data: object) -> ReportArray:
        if isinstance(data, list):
            return np.fromiter(map(self.check, data), dtype=self.dtype, count=len(data))
        column = np.asarray(data)
        if column.ndim != 1 or column.dtype.kind not in "iu":
            raise ReportError(f"reports must be a column of whole numbers, got {_describe(column)}")
        if column.size:
            self.check(int(column.max()))
            if column.dtype.kind == "i":
                self.check(int(column.min()))
        return column.astype(self.dtype, copy=False)

    def counts(self, reports: ReportArray) -> NDArray[np.int64]:
        """How often each of the outcomes occurs in a column. The column is checked meanwhile."""
        plain = reports.ndim == 1 and reports.dtype.kind in "iu" and reports.dtype.isnative
        if plain and loops() is not None:  # The compiled loop checks the numbers itself.
            with suppress(ValueError):
                return occurrences(reports, self.outcomes)
        return occurrences(self.check_many(reports), self.outcomes)  # `check_many` says what is wrong.

    def from_arrow(self, array: pa.Array) -> ReportArray:
        """A column of Arrow as NumPy sees it, unchecked. Nothing is copied."""
        whole = _without_gaps(array)
        return as_numpy(whole) if pa.types.is_integer(array.type) else np.asarray(whole)

    def empty(self, count: int, wide: bool = False) -> ReportArray:
        """Room for a column, of the narrowest numbers or of wide ones."""
        return np.empty(count, dtype=np.int64 if wide else self.dtype)


@dataclass(frozen=True)
class Bits:
    """A report of `length` bits, packed into bytes: value v is bit v mod 8 (the lowest is 0) of byte v div 8.

    >>> Bits(12).check(bytes([0b00000101, 0b1000])).hex()
    '0508'
    """

    length: int

    @property
    def bits(self) -> int:
        return self.length

    @property
    def width(self) -> int:
        """Bytes in a report."""
        return (self.length + 7) // 8

    @property
    def spare(self) -> int:
        """The bits of the last byte that stand for no value, and must be zero."""
        return 0xFF << ((self.length - 1) % 8 + 1) & 0xFF

    def pack(self, places: Iterable[int]) -> bytes:
        """The report whose bits are set at these places. The time it takes depends on how many there are."""
        packed = bytearray(self.width)
        for place in places:
            packed[place >> 3] |= 1 << (place & 7)
        return bytes(packed)

    def of_bits(self, bits: Iterable[int]) -> bytes:
        """The report that has these bits. It takes the same time whatever they are."""
        packed = bytearray(self.width)
        for place, bit in enumerate(bits):
            packed[place >> 3] |= bit << (place & 7)
        return bytes(packed)

    def check(self, report: object) -> bytes:
        if not isinstance(report, bytes | bytearray | memoryview):
            raise ReportError(f"a report must be {self.width} bytes, got {report!r:.40}")
        packed = bytes(report)
        if len(packed) != self.width:
            raise ReportError(f"a report must be {self.width} bytes, got {len(packed)}")
        if packed[-1] & self.spare:
            raise ReportError(f"a report must be zero beyond its {self.length} bits, got {packed.hex():.40}")
        return packed

    def check_many(self, data: object) -> NDArray[np.uint8]:
        if isinstance(data, list):
            joined = b"".join(self.check(report) for report in data)
            return np.frombuffer(joined, dtype=np.uint8).reshape(-1, self.width)
        rows = np.asarray(data)
        if rows.ndim != 2 or rows.dtype != np.uint8 or rows.shape[1] != self.width:
            raise ReportError(f"reports must be rows of {self.width} bytes, got {_describe(rows)}")
        if self.spare and (rows[:, -1] & np.uint8(self.spare)).any():
            raise ReportError(f"reports must be zero beyond their {self.length} bits")
        return rows

    def from_arrow(self, array: pa.Array) -> NDArray[np.uint8]:
        """A column of Arrow as rows of bytes, unchecked; copied only if they could be of any length."""
        fixed = pa.binary(self.width)
        try:
            whole = _without_gaps(array).cast(fixed)
        except pa.ArrowException:
            raise ReportError(f"reports must be rows of {self.width} bytes, got a column of {array.type}") from None
        rows = np.frombuffer(whole.buffers()[1] or b"", dtype=np.uint8)
        return rows[whole.offset * self.width : (whole.offset + len(whole)) * self.width].reshape(-1, self.width)

    def empty(self, count: int, wide: bool = False) -> NDArray[np.uint8]:
        return np.empty((count, self.width), dtype=np.uint8)

    def trim(self, rows: NDArray[np.uint8]) -> None:
        """Rows of any bits become reports: those that stand for no value are cleared."""
        if self.spare:
            rows[:, -1] &= np.uint8(0xFF ^ self.spare)

    def sums(self, rows: ReportArray) -> NDArray[np.int64]:
        """How many rows have each bit set."""
        return column_sums(rows.view(np.uint8))[: self.length]


@dataclass(frozen=True)
class CohortBits(Bits):
    """A report of bits, the last of which are the number of a cohort, its lowest bit first.

    >>> shape = CohortBits(length=12, cohorts=4)  # Ten bits and a cohort from 0 to 3.
    >>> shape.check(shape.join(3, bytes.fromhex("0500"))).hex(), shape.split(bytes.fromhex("050c"))
    ('050c', (3, 5))
    """

    cohorts: int

    @property
    def own(self) -> Bits:
        """The bits without the cohort."""
        return Bits(self.length - (self.cohorts - 1).bit_length())

    def join(self, cohort: int, bits: bytes) -> bytes:
        """Bits and a cohort behind them. The bits stay bytes: how long a number is depends on which of them are set."""
        whole, spare = divmod(self.length - (self.cohorts - 1).bit_length(), 8)
        last = (bits[whole] if spare else 0) | cohort << spare
        return bits[:whole] + last.to_bytes(self.width - whole, "little")

    def split(self, report: bytes) -> tuple[int, int]:
        cohort, bits = divmod(int.from_bytes(report, "little"), 1 << self.own.length)
        return cohort, bits

    def check(self, report: object) -> bytes:
        packed = super().check(report)
        cohort, _ = self.split(packed)
        if cohort >= self.cohorts:
            raise ReportError(f"a report's cohort must be from 0 to {self.cohorts - 1}, got {cohort}")
        return packed

    def check_many(self, data: object) -> NDArray[np.uint8]:
        rows = super().check_many(data)
        if len(rows) and (worst := int(self.split_many(rows)[0].max())) >= self.cohorts:
            raise ReportError(f"a report's cohort must be from 0 to {self.cohorts - 1}, got {worst}")
        return rows

    def join_many(self, cohorts: NDArray[np.int64], own: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Rows of bits with their cohorts behind them."""
        rows = np.zeros((len(own), self.width), dtype=np.uint8)
        rows[:, : own.shape[1]] = own
        for at in range(self.own.length, self.length):
            rows[:, at >> 3] |= (cohorts >> (at - self.own.length) & 1).astype(np.uint8) << np.uint8(at & 7)
        return rows

    def split_many(self, rows: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The cohorts, and the rows of bits without them."""
        cohorts = np.zeros(len(rows), dtype=np.int64)
        for at in range(self.own.length, self.length):
            cohorts |= (rows[:, at >> 3].astype(np.int64) >> (at & 7) & 1) << (at - self.own.length)
        own = rows[:, : self.own.width].copy()
        self.own.trim(own)
        return cohorts, own


def _without_gaps(array: pa.Array) -> pa.Array:
    if array.null_count:
        raise ReportError("a report must not be null")
    return array


def _describe(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


@dataclass(frozen=True, eq=False)
class Reports:
    """A column of reports and the mechanism that made it. Seeded reports say so: they protect nobody."""

    mechanism: Mechanism
    data: ReportArray
    simulated: bool

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Report]:
        return (row.tobytes() if row.ndim else row.item() for row in self.data)

    @overload
    def __getitem__(self, key: int) -> Report: ...
    @overload
    def __getitem__(self, key: slice) -> Reports: ...
    def __getitem__(self, key: int | slice) -> Report | Reports:
        if isinstance(key, slice):
            return Reports(self.mechanism, self.data[key], self.simulated)
        row = self.data[key]
        return row.tobytes() if row.ndim else int(row)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        converted = np.asarray(self.data, dtype=dtype)
        return converted.copy() if copy else converted

    def __repr__(self) -> str:
        warning = " SIMULATED with a seed: not private" if self.simulated else ""
        return f"<{len(self)} reports of {self.mechanism!r}{warning}>"
