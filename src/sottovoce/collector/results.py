"""Which estimates a request asks for, and their bytes in the form that it asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce import data as files
from sottovoce.collector.records import StoredSurvey
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.survey import group_results
from sottovoce.survey.group_results import GroupResult
from sottovoce.web import http
from sottovoce.web.http import JSON

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.collector.tallies import Vectors

MAX_WAVE_DIGITS = 9


@dataclass(frozen=True)
class EstimateQuery:
    """What is asked for: all questions and waves unless some are named."""

    questions: Sequence[str] = ()
    wave: int | None = None
    by: Sequence[str] = ()
    level: float = 0.95
    population: bool = False
    values: Sequence[str] = ()

    @classmethod
    def read(cls, asked: Mapping[str, Sequence[str]]) -> EstimateQuery:
        """From the parameters of an address. Of a name that occurs twice the last one counts, or all if it may."""
        try:
            wave = asked["wave"][-1] if "wave" in asked else None
            if wave is not None and not (wave.isascii() and wave.isdecimal() and len(wave) <= MAX_WAVE_DIGITS):
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

    def check(self, to: StoredSurvey) -> None:
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


def find(to: StoredSurvey, vectors: Vectors, query: EstimateQuery) -> list[GroupResult]:
    """An estimate for each question, wave and group that has enough reports."""
    merged: dict[tuple[int, tuple[str, ...]], NDArray[np.int64]] = {}
    for (wave, covariates), vector in vectors.items():
        values = json.loads(covariates)
        key = (wave, tuple(values[name] for name in query.by))
        merged[key] = merged[key] + vector if key in merged else vector
    return [
        group_results.group_result(
            item.id,
            wave,
            dict(zip(query.by, group, strict=True)),
            to.layout.tally(item.id, vector),
            to.survey.minimum,
            query.values,
        )
        for item in to.survey.questions
        if not query.questions or item.id in query.questions
        for (wave, group), vector in sorted(merged.items(), key=lambda entry: entry[0])
    ]


def _csv(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    files.write_csv(table, sink)
    return bytes(sink.getvalue())


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    load("pyarrow.parquet").write_table(table, sink)
    return bytes(sink.getvalue())


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with load("pyarrow.ipc").new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def body(to: StoredSurvey, vectors: Vectors, query: EstimateQuery, form: str) -> tuple[str, bytes]:
    """What is asked for, in one of the forms: its content type and its bytes."""
    found = find(to, vectors, query)
    if form == "json":
        return JSON, http.to_json(group_results.to_json(to.survey, found, query.level, query.population))
    kind, write = FORMATS[form]
    return kind, write(group_results.to_table(found, query.by, query.level, query.population))


FORMATS: dict[str, tuple[str, Callable[[pa.Table], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "parquet": ("application/vnd.apache.parquet", _parquet),
    "arrow": ("application/vnd.apache.arrow.stream", _arrow),
}
