"""One histogram under several trust models, beside the exact one: what is lost by trusting fewer people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import check_epsilon
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.render import ACCENT, INK, TRUTH, html_table, label_text, panels, plural, text_table
from sottovoce.estimates.result import FRAMES, PLOTTED_ROWS, SHOWN_ROWS
from sottovoce.trust.base import Release, TrustModel
from sottovoce.trust.registry import trust_models
from sottovoce.trust.synthetic import check_whole, encoded, multinomial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_RUNS = 10**6
COLOURS = ("#7c3aed", ACCENT, "#2563eb", "#be185d", "#65a30d")
WARNING = "the exact counts are shown: not private"

T = TypeVar("T")


class Track(Protocol):
    """Passes on the steps that it is given, and may show a person how many are done. `tqdm.tqdm` is one."""

    def __call__(self, steps: Sequence[T], /) -> Iterable[T]: ...


@dataclass(frozen=True, eq=False)
class ModelOutcome:
    """What one trust model made of the histogram: its first release, and its errors over all runs, in people."""

    model: TrustModel
    release: Release
    rmse: float
    largest: float
    expected: float
    doubt: float
    """The standard error of the measured error, relative to it; nan after a single run."""

    @property
    def ratio(self) -> float:
        """The error measured over the error expected by the closed form."""
        return self.rmse / self.expected


class Errors:
    """The errors of one model's releases, run by run. Only the first release is kept."""

    def __init__(self, truth: NDArray[np.int64]) -> None:
        self.truth, self.n = truth, int(truth.sum())
        self.first: Release | None = None
        self.squares: list[float] = []
        self.largest = 0.0

    def add(self, release: Release) -> None:
        error = release.frequency * self.n - self.truth
        self.first = self.first or release
        self.squares.append(float((error**2).mean()))
        self.largest = max(self.largest, float(np.abs(error).max()))

    def outcome(self, model: TrustModel, domain: Domain, epsilon: float) -> ModelOutcome:
        if self.first is None:
            raise ParameterError("track must pass on all it is given")
        expected = model.stderr(domain, epsilon, self.n) * self.n
        return ModelOutcome(model, self.first, math.sqrt(mean(self.squares)), self.largest, expected, self._doubt())

    def _doubt(self) -> float:
        """Half of the relative standard error of the mean square: a root has half the relative error of its square."""
        if len(self.squares) < 2 or not any(self.squares):
            return math.nan
        return stdev(self.squares) / math.sqrt(len(self.squares)) / mean(self.squares) / 2


@dataclass(frozen=True, eq=False)
class Comparison:
    """The exact histogram of n answers, and what each trust model would publish of it. Made by `compare`."""

    domain: Domain
    epsilon: float
    n: int
    truth: NDArray[np.int64]
    outcomes: tuple[ModelOutcome, ...]
    level: float = 0.95
    runs: int = 1
    seed: int | None = None

    @property
    def caption(self) -> str:
        """One line that says what the numbers rest on."""
        return f"n = {self.n:,}; epsilon = {self.epsilon:.6g}; neighbours differ in one answer; {WARNING}"

    def table(self, most: int | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the histogram: for each value its true count, and each model's with its interval."""
        interval, header = f"{100 * self.level:.12g}% interval", ["value", "true"]
        columns = [[label_text(label) for label in self.domain.labels[:most]], [f"{t:,}" for t in self.truth[:most]]]
        for outcome in self.outcomes:
            header += [outcome.model.name, interval]
            counts, low, high = (part[:most].tolist() for part in self._counts(outcome))
            columns.append([f"{count:,.0f}" for count in counts])
            columns.append([f"{a:,.0f} .. {b:,.0f}" for a, b in zip(low, high, strict=True)])
        cells = [list(row) for row in zip(*columns, strict=True)]
        if len(cells) < self.domain.size:
            cells.append([f"... and {self.domain.size - len(cells):,} more", *[""] * (len(header) - 1)])
        return header, cells

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the errors: the error of a count measured and by closed form, and the largest error."""
        cells = [
            [o.model.name, f"{o.rmse:,.1f}", f"{o.expected:,.1f}", f"{o.ratio:.2f}", f"{o.largest:,.0f}"]
            for o in self.outcomes
        ]
        return ["model", "error of a count", "expected", "ratio", "largest"], cells

    @property
    def notes(self) -> list[str]:
        """Lines that say what the errors are, and whom each model trusts with what."""
        first = f"errors of the noise alone, in people, over {plural(self.runs, 'run')} and all values"
        return [first, *(f"{o.model.name} trusts {o.model.trusts}: {o.release.by}" for o in self.outcomes)]

    def to_frame(self, kind: str = "pandas") -> Any:
        """A data frame (pandas, Polars or Arrow): a row for each value, three columns of counts for each model."""
        if kind not in FRAMES:
            raise ParameterError(f"kind must be one of {', '.join(FRAMES)}, got {kind!r}")
        columns: dict[str, object] = {"label": [label_text(label) for label in self.domain.labels], "true": self.truth}
        for outcome in self.outcomes:
            names = (outcome.model.name, f"{outcome.model.name} low", f"{outcome.model.name} high")
            columns |= dict(zip(names, self._counts(outcome), strict=True))
        return load("pyarrow").table(columns) if kind == "arrow" else load(kind).DataFrame(columns)

    def to_dict(self) -> JsonObject:
        """A form for JSON."""
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "level": self.level,
            "runs": self.runs,
            "seed": self.seed,
            "neighbours": "differ in one answer",
            "private": False,
            "labels": list(self.domain.labels),
            "true": self.truth.tolist(),
            "models": [self._record(outcome) for outcome in self.outcomes],
        }

    def _record(self, outcome: ModelOutcome) -> JsonObject:
        counts, low, high = (part.tolist() for part in self._counts(outcome))
        return {
            "model": outcome.model.name,
            "trusts": outcome.model.trusts,
            "by": outcome.release.by,
            "epsilon": outcome.release.epsilon,
            "rmse": outcome.rmse,
            "expected": outcome.expected,
            "largest": outcome.largest,
            "counts": counts,
            "low": low,
            "high": high,
        }

    def _counts(self, outcome: ModelOutcome) -> tuple[NDArray[np.float64], ...]:
        """A release in people: estimates, lower and upper ends."""
        release = outcome.release
        return release.frequency * self.n, *(end * self.n for end in release.interval)

    def plot(self, ax: Axes | None = None) -> Axes:
        """For each value the true count as a tick, and each model's estimate with its interval. Needs matplotlib."""
        size, models = self.domain.size, len(self.outcomes)
        if size > PLOTTED_ROWS:
            raise ParameterError(f"a plot must have at most {PLOTTED_ROWS} rows, got {size:,}")
        if ax is None:
            ax = panels([round(size * max(1.0, 0.7 * models))])[1][0]
        places, shift = np.arange(size), 0.56 / models
        ax.axvline(0, color="#94a3b8", linewidth=0.8)
        ax.vlines(self.truth, places - 0.38, places + 0.38, color=TRUTH, linewidth=1.8, label="truth")
        for at, outcome in enumerate(self.outcomes):
            counts, low, high = self._counts(outcome)
            rows, colour = places + (at - (models - 1) / 2) * shift, COLOURS[at % len(COLOURS)]
            ax.hlines(rows, low, high, color=colour, linewidth=2.5, alpha=0.5)
            ax.plot(counts, rows, "o", color=colour, markersize=4.5, label=outcome.model.name)
        _dress(ax, [label_text(label) for label in self.domain.labels])
        ax.set_xlabel(f"people, with {100 * self.level:.12g}% intervals")
        ax.set_title(f"n = {self.n:,}; epsilon = {self.epsilon:.6g}", loc="left", color=INK, fontsize="medium")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=models + 1, frameon=False, fontsize="small")
        return ax

    def __str__(self) -> str:
        histogram, errors = text_table(*self.table(most=SHOWN_ROWS)), text_table(*self.summary())
        return "\n".join([histogram, self.caption, "", errors, *self.notes])

    def _repr_html_(self) -> str:
        values = html_table(*self.table(most=SHOWN_ROWS), self.caption)
        return values + html_table(*self.summary(), "; ".join(self.notes))


