"""How many buckets and cohorts: the least error that a tally of some size allows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypedDict

from sottovoce.core.domain import Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.hashing import MAX_BUCKETS, MAX_COHORTS
from sottovoce.core.privacy import check_epsilon
from sottovoce.mechanisms.frequency.choose import MAX_BITS
from sottovoce.mechanisms.text.hashed import Hashed

ERROR_TOLERANCE = 1.01
"""Among those whose error is within 1% of the least, the one with the smallest tally is taken."""

MAX_LOOKUPS = 2**28
"""Candidates times cohorts, beyond which decoding takes more than a few seconds; 64 cohorts are always allowed."""

MAX_RISK = 1e-6
"""The largest probability that any two of the candidates share their buckets in all cohorts."""


class HashedPlanOptions(TypedDict, total=False):
    """What `plan` takes by name."""

    base: str
    concentration: float
    max_cells: int
    max_bits: int
    salt: str
    domain: Text | None


def plan(
    n: int,
    epsilon: float,
    candidates: int,
    *,
    base: str = "auto",
    concentration: float = 1.0,
    max_cells: int = 2**20,
    max_bits: int = MAX_BITS,
    salt: str = "",
    domain: Text | None = None,
) -> Hashed:
    """The `Hashed` of least error for a rare value, from n reports, when so many candidates will be asked about.

    The tally has at most `max_cells` integers, a report at most `max_bits` bits. The concentration is the sum of the
    squared frequencies of all values: 1 is the worst case, in which everybody holds the same value; some 0.01 is common
    for words.

    >>> m = plan(n=1_000_000, epsilon=2.0, candidates=100_000, concentration=0.01)
    >>> m
    Hashed(256 buckets, 2048 cohorts, subset, epsilon=2)
    """
    for name, value in (("n", n), ("candidates", candidates), ("max_cells", max_cells), ("max_bits", max_bits)):
        if type(value) is not int or value < 1:
            raise ParameterError(f"{name} must be a whole number, at least 1, got {value!r:.40}")
    if not isinstance(concentration, int | float) or not 0 <= concentration <= 1:
        raise ParameterError(f"concentration must lie from 0 to 1, got {concentration!r:.40}")
    most = max(MAX_LOOKUPS // candidates, 64)
    fitting = [
        Hashed(m.base, cohorts=m.cohorts, salt=salt, domain=domain)
        for m in _grid(base, check_epsilon(epsilon))
        if m.cells <= max_cells and m.bits <= max_bits and m.cohorts <= most and _risk(m, candidates) <= MAX_RISK
    ]
    if not fitting:
        limits = f"max_cells = {max_cells:,} and max_bits = {max_bits:,}"
        raise ParameterError(f"{limits} are too few to tell {candidates:,} candidates apart")
    errors = {m: m.stderr(n, concentration) for m in fitting}
    least = min(errors.values())
    return min((m for m in fitting if errors[m] <= ERROR_TOLERANCE * least), key=lambda m: (m.cells, -m.cohorts))


def _grid(base: str, epsilon: float) -> Iterator[Hashed]:
    """All powers of two, each number of buckets with its best mechanism."""
    for buckets in _powers(8, MAX_BUCKETS):
        inner = Hashed(base, buckets, 1, epsilon).base
        for cohorts in _powers(1, MAX_COHORTS):
            try:
                yield Hashed(inner, cohorts=cohorts)
            except ParameterError:  # Too many different reports for so many cohorts.
                break


def _powers(least: int, most: int) -> Iterator[int]:
    return (2**at for at in range(least.bit_length() - 1, most.bit_length()))


def _risk(m: Hashed, candidates: int) -> float:
    """The expected number of pairs of candidates that share their buckets in all cohorts."""
    return math.exp(min(math.log(candidates * candidates / 2) - m.cohorts * math.log(m.buckets), 0))
