"""What the reports tell: frequencies, means, distributions, shares, sums, each with its errors."""

from sottovoce.estimates.distribution import Distribution
from sottovoce.estimates.event_shares import EventShares
from sottovoce.estimates.frequencies import Estimate, Row, quantile
from sottovoce.estimates.hashed import HashedEstimate
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.key_means import KeyMeans
from sottovoce.estimates.mean import MeanEstimate
from sottovoce.estimates.result import Result
from sottovoce.estimates.shares import Shares

__all__ = [
    "Distribution",
    "Estimate",
    "EventShares",
    "HashedEstimate",
    "Interval",
    "KeyMeans",
    "MeanEstimate",
    "Result",
    "Row",
    "Shares",
    "quantile",
]
