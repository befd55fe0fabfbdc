"""How the error grows with the number of curators: from one, the central model, to as many as people, a local one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import check_epsilon
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.render import INK, panels, plural, text_table
from sottovoce.trust.comparison import COLOURS, MAX_RUNS, Errors, Track
from sottovoce.trust.curve import PLOT_ROWS, Line
from sottovoce.trust.federated.curators import Federated, SecureSum
from sottovoce.trust.federated.parties import Parties
from sottovoce.trust.synthetic import MAX_PEOPLE, check_size, check_whole, multinomial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SECURE_CURATORS = 200
"""The largest number of curators for which the secure sum is simulated."""


@dataclass(frozen=True, eq=False)
class CuratorCurve:
    """The root mean squared error of a count over the number of curators k, with noise each or in a secure sum."""

    epsilon: float
    n: int
    size: int
    runs: int
    lines: tuple[Line, ...]
    seed: int | None = None

    @cached_property
    def slopes(self) -> dict[str, float]:
        """The power of k that each error grows with, by least squares on the logarithms."""
        return {name: line.slope for name, line in self._named()}

    def _named(self) -> list[tuple[str, Line]]:
        return list(zip(("federated", "secure sum"), self.lines, strict=False))

    @property
    def caption(self) -> str:
        about = f"error of a count of {plural(self.size, 'value')}, in people; n = {self.n:,}"
        return f"{about}; epsilon = {self.epsilon:.6g}; {plural(self.runs, 'run')} for each k"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells: for each k the errors, measured and by closed form."""
        ks = sorted({int(k) for line in self.lines for k in line.ns})
        header, cells = ["curators"], [[f"{k:,}"] for k in ks]
        for name, line in self._named():
            header += [name, "expected", "ratio"]
            at = {int(k): i for i, k in enumerate(line.ns)}
            for k, row in zip(ks, cells, strict=True):
                i = at.get(k)
                row += ["", "", ""] if i is None else [
                    f"{line.rmse[i]:,.1f}", f"{line.expected[i]:,.1f}", f"{line.ratio[i]:.2f}"]  # fmt: skip
        return header, cells

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the slopes on logarithmic axes."""
        cells = [[name, f"{line.slope:.3f}", f"{line.slope_stderr:.3f}"] for name, line in self._named()]
        return ["model", "slope", "std. error"], cells

    @property
    def notes(self) -> list[str]:
        return [f"{name} trusts {line.model.trusts}" for name, line in self._named()]

    def to_dict(self) -> JsonObject:
        """A form for JSON."""
        lines = [
            {
                "model": name,
                "curators": line.ns.tolist(),
                "rmse": line.rmse.tolist(),
                "expected": line.expected.tolist(),
                "slope": line.slope,
                "slope_stderr": line.slope_stderr,
            }
            for name, line in self._named()
        ]
        about = {"epsilon": self.epsilon, "n": self.n, "values": self.size, "runs": self.runs, "seed": self.seed}
        return {**about, "models": lines}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Measured errors as dots, closed forms as lines, on logarithmic axes. Needs matplotlib."""
        if ax is None:
            ax = panels([PLOT_ROWS])[1][0]
        for at, (name, line) in enumerate(self._named()):
            ax.plot(line.ns, line.expected, color=COLOURS[at], linewidth=1.5, alpha=0.6)
            label = f"{name}: slope {line.slope:.2f}"
            ax.plot(line.ns, line.rmse, "o", color=COLOURS[at], markersize=5, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(f"curators, from one (central) to {self.n:,} (everybody)")
        ax.set_ylabel("error of a count, in people")
        ax.set_title(f"n = {self.n:,}; epsilon = {self.epsilon:.6g}", loc="left", color=INK, fontsize="medium")
        ax.grid(color="#e2e8f0", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, title="dots measured, lines by closed form", title_fontsize="small", fontsize="small")
        return ax

    def __str__(self) -> str:
        return "\n".join([text_table(*self.table()), self.caption, "", text_table(*self.summary()), *self.notes])


def curator_curve(
    domain: int | Iterable[Label] | Domain = 10,
    epsilon: float = 1.0,
    n: int = 10_000,
    *,
    ks: Iterable[int] | None = None,
    runs: int = 20,
    seed: int | None = None,
    track: Track = iter,
) -> CuratorCurve:
    """The error of a count when n people are split among k curators, for several k up to n itself.

    The secure sum is measured up to 200 curators, from 4, of whom a third may collude and a third drop out.

    >>> curve = curator_curve(10, epsilon=1.0, n=1000, ks=[1, 4, 16, 64, 1000], seed=1)
    >>> {name: round(slope, 1) for name, slope in curve.slopes.items()}
    {'federated': 0.5, 'secure sum': 0.1}
    """
    epsilon, values = check_epsilon(epsilon), Domain.of(domain)
    check_size(values)
    n, runs, stream = check_whole("n", n, MAX_PEOPLE), check_whole("runs", runs, MAX_RUNS), Keystream(seed)
    sizes = _numbers(ks, n)
    codes = multinomial(values, n, seed=stream)
    truth = np.bincount(codes, minlength=values.size)
    models: list[list[Federated | SecureSum]] = [
        [Federated(k) for k in sizes],
        [SecureSum(Parties(k)) for k in sizes if 4 <= k <= MAX_SECURE_CURATORS],
    ]
    errors: dict[str, Errors] = {}
    for model in track([model for line in models for model in line for _ in range(runs)]):
        errors.setdefault(model.name, Errors(truth)).add(model.release(values, epsilon, codes, stream))
    lines = [_line(line, errors, values, epsilon) for line in models if len(line) > 1]
    return CuratorCurve(epsilon, n, values.size, runs, tuple(lines), seed)


def _line(models: Sequence[Federated | SecureSum], errors: dict[str, Errors], domain: Domain, epsilon: float) -> Line:
    outcomes = [errors[model.name].outcome(model, domain, epsilon) for model in models]
    rmse, expected, doubt = (np.array([getattr(o, name) for o in outcomes]) for name in ("rmse", "expected", "doubt"))
    ks = np.array([_curators(model) for model in models])
    return Line(models[0], ks, rmse, expected, doubt, outcomes[0].release.by)


def _curators(model: Federated | SecureSum) -> int:
    return model.parties.curators if isinstance(model, SecureSum) else model.curators


def _numbers(ks: Iterable[int] | None, n: int) -> list[int]:
    if ks is None:
        return sorted({1, *(k for k in (4, 16, 64, 200, 1000, 3000, 10_000) if k < n), n})
    if isinstance(ks, str | bytes) or not isinstance(ks, Iterable):
        raise ParameterError(f"ks must be a list of whole numbers, got {ks!r:.40}")
    sizes = sorted({check_whole("the number of curators", k, n) for k in ks})
    if len(sizes) < 3:
        raise ParameterError(f"a slope needs at least 3 different numbers of curators, got {len(sizes)}")
    return sizes
