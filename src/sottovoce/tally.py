"""Counting reports: integers whose number does not grow with the reports.

Tallies form a commutative monoid. Any split of the work (files, threads, servers, months) gives bit-identical sums,
and an estimate costs the same after a billion reports as after ten.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sottovoce.domain.columns import as_arrow
from sottovoce.errors import ParameterError, ReportError
from sottovoce.kernels import PART, occurrences
from sottovoce.kernels.threads import cores, side_by_side
from sottovoce.lazy import numpy as np
from sottovoce.reports import Index, Report, Reports, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_CELLS = 2**28
MAX_N = 2**53
FEW = 64
"""Outcomes are few if there are so many reports of each."""

R = TypeVar("R", covariant=True)


class Countable(Protocol[R]):
    """What a tally asks of a mechanism."""

    @property
    def shape(self) -> Shape: ...
    @property
    def cells(self) -> int: ...
    @property
    def marks(self) -> int | None: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _count(self, data: NDArray[Any]) -> NDArray[np.int64]: ...
    def _estimate(self, tally: Tally[Any]) -> R: ...


class Tally(Generic[R]):
    """The counts of a mechanism's reports. It starts empty; `add` and `merge` are the only changes.

    >>> from sottovoce import KRR
    >>> t = KRR(["a", "b", "c"], epsilon=1.0).tally()
    >>> t.add(2).add_many([0, 1, 2]).n
    4
    """

    def __init__(self, mechanism: Countable[R]) -> None:
        if mechanism.cells > MAX_CELLS:
            raise ParameterError(
                f"a tally must have at most 2^28 cells (2 GB), {mechanism!r} needs {mechanism.cells:,}"
            )
        self.mechanism = mechanism
        self.n = 0
        self.cells: NDArray[np.int64] = np.zeros(mechanism.cells, dtype=np.int64)
        self.simulated = False

    def add(self, report: Report) -> Tally[R]:
        """Count one report."""
        return self.add_many([self.mechanism.shape.check(report)])

    def add_many(self, reports: Reports | Iterable[Report] | NDArray[Any]) -> Tally[R]:
        """Count a column of reports. If one of them is refused, none is counted."""
        data: Any = reports
        simulated = False
        if isinstance(reports, Reports):
            if reports.mechanism != self.mechanism:
                raise ReportError(f"reports of {reports.mechanism!r} cannot be counted for {self.mechanism!r}")
            data, simulated = reports.data, reports.simulated
        elif (arrow := as_arrow(reports)) is not None:
            parts = [self.mechanism.shape.from_arrow(part) for part in arrow.chunks]
            data = np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else []
        elif np.ma.is_masked(reports):
            raise ReportError("a report must not be missing, got a masked one")
        elif not hasattr(reports, "__array__") or getattr(reports, "dtype", None) == np.object_:
            if not isinstance(reports, Iterable):
                raise ReportError(f"reports must be a column, got {reports!r:.40}")
            data = list(reports)
        if not isinstance(data, np.ndarray) or not data.size or not data.ndim:
            data = self.mechanism.shape.check_many(data)
        share = max(PART, self.cells.size, -(-len(data) // cores()))
        counting = Counting(self.mechanism, len(data))
        for counted in side_by_side(counting.counted, [data[at : at + share] for at in range(0, len(data), share)]):
            counting.counts += counted
        self.cells += counting.cells()
        self.n += len(data)
        self.simulated |= simulated
        return self

    def merge(self, other: Tally[R]) -> Tally[R]:
        """Add another tally of the same mechanism to this one."""
        if not isinstance(other, Tally) or other.mechanism != self.mechanism:
            raise ReportError(f"{other!r:.200} cannot be merged into a tally of {self.mechanism!r}")
        self.cells += other.cells
        self.n += other.n
        self.simulated |= other.simulated
        return self

    def estimate(self, **options: Any) -> R:
        """What the reports tell, with its errors: an `Estimate` of frequencies, or what else the mechanism is for.

        Options are for mechanisms that need them: where no values are listed, say which ones are asked about.
        """
        if not self.n:
            raise ParameterError("an estimate needs at least one report, got none")
        if not options:
            return self.mechanism._estimate(self)
        _check_options(self.mechanism, options)
        make: Any = self.mechanism._estimate
        estimate: R = make(self, **options)
        return estimate

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON that `Tally.from_dict` reads back."""
        return {
            "mechanism": self.mechanism.to_dict(),
            "n": self.n,
            "cells": self.cells.tolist(),
            "simulated": self.simulated,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], mechanism: Countable[R]) -> Tally[R]:
        """A tally that was written down for just this mechanism."""
        if not isinstance(data, dict) or set(data) != {"mechanism", "n", "cells", "simulated"}:
            raise ReportError(f"a tally must have the fields mechanism, n, cells and simulated, got {data!r:.80}")
        if data["mechanism"] != mechanism.to_dict():
            raise ReportError(f"the tally is not one of {mechanism!r}")
        n, cells = data["n"], data["cells"]
        if type(n) is not int or n > MAX_N or not isinstance(cells, list) or len(cells) != mechanism.cells:
            raise ReportError(
                f"a tally of this mechanism must have a whole n, at most 2^53, and {mechanism.cells} cells"
            )
        if not all(type(cell) is int and 0 <= cell <= n for cell in cells):
            raise ReportError(f"every cell of a tally must be a whole number from 0 to n = {n}")
        if mechanism.marks is not None and sum(cells) != n * mechanism.marks:
            raise ReportError(f"the cells of a tally must add up to {n * mechanism.marks}, got {sum(cells)}")
        if not isinstance(data["simulated"], bool):
            raise ReportError(f"simulated must be true or false, got {data['simulated']!r}")
        tally = cls(mechanism)
        tally.n, tally.simulated = n, data["simulated"]
        tally.cells += np.array(cells, dtype=np.int64)
        return tally

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and (self.mechanism, self.n, self.simulated) == (other.mechanism, other.n, other.simulated)
            and bool((self.cells == other.cells).all())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Tally of {self.n} reports of {self.mechanism!r}>"


