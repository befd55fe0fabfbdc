"""What the reports tell: frequencies, means, distributions, shares, sums, each with its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.estimates.distribution import Distribution as Distribution
    from sottovoce.estimates.event_shares import EventShares as EventShares
    from sottovoce.estimates.frequencies import Estimate as Estimate
    from sottovoce.estimates.frequencies import Row as Row
    from sottovoce.estimates.frequencies import quantile as quantile
    from sottovoce.estimates.hashed import HashedEstimate as HashedEstimate
    from sottovoce.estimates.interval import Interval as Interval
    from sottovoce.estimates.key_means import KeyMeans as KeyMeans
    from sottovoce.estimates.mean import MeanEstimate as MeanEstimate
    from sottovoce.estimates.result import Result as Result
    from sottovoce.estimates.shares import Shares as Shares

_HOMES = {
    "Distribution": "distribution",
    "Estimate": "frequencies",
    "EventShares": "event_shares",
    "HashedEstimate": "hashed",
    "Interval": "interval",
    "KeyMeans": "key_means",
    "MeanEstimate": "mean",
    "Result": "result",
    "Row": "frequencies",
    "Shares": "shares",
    "quantile": "frequencies",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.
