"""The numbers of one question, ready to be drawn: estimates with their intervals, and what was sent, uncorrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates import Distribution, Estimate, MeanEstimate, Result, Shares
from sottovoce.estimates.range_estimate import RangeEstimate
from sottovoce.estimates.render import label_text
from sottovoce.mechanisms import Mean, SquareWave
from sottovoce.statistics.sequences.bounded_mean import anytime_mean, reach
from sottovoce.statistics.sequences.confidence_sequence import anytime_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sottovoce.estimates.tally import Tally

    Floats = NDArray[np.float64]

MAX_ROWS = 250
"""Rows shown of a question, the most frequent ones."""

SIGNIFICANT_DIGITS = 7
IMPOSSIBLE_LEVEL = 0.99
"""A row is called impossible if its interval at this coverage lies outside what there can be."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
CURVE_FACTOR = 64
CURVE_POINTS = 25
"""The expected width of intervals is drawn from n / CURVE_FACTOR to n * CURVE_FACTOR reports, at so many points."""


@dataclass(frozen=True)
class ChartColumns:
    """The columns of the rows of one question; `anytime` and `raw` are None where there is no such thing."""

    labels: Sequence[str]
    estimate: Floats
    stderr: Floats
    population_stderr: Floats
    respondents: tuple[Floats, Floats]
    population: tuple[Floats, Floats]
    anytime: tuple[Floats, Floats] | None = None
    raw: Floats | None = None

    def to_dict(self) -> JsonObject:
        names = ("estimate", "stderr", "population_stderr", "raw")
        plain = {name: rounded(getattr(self, name)) for name in names}
        ends = {name: [rounded(end) for end in getattr(self, name) or ()] or None
                for name in ("respondents", "population", "anytime")}  # fmt: skip
        return {"labels": list(self.labels), **plain, **ends}


def chart_numbers(tally: Tally[Result], level: float) -> JsonObject:
    """All of one question, in a form for JSON."""
    result = tally.estimate()
    found = chart_columns(tally, result, level)
    total = result.domain.size if isinstance(result, Estimate | Shares) else len(found.labels)
    return {
        "measure": result.measure,
        "rows": found.to_dict(),
        "more": total - len(found.labels),
        "curve": curve(tally, result, found, level),
        "impossible": impossible(result, found.labels),
        **shape(result, level),
    }


def chart_columns(tally: Tally[Result], result: Result, level: float) -> ChartColumns:
    """The rows of a result: all of them, or of many values the most frequent ones in their order."""
    if isinstance(result, Estimate | Shares):
        return _shares(result, level)
    rows, about = result.rows(level), result.rows(level, population=True)
    plain = [np.array([getattr(row, name) for row in rows]) for name in (result.measure, "stderr", "low", "high")]
    other = [np.array([getattr(row, name) for row in about]) for name in ("stderr", "low", "high")]
    labels = [label_text(row.label) for row in rows]
    ends = (plain[2], plain[3]), (other[1], other[2])
    more = _peeking(tally, result, level), _sent(tally, result)
    return ChartColumns(labels, plain[0], plain[1], other[0], *ends, *more)


def _shares(result: Estimate | Shares, level: float) -> ChartColumns:
    size = result.domain.size
    top = np.sort(np.argsort(-result.frequency, kind="stable")[:MAX_ROWS]) if size > MAX_ROWS else np.arange(size)
    yes, asked = (result.yes[top], result.asked[top]) if isinstance(result, Shares) else (result.support[top], result.n)
    raw = np.divide(yes, np.maximum(asked, 1))
    labels = [label_text(result.labels[place]) for place in top.tolist()]
    own, about = [(low[top], high[top]) for low, high in (result.interval(level), result.interval(level, False, True))]
    peeking = anytime_interval(yes, asked, float(result.p), float(result.q), level)
    errors = result.stderr[top], result.population_stderr[top]
    return ChartColumns(labels, result.frequency[top], *errors, own, about, (peeking.low, peeking.high), raw)


