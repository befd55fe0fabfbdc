"""Which values each report of a column supports, for analyses that need more of the reports than their tally."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.reports import Report, Reports
    from sottovoce.mechanisms.frequency.pure import Pure

MAX_VALUES = 1024
"""The largest domain whose matrices are made: they have a million entries, and are inverted in a second."""
MAX_ENTRIES = 2**24
"""The largest table of values and different reports that is written out: 128 MB."""


def distinct(column: Reports) -> tuple[list[Report], NDArray[np.int64], NDArray[np.int64]]:
    """The reports of a column, each once; for each row, which of them it is; and how often each came."""
    reports, places, counts = np.unique(column.data, axis=0, return_inverse=True, return_counts=True)
    return [row.tobytes() if row.ndim else int(row) for row in reports], places.ravel(), counts


def check_entries(values: int, reports: int) -> None:
    if values > MAX_VALUES:
        raise ParameterError(f"this analysis is for at most {MAX_VALUES:,} values, got {values:,}")
    if values * reports > MAX_ENTRIES:
        raise ParameterError(f"values times different reports must be at most 2^24, got {values:,} x {reports:,}")


def supported(mechanism: Pure, reports: Sequence[Report]) -> NDArray[np.bool_]:
    """A row for each value, a column for each report: whether it speaks for the value."""
    check_entries(mechanism.domain.size, len(reports))
    table = np.zeros((mechanism.domain.size, len(reports)), dtype=bool)
    for place, report in enumerate(reports):
        table[list(mechanism.supports(report)), place] = True
    return table