class Counting:
    """Cells of a tally under way. Of few outcomes each is counted first, and what it adds to the cells is found once.

    >>> from sottovoce import Subset
    >>> m, reports = Subset(6, epsilon=1.0), [3, 1, 3, 14]
    >>> counting = Counting(m, expected=10_000)
    >>> counting.add(np.array(reports))
    >>> (counting.cells() == m.tally().add_many(reports).cells).all()
    np.True_
    """

    def __init__(self, mechanism: Countable[Any], expected: int) -> None:
        self._mechanism, self._shape = mechanism, mechanism.shape
        outcomes = self._shape.outcomes if isinstance(self._shape, Index) else mechanism.cells
        self._few = outcomes != mechanism.cells and FEW * outcomes <= expected
        self.counts: NDArray[np.int64] = np.zeros(outcomes if self._few else mechanism.cells, dtype=np.int64)

    def add(self, reports: NDArray[Any]) -> None:
        self.counts += self.counted(reports)

    def counted(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """What reports would add to the counts. They are checked."""
        counts, step = np.zeros_like(self.counts), max(PART, self.counts.size)
        for at in range(0, len(reports), step):
            data = self._shape.check_many(reports[at : at + step])
            counts += occurrences(data, counts.size) if self._few else self._mechanism._count(data)
        return counts

    def cells(self) -> NDArray[np.int64]:
        """So many reports of each outcome, by doubling and adding; first what all have, for none is rare in private."""
        if not self._few:
            return self.counts
        least, cells = self.counts.min(), np.zeros(self._mechanism.cells, dtype=np.int64)
        rest = self.counts - least
        for digit in reversed(range(int(rest.max()).bit_length())):
            cells += cells
            cells += self._looked_up(np.flatnonzero(rest >> digit & 1))
        cells += least * self._looked_up(np.arange(rest.size))
        return cells

    def _looked_up(self, outcomes: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._mechanism._count(self._shape.check_many(outcomes))


def _check_options(mechanism: Any, options: dict[str, Any]) -> None:
    known = list(inspect.signature(mechanism._estimate).parameters)[1:]
    odd = next((name for name in options if name not in known), None)
    if odd is not None:
        wants = f"takes {', '.join(known)}" if known else "takes no options"
        raise ParameterError(f"an estimate of {mechanism!r} {wants}, got {odd}")
