"""How the error of each trust model falls as more people answer: measured, and by its closed form."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import check_epsilon
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.render import INK, html_table, panels, plural, text_table
from sottovoce.estimates.result import FRAMES
from sottovoce.trust.base import TrustModel
from sottovoce.trust.comparison import COLOURS, MAX_RUNS, Errors, Track
from sottovoce.trust.registry import trust_models
from sottovoce.trust.synthetic import MAX_PEOPLE, check_size, check_whole, multinomial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

DEFAULT_NS = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
MEASURES = ("frequency", "mean")
DEFAULT_VALUES = 10
PLOT_ROWS = 10
"""The height of a plot, in rows of a table."""


@dataclass(frozen=True, eq=False)
class Line:
    """One model's error over n: measured, by closed form, and the slope of the measured one on log axes."""

    model: TrustModel
    ns: NDArray[np.int64]
    rmse: NDArray[np.float64]
    expected: NDArray[np.float64]
    doubt: NDArray[np.float64]
    by: str

    @property
    def name(self) -> str:
        return self.model.name

    @cached_property
    def ratio(self) -> NDArray[np.float64]:
        """The error measured over the error expected, for each n."""
        ratio: NDArray[np.float64] = self.rmse / self.expected
        return ratio

    @cached_property
    def slope(self) -> float:
        """The power of n that the error falls with, by least squares on the logarithms. Without any error it is nan."""
        return float(self._weights @ np.log(self.rmse)) if self.rmse.all() else math.nan

    @cached_property
    def slope_stderr(self) -> float:
        """The standard error of the slope, from that of each point; nan after single runs."""
        return math.sqrt(float(self._weights**2 @ self.doubt**2))

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """The weight of each logarithm in the slope."""
        x = np.log(self.ns) - np.log(self.ns).mean()
        weights: NDArray[np.float64] = x / (x**2).sum()
        return weights


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The root mean squared error of a frequency (or of a mean) over n, a line for each trust model."""

    epsilon: float
    measure: str
    size: int
    runs: int
    lines: tuple[Line, ...]
    seed: int | None = None

    @cached_property
    def slopes(self) -> dict[str, float]:
        return {line.name: line.slope for line in self.lines}

    def __getitem__(self, name: str) -> Line:
        for line in self.lines:
            if line.name == name:
                return line
        raise ParameterError(f"the curve has the models {', '.join(self.slopes)}, got {name!r:.40}")

    @property
    def caption(self) -> str:
        about = "the mean of +-1 data" if self.measure == "mean" else f"a frequency of {self.size:,} values"
        return f"error of {about}; epsilon = {self.epsilon:.6g}; {plural(self.runs, 'run')} for each n"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells: for each n the error of each model, measured and by closed form, and their ratio."""
        header = ["n"]
        columns = [[f"{n:,}" for n in self.lines[0].ns]]
        for line in self.lines:
            header += [line.name, "expected", "ratio"]
            columns += [[f"{x:.3g}" for x in line.rmse], [f"{x:.3g}" for x in line.expected]]
            columns += [[f"{x:.2f}" for x in line.ratio]]
        return header, [list(row) for row in zip(*columns, strict=True)]

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the slopes on logarithmic axes."""
        cells = [[line.name, f"{line.slope:.3f}", f"{line.slope_stderr:.3f}"] for line in self.lines]
        return ["model", "slope", "std. error"], cells

    @property
    def notes(self) -> list[str]:
        """Lines that say whom each model trusts with what."""
        return [f"{line.name} trusts {line.model.trusts}: {line.by}" for line in self.lines]

    def to_frame(self, kind: str = "pandas") -> Any:
        """A data frame (pandas, Polars or Arrow): a row for each model and n."""
        if kind not in FRAMES:
            raise ParameterError(f"kind must be one of {', '.join(FRAMES)}, got {kind!r}")
        columns: dict[str, object] = {
            "model": [line.name for line in self.lines for _ in line.ns],
            "n": np.concatenate([line.ns for line in self.lines]),
            "rmse": np.concatenate([line.rmse for line in self.lines]),
            "expected": np.concatenate([line.expected for line in self.lines]),
        }
        return load("pyarrow").table(columns) if kind == "arrow" else load(kind).DataFrame(columns)

    def to_dict(self) -> JsonObject:
        """A form for JSON."""
        return {
            "epsilon": self.epsilon,
            "measure": self.measure,
            "values": self.size,
            "runs": self.runs,
            "seed": self.seed,
            "n": self.lines[0].ns.tolist(),
            "models": [
                {
                    "model": line.name,
                    "trusts": line.model.trusts,
                    "by": line.by,
                    "rmse": line.rmse.tolist(),
                    "expected": line.expected.tolist(),
                    "slope": _json(line.slope),
                    "slope_stderr": _json(line.slope_stderr),
                }
                for line in self.lines
            ],
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Measured errors as dots, closed forms as lines, on logarithmic axes. Needs matplotlib."""
        if ax is None:
            ax = panels([PLOT_ROWS])[1][0]
        for at, line in enumerate(self.lines):
            colour = COLOURS[at % len(COLOURS)]
            ax.plot(line.ns, line.expected, color=colour, linewidth=1.5, alpha=0.6)
            ax.plot(line.ns, line.rmse, "o", color=colour, markersize=5, label=f"{line.name}: slope {line.slope:.2f}")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("people who answer")
        ax.set_ylabel("root mean squared error")
        ax.set_title(self.caption, loc="left", color=INK, fontsize="medium")
        ax.grid(color="#e2e8f0", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, title="dots measured, lines by closed form", title_fontsize="small", fontsize="small")
        return ax

    def __str__(self) -> str:
        return "\n".join([text_table(*self.table()), self.caption, "", text_table(*self.summary()), *self.notes])

    def _repr_html_(self) -> str:
        return html_table(*self.table(), self.caption) + html_table(*self.summary(), "; ".join(self.notes))


