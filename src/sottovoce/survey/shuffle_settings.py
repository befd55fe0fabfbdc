"""How sealed reports go through a shuffler: whom they are sealed to, where they are sent, how many are mixed."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.survey import checks

PUBLIC_KEY = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")
"""32 bytes in base64url; the last letter leaves no bits unused, so that there is one spelling."""

ADDRESS = re.compile(r"https?://[!-~]{1,500}")
MAX_REPORTS = 10**9


@dataclass(frozen=True)
class ShuffleSettings:
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
    def read(cls, name: str, data: object) -> ShuffleSettings:
        """The field of a document; an error names it."""
        with checks.about(name):
            fields = checks.check_fields(data, CHECKS, ())
            checked: dict[str, Any] = {field: check(field, fields[field]) for field, check in CHECKS.items()}
            made = cls(**checked)
            if made.honest > made.minimum:
                raise ParameterError(f"honest must be at most minimum, {made.minimum:,}, got {made.honest:,}")
            if made.analyst == made.shuffler:
                raise ParameterError("analyst and shuffler must have keys of their own: one for both could read all")
        return made

    def to_dict(self) -> JsonObject:
        return asdict(self)


def _delta(name: str, value: object) -> float:
    delta = checks.number(name, value)
    if not 0 < delta < 1:
        raise ParameterError(f"{name} must be between 0 and 1, got {value!r:.40}")
    return delta


CHECKS: dict[str, checks.Check[object]] = {
    "analyst": checks.matching(PUBLIC_KEY),
    "shuffler": checks.matching(PUBLIC_KEY),
    "address": checks.matching(ADDRESS),
    "minimum": checks.whole(2, MAX_REPORTS),
    "honest": checks.whole(1, MAX_REPORTS),
    "delta": _delta,
}
