"""The shuffle model: a shuffler forgets who sent which report, and each report may say more."""

from sottovoce.trust.shuffle.accounting import Shuffled, shuffle_epsilon, shuffle_local_epsilon, shuffle_n
from sottovoce.trust.shuffle.histogram import Shuffle, ShuffledHistogram
from sottovoce.trust.shuffle.sums import BinarySum, RealSum, Total

__all__ = [
    "BinarySum",
    "RealSum",
    "Shuffle",
    "Shuffled",
    "ShuffledHistogram",
    "Total",
    "shuffle_epsilon",
    "shuffle_local_epsilon",
    "shuffle_n",
]