def _json(number: float) -> float | None:
    return None if math.isnan(number) else number


def error_curve(
    domain: int | Iterable[Label] | Domain | None = None,
    epsilon: float = 1.0,
    *,
    measure: str = "frequency",
    ns: Iterable[int] = DEFAULT_NS,
    models: Iterable[str | TrustModel] = ("central", "local"),
    runs: int = 50,
    seed: int | None = None,
    track: Track = iter,
) -> ErrorCurve:
    """The error of each trust model over n: that of a frequency in a domain, or that of the mean of +-1 data.

    For each n, answers are drawn all alike and released `runs` times; the root mean squared error is about these very
    answers. The mean of +-1 data is twice the frequency of +1, less one: randomized response against Laplace noise of
    scale 2/(epsilon n).

    >>> curve = error_curve(10, epsilon=1.0, ns=[100, 1000, 10_000], seed=1)
    >>> {name: round(slope, 1) for name, slope in curve.slopes.items()}
    {'central': -1.0, 'local': -0.5}
    """
    epsilon, chosen, sizes = check_epsilon(epsilon), trust_models(models), _sizes(ns)
    runs, values = check_whole("runs", runs, MAX_RUNS), _domain(domain, measure)
    stream = Keystream(seed)
    errors: dict[tuple[str, int], Errors] = {}
    for n, run in track([(n, run) for n in sizes for run in range(runs)]):
        if run == 0:
            codes = multinomial(values, n, seed=stream)
            truth = np.bincount(codes, minlength=values.size)
        for model in chosen:
            errors.setdefault((model.name, n), Errors(truth)).add(model.release(values, epsilon, codes, stream))
    lines = (_line(model, values, epsilon, [errors[model.name, n] for n in sizes], measure) for model in chosen)
    return ErrorCurve(epsilon, measure, values.size, runs, tuple(lines), seed)


def _line(model: TrustModel, domain: Domain, epsilon: float, errors: list[Errors], measure: str) -> Line:
    outcomes = [error.outcome(model, domain, epsilon) for error in errors]
    ns, unit = np.array([error.n for error in errors]), 2 if measure == "mean" else 1
    rmse, expected = (np.array([getattr(o, name) for o in outcomes]) * unit / ns for name in ("rmse", "expected"))
    return Line(model, ns, rmse, expected, np.array([o.doubt for o in outcomes]), outcomes[0].release.by)


def _domain(domain: int | Iterable[Label] | Domain | None, measure: str) -> Domain:
    if measure not in MEASURES:
        raise ParameterError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r:.40}")
    if measure == "mean" and domain is not None:
        raise ParameterError("the mean of +-1 data has a domain already: name none")
    values = Domain([-1, 1]) if measure == "mean" else Domain.of(DEFAULT_VALUES if domain is None else domain)
    check_size(values)
    return values


def _sizes(ns: Iterable[int]) -> list[int]:
    if isinstance(ns, str | bytes) or not isinstance(ns, Iterable):
        raise ParameterError(f"ns must be a list of whole numbers, got {ns!r:.40}")
    sizes = sorted({check_whole("n", n, MAX_PEOPLE) for n in ns})
    if len(sizes) < 3:
        raise ParameterError(f"a slope needs at least 3 different n, got {len(sizes)}")
    return sizes
