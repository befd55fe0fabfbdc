"""The shuffle model: a shuffler forgets who sent which report, and each report may say more."""

from sottovoce.models.shuffle.accounting import Shuffled, shuffle_epsilon, shuffle_local_epsilon, shuffle_n
from sottovoce.models.shuffle.histogram import Histogram, Shuffle
from sottovoce.models.shuffle.sums import BinarySum, RealSum, Total

__all__ = [
    "BinarySum",
    "Histogram",
    "RealSum",
    "Shuffle",
    "Shuffled",
    "Total",
    "shuffle_epsilon",
    "shuffle_local_epsilon",
    "shuffle_n",
]
