"""How many people it takes to find a text, and which groups and cohorts find the rarest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypedDict, Unpack

from sottovoce.core.domain import Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon
from sottovoce.estimates.discovery_estimate import REPORTS_PER_GROUP
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.text.cohorts import check_text
from sottovoce.mechanisms.text.discovery import METHODS, Discovery

DETECTION_DEVIATES = {"prefixes": (1.85, 0.77), "fragments": (2.2, 0.6)}
"""How many standard errors of one group a text of full length must have to be found more often than not, as measured by
`benchmarks/discovery.py`: the first number, and the second for each time that the groups of the search are e times as
many. A shorter text, or one whose beginning is shared by many, is found at less."""

FRAGMENT_ADVANTAGE = 1.05
"""By how much more fragments must promise than prefixes, to be taken: prefixes find short texts at less than is
promised, fragments find all texts alike."""

MAX_FREQUENCY = 0.5
"""Reports from which only texts held by more than half of all people could be found are too few."""

CONCENTRATION = 0.02
"""The sum of the squared frequencies that is planned for, as of the beginnings of words."""

MAX_CELLS = 2**22
"""Integers that a tally may have unless more are allowed."""

MAX_COLLISION_VARIANCE = 0.05
"""What collisions may add to the variance of a group."""


class DraftOptions(TypedDict, total=False):
    """What `plan` hands to the constructor of `Discovery` as it is."""

    base: str | Pure
    buckets: int | None
    cohorts: int | None
    spans: Sequence[Sequence[int]] | None
    tag: int | None


class DiscoveryPlanOptions(DraftOptions, total=False):
    """What `plan` takes by name."""

    share: float | None
    method: str
    max_cells: int
    salt: str
    domain: Text | None


def levels(m: Discovery) -> list[float]:
    """The share of people in each step of the search: groups with the same span are one."""
    searching = Counter(m.spans[: m.tested(m.domain.max_bytes)])
    return [groups / len(m.spans) for groups in searching.values()]


def reach(m: Discovery, shares: Sequence[float]) -> float:
    """The standard errors, for a single report, that a text must have to pass all steps, the smallest among them."""
    first, more = DETECTION_DEVIATES[m.method]
    return (first + more * math.log(max(len(shares), 1))) * math.sqrt(m.variance / min(shares, default=1.0))


def detectable(m: Discovery, n: int, shares: Sequence[float] | None = None) -> float:
    """The share of people from which a text is found more often than not, from n reports."""
    if n < REPORTS_PER_GROUP * len(m.spans):
        return math.inf
    return reach(m, levels(m) if shares is None else shares) / math.sqrt(n)


def needed(m: Discovery, share: float, shares: Sequence[float] | None = None) -> int:
    """How many reports find a text that this share of people holds."""
    return max(
        math.ceil((reach(m, levels(m) if shares is None else shares) / share) ** 2), REPORTS_PER_GROUP * len(m.spans)
    )


def enough(m: Discovery, n: int, share: float = MAX_FREQUENCY, shares: Sequence[float] | None = None) -> float:
    """What n reports can find, if they are enough."""
    found = detectable(m, n, shares)
    if found > share:
        held = f"texts held by {share:.3g} of all people"
        want = f"{needed(m, share, shares):,} reports"
        raise ParameterError(f"not enough data: need about {want} to find {held}, got {n:,}")
    return found


def plan(
    n: int,
    epsilon: float,
    length: int,
    *,
    share: float | None = None,
    method: str = "auto",
    max_cells: int = MAX_CELLS,
    salt: str = "",
    domain: Text | None = None,
    **options: Unpack[DraftOptions],
) -> Discovery:
    """The `Discovery` that finds the rarest texts of up to `length` bytes, from n reports.

    With a share, n reports must be enough to find texts that this share of people holds.

    >>> m = plan(1_000_000, 2.0, length=12)
    >>> m, round(m.detectable(1_000_000), 4)
    (Discovery(prefixes, 14 groups of 16 cohorts, 4096 buckets, projective, epsilon=2), 0.012)
    >>> plan(1_000, 1.0, length=12, share=0.05)
    Traceback (most recent call last):
    sottovoce.core.errors.ParameterError: not enough data: need about 292,846 reports to find texts held by 0.05 ...
    """
    for name, value in (("n", n), ("max_cells", max_cells)):
        if type(value) is not int or value < 1:
            raise ParameterError(f"{name} must be a whole number, at least 1, got {value!r:.40}")
    if share is not None and (isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1):
        raise ParameterError(f"share must lie from 0 to 1, got {share!r:.40}")
    if method not in ("auto", *METHODS):
        raise ParameterError(f"method must be auto or one of {', '.join(METHODS)}, got {method!r:.40}")
    domain, epsilon = check_text(domain), check_epsilon(epsilon)
    drafts = [
        Discovery(epsilon, length, each, domain=domain, **options) for each in METHODS if method in ("auto", each)
    ]
    best = min(drafts, key=lambda m: m.detectable(n) * (FRAGMENT_ADVANTAGE if m.tag else 1.0))
    enough(best, n, MAX_FREQUENCY if share is None else share)
    cohorts = spread(best, n, max_cells)
    return Discovery(spans=best.spans, tag=best.tag, base=best.base, cohorts=cohorts, salt=salt, domain=domain)


def spread(m: Discovery, n: int, max_cells: int = MAX_CELLS) -> int:
    """How many cohorts: as many as keep collisions small beside the noise of a group, and the tally small."""
    groups = len(m.spans)
    wanted = CONCENTRATION * n / (MAX_COLLISION_VARIANCE * groups * m.variance * m.buckets)
    fits = max_cells // (groups * m.cells // m.cohorts)
    if not fits:
        raise ParameterError(f"max_cells = {max_cells:,} are too few for {groups} groups of {m.cells // m.cohorts:,}")
    share = 2 ** max(math.ceil(math.log2(max(wanted, 4))), 2)
    return groups * int(min(share, 2 ** (fits.bit_length() - 1), 2**16 // groups))
