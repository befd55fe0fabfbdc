"""Estimates as a collector shows them: by question, wave and public covariates, and none from too few reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sottovoce import files
from sottovoce.collector import http
from sottovoce.collector.http import JSON
from sottovoce.collector.records import Published
from sottovoce.discovery import discover
from sottovoce.errors import ParameterError, SottovoceError
from sottovoce.estimate import Result
from sottovoce.lazy import load
from sottovoce.lazy import pyarrow as pa
from sottovoce.mechanisms import Discovery
from sottovoce.render import label_text
from sottovoce.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray


WAVE_DIGITS = 10


@dataclass(frozen=True)
class Query:
    """What is asked for: all questions and waves unless some are named."""

    questions: Sequence[str] = ()
    wave: int | None = None
    by: Sequence[str] = ()
    level: float = 0.95
    population: bool = False
    values: Sequence[str] = ()

    @classmethod
    def read(cls, asked: Mapping[str, Sequence[str]]) -> Query:
        """From the parameters of an address, of which the last of each name counts unless it may have many."""
        try:
            wave = asked["wave"][-1] if "wave" in asked else None
            if wave is not None and not (wave.isascii() and wave.isdecimal() and len(wave) < WAVE_DIGITS):
                raise ValueError
            level = float(asked.get("level", ["0.95"])[-1])
            population = {"true": True, "false": False}[asked.get("population", ["false"])[-1]]
        except (ValueError, KeyError):
            raise ParameterError("wave must be a whole number, level a number, population true or false") from None
        return cls(
            tuple(asked.get("question", ())),
            None if wave is None else int(wave),
            tuple(dict.fromkeys(asked.get("by", ()))),
            level,
            population,
            tuple(asked.get("value", ())),
        )

    def check(self, to: Published) -> None:
        for name in self.questions:
            to.survey.question(name)
        if self.wave is not None and not 0 <= self.wave < to.survey.waves:
            raise ParameterError(f"a wave must be from 0 to {to.survey.waves - 1}, got {self.wave}")
        known = [covariate.id for covariate in to.survey.covariates]
        for name in self.by:
            if name not in known:
                raise ParameterError(f"by must name covariates of the survey ({', '.join(known) or 'it has none'})")
        if not 0 < self.level < 1:
            raise ParameterError(f"level must be between 0 and 1, got {self.level}")


@dataclass(frozen=True)
class Finding:
    """The answer to one question in one wave and one group: a result, or why there is none."""

    question: str
    wave: int
    group: Mapping[str, str]
    result: Result | None
    reason: str = ""

    @property
    def place(self) -> dict[str, Any]:
        return {"question": self.question, "wave": self.wave, "group": dict(self.group)}


def find(to: Published, vectors: Mapping[tuple[int, str], NDArray[Any]], query: Query) -> list[Finding]:
    """An estimate for each question, wave and group that has enough reports."""
    merged: dict[tuple[int, tuple[str, ...]], NDArray[Any]] = {}
    for (wave, covariates), vector in vectors.items():
        values = json.loads(covariates)
        key = (wave, tuple(values[name] for name in query.by))
        merged[key] = merged[key] + vector if key in merged else vector
    return [
        _finding(to, item.id, wave, dict(zip(query.by, group, strict=True)), vector, query)
        for item in to.survey.questions
        if not query.questions or item.id in query.questions
        for (wave, group), vector in sorted(merged.items(), key=lambda entry: entry[0])
    ]


def _finding(
    to: Published, question: str, wave: int, group: dict[str, str], vector: NDArray[Any], query: Query
) -> Finding:
    tally = to.layout.tally(question, vector)
    if tally.n < to.survey.minimum:
        return Finding(question, wave, group, None, f"fewer than {to.survey.minimum:,} reports")
    try:
        return Finding(question, wave, group, _result(tally, query))
    except SottovoceError as error:
        return Finding(question, wave, group, None, str(error))


def _result(tally: Tally[Any], query: Query) -> Result:
    """What the reports tell; of texts that nobody listed, those that are named, or those that can be found."""
    if query.values:
        named: Result = tally.estimate(values=list(query.values))
        return named
    if isinstance(tally.mechanism, Discovery):
        return discover(tally)
    whole: Result = tally.estimate()
    return whole


def to_json(to: Published, findings: Sequence[Finding], query: Query) -> dict[str, Any]:
    errors: dict[str, Any] = {"level": query.level, "population": query.population}
    return {
        "survey": to.survey.id,
        "digest": to.survey.digest,
        **({"guarantee": to.survey.guarantee.to_dict()} if to.survey.guarantee else {}),
        "results": [one.place | one.result.to_dict(**errors) for one in findings if one.result],
        "withheld": [one.place | {"reason": one.reason} for one in findings if not one.result],
    }


def to_table(findings: Sequence[Finding], query: Query) -> Any:
    """All estimates in one Arrow table."""
    kinds = [("question", pa.string()), ("wave", pa.int64()), *((name, pa.string()) for name in query.by),
             ("label", pa.string()), ("measure", pa.string()), ("estimate", pa.float64()), ("stderr", pa.float64()),
             ("low", pa.float64()), ("high", pa.float64()), ("n", pa.int64())]  # fmt: skip
    rows = [
        {"question": one.question, "wave": one.wave, **one.group, "label": label_text(row.label),
         "measure": one.result.measure, "estimate": float(getattr(row, one.result.measure)),
         "stderr": float(row.stderr), "low": float(row.low), "high": float(row.high), "n": one.result.n}
        for one in findings if one.result
        for row in one.result.rows(query.level, False, query.population)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def _csv(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    files.write_csv(table, sink)
    return bytes(sink.getvalue())


def _parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    load("pyarrow.parquet").write_table(table, sink)
    return bytes(sink.getvalue())


def _arrow(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with load("pyarrow.ipc").new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def answer(
    to: Published, vectors: Mapping[tuple[int, str], NDArray[Any]], query: Query, form: str
) -> tuple[str, bytes]:
    """What is asked for, in one of the forms: its content type and its bytes."""
    findings = find(to, vectors, query)
    if form == "json":
        return JSON, http.to_json(to_json(to, findings, query))
    kind, write = FORMATS[form]
    return kind, write(to_table(findings, query))


FORMATS: dict[str, tuple[str, Callable[[Any], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "parquet": ("application/vnd.apache.parquet", _parquet),
    "arrow": ("application/vnd.apache.arrow.stream", _arrow),
}
