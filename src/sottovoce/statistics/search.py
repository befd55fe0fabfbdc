"""Bisection for many intervals at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HALVINGS = 60


def last_kept(
    kept: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The last number on the way from each start to its end that is kept: the end itself, or found by halving."""
    whole, inside, outside = kept(end), start, end
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        good = kept(middle)
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    return np.where(whole, end, inside)
