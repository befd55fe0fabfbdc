"""What a service counts and times, for Prometheus.

Counters say nothing about one person, and a service may show them to everybody. The time of one request could tell of
the device and the network it came from, so timings are shown apart, to this machine alone. They are
grouped by the pattern of a route, never by a path or an address, in coarse steps.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from sottovoce import __version__
from sottovoce.core.lazy import load

if TYPE_CHECKING:
    from prometheus_client.core import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTERS = {
    "accepted": "Reports made durable.",
    "duplicates": "Reports acknowledged again.",
    "dropped": "Reports of batches that were left out, by reason.",
    "rejected": "Requests with reports that were refused, by reason.",
    "failed": "Requests that failed for a reason of the service's own, by reason.",
    "requests": "Requests answered, by status.",
}
GAUGES = {
    "pending": "Reports that wait to be written.",
    "bytes_in_flight": "Bytes of bodies held at the moment.",
    "streams": "Pages that watch results at the moment.",
    "waiting": "Envelopes that wait for a batch.",
    "undelivered_batches": "Batches that were made and not delivered yet.",
}
LABELS = {"dropped": "reason", "undelivered": "reason", "rejected": "reason", "failed": "reason", "requests": "status"}

BUCKET_SECONDS = (0.01, 0.05, 0.25, 1.0, 5.0, 30.0)
"""Coarse: enough to see that a service is slow, and not how long one person's request took."""


@dataclass
class Times:
    """How long the requests of one route took: how many in each bucket, the last one without an end, and in all."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKET_SECONDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self.seconds += seconds

    @property
    def buckets(self) -> list[tuple[str, float]]:
        """The requests up to each bound, as Prometheus has them."""
        return list(zip([*map(str, BUCKET_SECONDS), "+Inf"], accumulate(self.counts), strict=True))


class Metrics:
    """The counters of all services, more if some are given with what they mean, and how long each route takes.

    They are plain numbers, which a request changes in a fraction of a microsecond; the library writes them down.

    >>> metrics = Metrics()
    >>> metrics.add("rejected", "malformed")
    >>> [line for line in metrics.text().decode().splitlines() if line.startswith("sottovoce_rejected")]
    ['sottovoce_rejected_total{reason="malformed"} 1.0']
    """

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        self.help = COUNTERS | dict(more or {})
        self.counts: Counter[tuple[str, str]] = Counter({(name, ""): 0 for name in self.help if name not in LABELS})
        """Every count by its name and label; the label is empty where there is none."""
        self._times: defaultdict[tuple[str, str], Times] = defaultdict(Times)
        self._lock = threading.Lock()
        load("prometheus_client")  # Where it is missing, the service does not start.

    def add(self, name: str, label: str = "", count: int = 1) -> None:
        """Count something, from any thread."""
        if name not in self.help:
            raise KeyError(name)
        with self._lock:
            self.counts[name, label] += count

    def observe(self, method: str, route: str, seconds: float) -> None:
        """Note how long a request took, from the event loop; `route` is the pattern of its address."""
        self._times[method, route].add(seconds)

    def __getitem__(self, name: str) -> int:
        return sum(count for (key, _), count in self.counts.items() if key == name)

    def text(self, gauges: Mapping[str, int] | None = None, local: bool = False) -> bytes:
        """All counters, with the gauges that are given; if it is for this machine, times and the process too."""
        from prometheus_client import PlatformCollector, ProcessCollector, generate_latest

        families = [*self._counters(), *self._gauges(gauges or {}), self._build()]
        if local:
            process = ProcessCollector(registry=None), PlatformCollector(registry=None)
            families += [self._seconds(), *(family for part in process for family in part.collect())]
        return generate_latest(_Collected(families))

    def _counters(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        with self._lock:
            counts = sorted(self.counts.items())
        for name, about in sorted(self.help.items()):
            labels = [LABELS[name]] if name in LABELS else []
            family = CounterMetricFamily(f"sottovoce_{name}", about, labels=labels)
            for (key, label), count in counts:
                if key == name:
                    family.add_metric([label] if labels else [], count)
            yield family

    def _gauges(self, gauges: Mapping[str, int]) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        for name, value in gauges.items():
            yield GaugeMetricFamily(f"sottovoce_{name}", GAUGES[name], value=value)

    def _build(self) -> Metric:
        from prometheus_client.core import InfoMetricFamily

        about = "The version of sottovoce that runs."
        return InfoMetricFamily("sottovoce_build", about, value={"version": __version__})

    def _seconds(self) -> Metric:
        from prometheus_client.core import HistogramMetricFamily

        about = "How long requests took until their answer was ready, by route."
        family = HistogramMetricFamily("sottovoce_request_seconds", about, labels=["method", "route"])
        for (method, route), times in sorted(self._times.items()):
            family.add_metric([method, route], times.buckets, times.seconds)
        return family


@dataclass(frozen=True)
class _Collected:
    """Families of series, in the form in which the library reads them."""

    families: Sequence[Metric]

    def collect(self) -> Sequence[Metric]:
        return self.families
