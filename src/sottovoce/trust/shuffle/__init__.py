"""The shuffle model: a shuffler forgets who sent which report, and each report may say more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.trust.shuffle.accounting import Shuffled as Shuffled
    from sottovoce.trust.shuffle.accounting import shuffle_epsilon as shuffle_epsilon
    from sottovoce.trust.shuffle.accounting import shuffle_local_epsilon as shuffle_local_epsilon
    from sottovoce.trust.shuffle.accounting import shuffle_n as shuffle_n
    from sottovoce.trust.shuffle.histogram import Shuffle as Shuffle
    from sottovoce.trust.shuffle.histogram import ShuffledHistogram as ShuffledHistogram
    from sottovoce.trust.shuffle.sums import BinarySum as BinarySum
    from sottovoce.trust.shuffle.sums import RealSum as RealSum
    from sottovoce.trust.shuffle.sums import Total as Total

_HOMES = {
    "Shuffled": "accounting",
    "shuffle_epsilon": "accounting",
    "shuffle_local_epsilon": "accounting",
    "shuffle_n": "accounting",
    "Shuffle": "histogram",
    "ShuffledHistogram": "histogram",
    "BinarySum": "sums",
    "RealSum": "sums",
    "Total": "sums",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.
