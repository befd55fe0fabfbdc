"""The types of what compiled loops are given."""

from __future__ import annotations

from typing import Any

import numba


def given(kind: Any, dimensions: int = 1) -> Any:
    """An array that is only read, as answers and reports are; one that could be written to is taken for such a one."""
    return numba.types.Array(kind, dimensions, "C", readonly=True)


CODES, WORDS = given(numba.int64), given(numba.uint64)
COUNTS, OUT = numba.int64[::1], numba.uint64[::1]
