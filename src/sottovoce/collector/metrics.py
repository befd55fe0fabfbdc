"""Counters of what a collector did, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

HELP = {
    "accepted": "Reports made durable.",
    "duplicates": "Reports acknowledged again.",
    "dropped": "Reports of batches that were left out, by reason.",
    "rejected": "Requests with reports that were refused, by reason.",
    "failed": "Requests that failed for a reason of the collector's own, by reason.",
    "requests": "Requests answered, by status.",
}
SHUFFLER = {
    "batches": "Batches delivered.",
    "forwarded": "Reports delivered in batches.",
    "undelivered": "Attempts to deliver a batch that failed, by reason.",
}
LABELS = {"dropped": "reason", "undelivered": "reason", "rejected": "reason", "failed": "reason", "requests": "status"}


class Metrics:
    """Counters, some of them with a label: those of a collector, and more if some are given with what they mean.

    >>> metrics = Metrics()
    >>> metrics.add("rejected", "malformed")
    >>> print(metrics.text(pending=0).splitlines()[-5])
    sottovoce_rejected_total{reason="malformed"} 1
    """

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        self.help = HELP | dict(more or {})
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str = "", count: int = 1) -> None:
        self.counts[name, label] += count

    def __getitem__(self, name: str) -> int:
        return sum(count for (key, _), count in self.counts.items() if key == name)

    def text(self, **gauges: int) -> str:
        lines = []
        for name in sorted(self.help):
            lines += [f"# HELP sottovoce_{name}_total {self.help[name]}", f"# TYPE sottovoce_{name}_total counter"]
            if name not in LABELS:
                lines.append(f"sottovoce_{name}_total {self.counts[name, '']}")
            found = sorted((label, count) for (key, label), count in self.counts.items() if key == name and label)
            lines += [f'sottovoce_{name}_total{{{LABELS[name]}="{label}"}} {count}' for label, count in found]
        for name, value in gauges.items():
            lines += [f"# TYPE sottovoce_{name} gauge", f"sottovoce_{name} {value}"]
        return "\n".join(lines) + "\n"
