"""The rule of the minimum: no estimate from fewer reports than the survey's `minimum`.

All code that shows estimates to people asks here first. Reports are private because they were randomized; the
minimum keeps an analyst from reading a group of a few people as if it were one person's answer.
"""

from __future__ import annotations

from typing import TypeVar

from sottovoce.core.errors import SottovoceError
from sottovoce.estimates import Result
from sottovoce.estimates.tally import Tally

T = TypeVar("T", bound=Tally[Result])


class TooFewReports(SottovoceError):  # noqa: N818
    """A tally has fewer reports than the survey's minimum."""


def released(tally: T, minimum: int) -> T:
    """The tally itself if an estimate may be made from it; `TooFewReports` if not.

    >>> from sottovoce.mechanisms import KRR
    >>> released(KRR(3, 1.0).tally().add_many([0, 1]), minimum=2).n
    2
    >>> released(KRR(3, 1.0).tally().add_many([0]), minimum=2)
    Traceback (most recent call last):
    sottovoce.survey.minimum.TooFewReports: fewer than 2 reports
    """
    if tally.n < minimum:
        raise TooFewReports(f"fewer than {minimum:,} reports")
    return tally
