"""The way of sealed reports through a shuffler: whom they are sealed to, where they go, how many are mixed."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce.errors import ParameterError
from sottovoce.survey import checks

KEY = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")
"""32 bytes in base64url, in their one spelling."""

ADDRESS = re.compile(r"https?://[!-~]{1,500}")
MOST = 10**9


@dataclass(frozen=True)
class Shuffle:
    """What the field `shuffle` of a survey says.

    `minimum` is the least number of reports in a batch, of which `honest` are counted on to come from devices that do
    as the survey says; `delta` is the chance that is left to the central guarantee, over all waves.
    """

    analyst: str
    shuffler: str
    address: str
    minimum: int
    honest: int
    delta: float

    @classmethod
    def read(cls, name: str, data: Any) -> Shuffle:
        """The field of a document; an error names it."""
        with checks.about(name):
            fields = checks.check_fields(data, CHECKS, ())
            made = cls(**{field: check(field, fields[field]) for field, check in CHECKS.items()})
            if made.honest > made.minimum:
                raise ParameterError(f"honest must be at most minimum, {made.minimum:,}, got {made.honest:,}")
            if made.analyst == made.shuffler:
                raise ParameterError("analyst and shuffler must have keys of their own: one for both could read all")
        return made

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _delta(name: str, value: Any) -> float:
    if not 0 < checks.number(name, value) < 1:
        raise ParameterError(f"{name} must be between 0 and 1, got {value!r:.40}")
    return float(value)


CHECKS: dict[str, checks.Check] = {
    "analyst": checks.matching(KEY),
    "shuffler": checks.matching(KEY),
    "address": checks.matching(ADDRESS),
    "minimum": checks.whole(2, MOST),
    "honest": checks.whole(1, MOST),
    "delta": _delta,
}
