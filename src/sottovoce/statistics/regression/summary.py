"""A regression for people and programs: a table, its caption, a record for JSON and a plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.render import html_table, interval_plot, plural, text_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sottovoce.statistics.regression.result import RegressionResult

TITLE_CHARACTERS = 66
"""The title of a plot is broken into lines of at most so many characters."""
ESTIMATORS = {
    "likelihood": "maximum likelihood, errors by the observed information",
    "pseudo-likelihood": "weighted likelihood, errors by the sandwich",
    "corrected": "corrected least squares, errors by the sandwich",
}


@dataclass(frozen=True)
class Summary:
    """A title, facts about the fit, a table of coefficients and remarks; as text, or as HTML in a notebook."""

    title: str
    facts: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        half = (len(self.facts) + 1) // 2
        left, right = self.facts[:half], (*self.facts[half:], ("", ""))[:half]
        table = text_table(("",) * 4, [(*a, f"  {b[0]:<{max(len(name) for name, _ in right)}}", b[1])
                                       for a, b in zip(left, right, strict=True)])  # fmt: skip
        parts = [self.title, table.strip("\n"), "", text_table(self.header, self.rows), "", *self.remarks]
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = "; ".join(f"{name}: {value}" for name, value in self.facts)
        notes = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return html_table(self.header, self.rows, f"{self.title}. {facts}") + notes


class TermRow(NamedTuple):
    """A coefficient, its errors, and the test whether it is zero."""

    term: str
    coef: float
    stderr: float
    z: float
    p_value: float
    low: float
    high: float


def summary(result: RegressionResult, level: float, method: str) -> Summary:
    """The summary of a regression, with intervals at a level by a method."""
    tail = (1 - level) / 2
    rows = [
        (row.term, f"{row.coef:z.4f}", f"{row.stderr:.4f}", f"{row.z:z.3f}", f"{row.p_value:.3f}",
         f"{row.low:z.3f}", f"{row.high:z.3f}")
        for row in _rows(result, level, method)
    ]  # fmt: skip
    header = ("", "coef", "std err", "z", "P>|z|", f"[{tail:.12g}", f"{1 - tail:.12g}]")
    title = f"{result.kind.capitalize()} regression: {result.data.formula}"
    return Summary(title, tuple(_facts(result)), header, tuple(rows), (*_warnings(result), *_lines(result)))


def _facts(result: RegressionResult) -> list[tuple[str, str]]:
    """Name and value of what stands above the coefficients."""
    test = result.overall
    logs = {"log-likelihood": result.loglik, "null log-likelihood": result.null_loglik}
    facts = [
        ("n", f"{result.n:,}"),
        *((name, f"{value:,.3f}") for name, value in logs.items() if result.estimator != "corrected"),
        *((name, f"{value:.4f}") for name, value in result._facts().items()),
        ("converged", f"{'yes' if result.converged else 'NO'}, {plural(result.fit.steps, 'step')}"),
        ("epsilon", f"{result.epsilon:.6g}"),
    ]
    if test is not None:
        name = "LR" if result.is_likelihood else "Wald"
        facts += [(f"{name} chi2({test.df:g})", f"{test.statistic:.3f}"), (f"{name} p-value", f"{test.p_value:.4g}")]
    return facts


def _warnings(result: RegressionResult) -> list[str]:
    found = [f"WARNING: {note}" for note in result.notes]
    if result.data.dropped:
        found.append(f"left out: {plural(result.data.dropped, 'row')} with missing values")
    return found


def _lines(result: RegressionResult) -> list[str]:
    """Which variables were randomized and by what, which were public, and what the errors rest on."""
    hidden = [f"{name} by {law.design!r}" for name, law in result.data.laws.items() if not law.public]
    lines = [f"randomized: {'; '.join(hidden) or 'none'}", f"public: {', '.join(result.data.public) or 'none'}"]
    if result.data.randomized and result.estimator != "corrected":
        names = " and ".join(result.data.randomized)
        lines.append(f"hidden values of {names} modelled given {', '.join(result.data.hidden[0])}")
    lines.append(f"fitted by {ESTIMATORS[result.estimator]}")
    if result.data.simulated:
        lines.append("SIMULATED with a seed: not private")
    return lines


def caption(result: RegressionResult) -> str:
    """The same in one line."""
    parts = [f"n = {result.n:,}", f"epsilon = {result.epsilon:.6g}", *_lines(result)[:2]]
    parts += ["NOT CONVERGED"] if not result.converged else []
    parts += ["SIMULATED with a seed: not private"] if result.data.simulated else []
    return "; ".join(parts)


def _rows(result: RegressionResult, level: float, method: str) -> list[TermRow]:
    low, high = result.interval(level, method)
    coef, error = result.params.to_numpy(), result.stderr.to_numpy()
    z = coef / error
    columns = zip(result.data.terms, coef, error, z, 2 * scipy.special.ndtr(-np.abs(z)), low, high, strict=True)
    return [TermRow(term, *map(float, numbers)) for term, *numbers in columns]


def record(result: RegressionResult, level: float, method: str) -> JsonObject:
    """All numbers of a regression, for JSON; one that is not finite is None."""
    test = result.overall
    randomized = {
        name: {"design": repr(law.design), "p": law.p, "q": law.q, "epsilon": law.epsilon}
        for name, law in result.data.laws.items()
        if not law.public
    }
    found: JsonObject = _plain(
        {
            "model": result.kind,
            "formula": result.data.formula,
            "outcome": result.data.outcome,
            "n": result.n,
            "dropped": result.data.dropped,
            "epsilon": result.epsilon,
            "randomized": randomized,
            "public": result.data.public,
            "about": "population",
            "simulated": result.data.simulated,
            "estimator": result.estimator,
            "converged": result.converged,
            "notes": list(result.notes),
            "loglik": result.loglik,
            "null_loglik": result.null_loglik,
            "test": None if test is None else test.to_dict(),
            **{name.lower().replace(" ", "_"): value for name, value in result._facts().items()},
            "level": level,
            "method": method,
            "terms": [row._asdict() for row in _rows(result, level, method)],
            "nuisance": {str(name): float(value) for name, value in result.nuisance.items()},
        }
    )
    return found


def _plain(value: Any) -> Any:
    """The same with None for every number that JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def plot(
    result: RegressionResult,
    level: float,
    method: str,
    intercept: bool,
    truth: Mapping[str, float] | pd.Series[float] | None,
    ax: Axes | None,
) -> Axes:
    """The coefficients and their intervals, without the intercept unless it is wanted."""
    rows = [row for row in _rows(result, level, method) if intercept or row.term != "Intercept"]
    if not rows:
        raise ParameterError("a plot must have a term beside the intercept, or be told to show that")
    unit = "log odds ratio" if result.kind == "logistic" else "coefficient"
    hidden = ", ".join(name for name, law in result.data.laws.items() if not law.public) or "none"
    rest = f"n = {result.n:,}; epsilon = {result.epsilon:.6g}; randomized: {hidden}"
    axes = interval_plot(
        [row.term for row in rows],
        *([getattr(row, name) for row in rows] for name in ("coef", "low", "high")),
        xlabel=f"{unit} and its {100 * level:.12g}% interval (population)",
        title="\n".join([*wrap(result.data.formula, TITLE_CHARACTERS), *wrap(rest, TITLE_CHARACTERS)]),
        truth=None if truth is None else [truth[row.term] for row in rows],
        ax=ax,
    )
    if truth is not None:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")
    return axes
