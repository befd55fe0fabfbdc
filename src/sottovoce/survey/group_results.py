"""Estimates of a survey by question, wave and public covariates, and none from too few reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import SottovoceError
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.estimates import Result
from sottovoce.estimates.render import label_text
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms import Discovery
from sottovoce.statistics.discovery import discover
from sottovoce.survey.minimum import released

if TYPE_CHECKING:
    from sottovoce.survey import Survey


@dataclass(frozen=True)
class GroupResult:
    """What one question, one wave and one group of respondents tell: a result, or why there is none."""

    question: str
    wave: int
    group: Mapping[str, str]
    result: Result | None
    reason: str = ""

    @property
    def place(self) -> JsonObject:
        return {"question": self.question, "wave": self.wave, "group": dict(self.group)}


def group_result(
    question: str, wave: int, group: Mapping[str, str], tally: Tally[Result], minimum: int, values: Sequence[str] = ()
) -> GroupResult:
    """The estimate from one tally, if it has enough reports. `values` are those to estimate if they are not listed."""
    try:
        return GroupResult(question, wave, group, _estimate(released(tally, minimum), values))
    except SottovoceError as error:
        return GroupResult(question, wave, group, None, str(error))


def _estimate(tally: Tally[Result], values: Sequence[str]) -> Result:
    """What the reports tell: about the values named, else about all; of texts that nobody listed, those found."""
    if values:
        return tally.estimate(values=list(values))
    if isinstance(tally.mechanism, Discovery):
        return discover(tally)
    return tally.estimate()


def to_json(survey: Survey, results: Sequence[GroupResult], level: float, population: bool) -> JsonObject:
    """All results, and why others are withheld."""
    return {
        "survey": survey.id,
        "digest": survey.digest,
        **({"guarantee": survey.guarantee.to_dict()} if survey.guarantee else {}),
        "results": [
            one.place | one.result.to_dict(level=level, population=population) for one in results if one.result
        ],
        "withheld": [one.place | {"reason": one.reason} for one in results if not one.result],
    }


def to_table(results: Sequence[GroupResult], by: Sequence[str], level: float, population: bool) -> pa.Table:
    """All estimates in one Arrow table, with a column for each covariate of `by`."""
    kinds = [("question", pa.string()), ("wave", pa.int64()), *((name, pa.string()) for name in by),
             ("label", pa.string()), ("measure", pa.string()), ("estimate", pa.float64()), ("stderr", pa.float64()),
             ("low", pa.float64()), ("high", pa.float64()), ("n", pa.int64())]  # fmt: skip
    schema = pa.schema(kinds)
    tables = [pa.table(_columns(one, one.result, by, level, population), schema) for one in results if one.result]
    return pa.concat_tables([schema.empty_table(), *tables])


def _columns(
    place: GroupResult, result: Result, by: Sequence[str], level: float, population: bool
) -> dict[str, list[object]]:
    """The columns of the table for one result. A covariate that the group does not name is null."""
    found = result.columns(level, False, population)
    labels = [label_text(label) for label in found.get("label", ())]
    same = {"question": place.question, "wave": place.wave, "measure": result.measure, "n": result.n}
    same |= {name: place.group.get(name) for name in by}
    errors = {name: found.get(name, []) for name in ("stderr", "low", "high")}
    repeated = {name: [value] * len(labels) for name, value in same.items()}
    return {"label": labels, "estimate": found.get(result.measure, []), **errors, **repeated}