def _dress(ax: Axes, labels: list[str]) -> None:
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="x", color="#e2e8f0", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


def compare(
    data: int | Iterable[Label] | Domain,
    epsilon: float = 1.0,
    n: int | None = None,
    *,
    probabilities: Iterable[float] | None = None,
    domain: int | Iterable[Label] | Domain | None = None,
    models: Iterable[str | TrustModel] = ("central", "local"),
    runs: int = 1,
    level: float = 0.95,
    seed: int | None = None,
    track: Track = iter,
) -> Comparison:
    """Publish one histogram under several trust models at the same epsilon, and hold each against the truth.

    `data` is a column of answers, or a mapping from values to how many people gave them. With `n` it is a domain
    instead, and n answers are drawn from it, with the probabilities given or all alike. The first of the runs is
    shown; errors are measured over all of them. Whoever runs this holds the answers: the result shows the exact counts,
    and is not private. A seed makes it repeatable.

    >>> c = compare(["bus", "car", "bike"], epsilon=1.0, n=10_000, probabilities=[0.5, 0.3, 0.2], runs=20, seed=1)
    >>> [(o.model.name, round(o.expected, 1), round(o.ratio, 1)) for o in c.outcomes]
    [('central', 2.8, 1.0), ('local', 120.6, 0.9)]
    """
    chosen, epsilon = trust_models(models), check_epsilon(epsilon)
    runs = check_whole("runs", runs, MAX_RUNS)
    quantile(level)
    stream = Keystream(seed)
    domain, codes = _answers(data, n, probabilities, domain, stream)
    truth = np.bincount(codes, minlength=domain.size)
    errors = {model.name: Errors(truth) for model in chosen}
    for model in track([model for model in chosen for _ in range(runs)]):
        errors[model.name].add(model.release(domain, epsilon, codes, stream, level))
    outcomes = tuple(errors[model.name].outcome(model, domain, epsilon) for model in chosen)
    return Comparison(domain, epsilon, len(codes), truth, outcomes, level, runs, seed)


def _answers(
    data: int | Iterable[Label] | Domain,
    n: int | None,
    probabilities: Iterable[float] | None,
    domain: int | Iterable[Label] | Domain | None,
    stream: Keystream,
) -> tuple[Domain, NDArray[np.integer]]:
    if n is None:
        if probabilities is not None:
            raise ParameterError("probabilities are for answers to be drawn: give n and a domain")
        if isinstance(data, Domain | int | Integral):
            raise ParameterError("n must be given with a domain: how many answers to draw from it")
        return encoded(data, domain)
    if domain is not None or isinstance(data, Mapping):
        raise ParameterError("with n the domain is the first argument, and no data are taken")
    drawn = Domain.of(data)
    return drawn, multinomial(drawn, n, probabilities, stream)
