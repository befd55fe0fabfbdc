"""What came for each survey since the collector started: counted in memory, with no times and no addresses."""

from __future__ import annotations

from collections import Counter, defaultdict

from sottovoce.core.canonical import JsonObject


class Traffic:
    """Counters of reports taken and requests refused, for each survey that there is.

    >>> traffic = Traffic()
    >>> traffic.taken("sleep", accepted=3, duplicates=1)
    >>> traffic.refused("sleep", "malformed")
    >>> traffic.of("sleep"), traffic.version("sleep"), traffic.version("other")
    ({'accepted': 3, 'duplicates': 1, 'rejected': {'malformed': 1}}, 5, 0)
    """

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def taken(self, survey: str, accepted: int, duplicates: int) -> None:
        counts = self._counts[survey]
        counts["accepted"] += accepted
        counts["duplicates"] += duplicates

    def refused(self, survey: str, reason: str) -> None:
        self._counts[survey][f"rejected {reason}"] += 1

    def version(self, survey: str) -> int:
        """A number that changes whenever something comes."""
        return sum(self._counts.get(survey, Counter()).values())

    def of(self, survey: str) -> JsonObject:
        """All counts of a survey, in a form for JSON."""
        counts = self._counts.get(survey, Counter())
        refused = {name.partition(" ")[2]: count for name, count in sorted(counts.items()) if " " in name}
        return {"accepted": counts["accepted"], "duplicates": counts["duplicates"], "rejected": refused}
