"""Whether a report speaks for an answer: in randomized response, whether it is the truth or a lie."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from sottovoce.core.randomness import SYSTEM
from sottovoce.core.reports import Bits, CohortBits, Index, Report, Shape
from sottovoce.mechanisms import Changes, Mechanism
from sottovoce.mechanisms.compound.combine import Combined, Mixture
from sottovoce.mechanisms.compound.sampled_attribute import SampledTopic
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.text.cohorts import Cohorts
from sottovoce.statistics.auditing.sources import Randomizer

MAX_OUTCOMES = 2**12
"""The law of a mechanism is listed if it has no more different reports."""

MIN_OCCURRENCES = 10
"""Reports of a black box must occur so often on average. Then their frequencies say which answer they speak for."""


def speaks_for(
    randomizer: Randomizer, answer: object, reports: list[Any], others: list[Any], answers: tuple[object, ...]
) -> list[bool] | None:
    """Of each report of an answer, whether it speaks for it; None if that cannot be said.

    A pure mechanism says what its reports support. Otherwise a report speaks for an answer if it is likelier than for
    the other answers: by the law of a mechanism, or as often as it occurs among `reports` and among `others`.
    """
    if isinstance(randomizer, Pure):
        return _supported(randomizer, randomizer._encode(answer, SYSTEM), reports)
    if isinstance(randomizer, Cohorts):
        return [_in_its_cohort(randomizer, answer, report) for report in reports]
    if isinstance(randomizer, Mechanism) and _is_listed(randomizer.shape):
        return _by_law(randomizer, answer, reports, answers)
    return _by_frequency(reports, others)


def named_openly(randomizer: Randomizer, report: Any) -> int:
    """What a report says in the open of how it was drawn: its part of a mixture, its topic or its run of waves.

    It has nothing to do with the answer, and may take its own time.
    """
    if isinstance(randomizer, SampledTopic):
        return int(report) // randomizer.symbols
    if isinstance(randomizer, Changes):
        return int(report) >> 1
    if isinstance(randomizer, Combined) and isinstance(randomizer._combination, Mixture):
        return bisect_right(randomizer._combination.starts, int(report)) - 1
    return 0


def _is_listed(shape: Shape) -> bool:
    return isinstance(shape, Index) and shape.outcomes <= MAX_OUTCOMES


def _supported(m: Pure, code: int, reports: list[Any]) -> list[bool]:
    """Whether each report supports a value. Where the law can be listed, these are the likeliest reports."""
    if _is_listed(m.shape) and m.p > m.q:
        law = m._law(code)
        most = max(law.values())
        return [law[report] == most for report in reports]
    if isinstance(m.shape, Bits):
        return [bool(report[code >> 3] >> (code & 7) & 1) for report in reports]
    return [m.is_supported(code, report) for report in reports]


def _in_its_cohort(m: Cohorts, answer: object, report: Any) -> bool:
    """Whether it speaks for a bucket that the answer has in the cohort of the report."""
    inner: Any = m._inner
    code = m._encode(answer, SYSTEM)
    if isinstance(m.shape, CohortBits):
        cohort, bits = m.shape.split(report)
        place = m._place(code, cohort)
        if isinstance(place, tuple):
            return bool(bits >> place[0] & 1)
        return bool(inner.is_supported(place, bits.to_bytes(inner.shape.width, "little")))
    cohort, own = divmod(report, inner.shape.outcomes)
    return bool(inner.is_supported(m._place(code, cohort), own))


def _by_law(m: Mechanism, answer: object, reports: list[Report], answers: tuple[object, ...]) -> list[bool]:
    mine, zero = m._law_of(answer), Fraction(0)
    others = [m._law_of(other) for other in answers if other != answer]
    likelier = {report: all(chance > law.get(report, zero) for law in others) for report, chance in mine.items()}
    return [likelier[report] for report in reports]


def _by_frequency(reports: list[Hashable], others: list[Hashable]) -> list[bool] | None:
    mine, theirs = Counter(reports), Counter(others)
    if len(reports) < MIN_OCCURRENCES * len(mine):
        return None
    scale = len(reports) / max(1, len(others))
    return [mine[report] > scale * theirs[report] for report in reports]
