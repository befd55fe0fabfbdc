"""What the reports tell: frequencies, means, distributions, shares, sums, each with its errors."""

from sottovoce.estimate.distribution import Distribution
from sottovoce.estimate.frequencies import Estimate, Interval, Row, quantile
from sottovoce.estimate.hashed import HashedEstimate
from sottovoce.estimate.key_means import KeyMeans
from sottovoce.estimate.mean import MeanEstimate
from sottovoce.estimate.result import Result
from sottovoce.estimate.shares import Shares
from sottovoce.estimate.sums import Sums

__all__ = [
    "Distribution",
    "Estimate",
    "HashedEstimate",
    "Interval",
    "KeyMeans",
    "MeanEstimate",
    "Result",
    "Row",
    "Shares",
    "Sums",
    "quantile",
]