def _peeking(tally: Tally[Result], result: Result, level: float) -> tuple[Floats, Floats] | None:
    if not isinstance(result, MeanEstimate) or not isinstance(tally.mechanism, Mean):
        return None
    low, high = anytime_mean(tally.mechanism, result, level)
    return np.array([low]), np.array([high])


def _sent(tally: Tally[Result], result: Result) -> Floats | None:
    """What the reports would say if they were answers: the mean of rounded numbers, the bins of blurred ones."""
    m = tally.mechanism
    if isinstance(m, Mean) and m.kind == "rounding":
        return np.array([m.domain.low + m.domain.width * tally.cells[1] / tally.n])
    if isinstance(m, SquareWave) and isinstance(result, Distribution):
        places = (np.arange(m.cells) - (m.window - 1) / 2) / m.domain.steps
        bins = np.floor(places * m.bins).astype(np.int64).clip(0, m.bins - 1)
        inside = (places >= 0) & (places <= 1)
        shares: Floats = np.bincount(bins[inside], tally.cells[inside], m.bins) / tally.n
        return shares
    return None


def curve(tally: Tally[Result], result: Result, found: ChartColumns, level: float) -> JsonObject:
    """How wide the widest interval is likely to be after other numbers of reports: half of it, for each kind."""
    n = result.n
    counts = np.unique(np.geomspace(max(n / CURVE_FACTOR, 10), n * CURVE_FACTOR, CURVE_POINTS).round())
    drawn: JsonObject = {"n": counts.astype(int).tolist()}
    for kind in ("respondents", "population"):
        low, high = getattr(found, kind)
        drawn[kind] = rounded((high - low).max() / 2 * np.sqrt(n / counts))
    drawn["anytime"] = rounded(_ahead(tally, result, found, counts, level))
    return drawn


def _ahead(tally: Tally[Result], result: Result, found: ChartColumns, counts: Floats, level: float) -> Floats | None:
    """Half the width of the widest interval that holds at every peek, after each number of reports."""
    if found.anytime is None:
        return None
    if isinstance(tally.mechanism, Mean):
        return reach(tally.mechanism, counts, level)
    if not isinstance(result, Estimate | Shares) or found.raw is None:
        return None
    widest = int(np.argmax(found.anytime[1] - found.anytime[0]))
    asked = counts if isinstance(result, Estimate) else counts / result.domain.size
    low, high = anytime_interval(found.raw[widest] * asked, asked, float(result.p), float(result.q), level)
    return (high - low) / 2


def impossible(result: Result, labels: Sequence[str]) -> list[str]:
    """Rows that no chance explains: their interval at 99%, for all rows at once, lies outside what there can be."""
    bounds = (result.domain.low, result.domain.high) if isinstance(result, MeanEstimate) else (0.0, 1.0)
    if isinstance(result, Estimate | Shares):
        low, high = result.interval(IMPOSSIBLE_LEVEL, simultaneous=True)
        named = np.flatnonzero((high < bounds[0]) | (low > bounds[1]))[:MAX_ROWS]
        return [label_text(result.labels[place]) for place in named.tolist()]
    rows = result.rows(IMPOSSIBLE_LEVEL, simultaneous=True)
    return [label for label, row in zip(labels, rows, strict=True) if row.high < bounds[0] or row.low > bounds[1]]


def shape(result: Result, level: float) -> JsonObject:
    """Of numbers and ordered values, quantiles; of a distribution its edges and its mean too."""
    if isinstance(result, RangeEstimate):
        found = [result.quantile(q, level, population=True) for q in QUANTILES]
        return {"quantiles": [{"q": one.q, "value": label_text(one.label), "low": label_text(one.low),
                               "high": label_text(one.high)} for one in found]}  # fmt: skip
    if not isinstance(result, Distribution):
        return {}
    mean = {"value": result.mean, "stderr": result.mean_stderr(population=True)}
    rows = [result.quantile_row(q, level, population=True) for q in QUANTILES]
    return {"edges": rounded(result.edges), "mean": mean, "quantiles": rows}


def rounded(column: ArrayLike | None) -> list[float] | None:
    """As many digits as a chart or a table can show: what is sent to many pages should be short."""
    if column is None:
        return None
    return [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in np.atleast_1d(column).tolist()]
