"""Charts of a plan: what other numbers of people and other epsilons would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import MAX_EPSILON
from sottovoce.estimates.render import ACCENT, INK, TRUTH
from sottovoce.statistics.panels import panel
from sottovoce.statistics.planning.instrument import Instrument
from sottovoce.statistics.planning.margins import margin
from sottovoce.statistics.planning.powers import power

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sottovoce.statistics.planning.plans import Plan

POINTS = 49
"""Numbers of people along a curve, and epsilons along the side of a heat map."""


def curves(plan: Plan, epsilons: Sequence[float] | None, ax: Axes | None) -> Axes:
    """The margin over n on logarithmic axes, or the power, one line for each epsilon, and the plan as a dot."""
    ax = panel(7, 4.2) if ax is None else ax
    people = _people(plan)
    instruments = [asked for asked in plan.instruments(epsilons) if _value(plan, asked, 1)]  # No error has no line.
    shades = load("matplotlib").colormaps["viridis_r"](np.linspace(0.15, 0.9, len(instruments)))
    for asked, shade in zip(instruments, shades, strict=True):
        mine = asked.epsilon == plan.epsilon
        values = [_value(plan, asked, int(n)) for n in people]
        ax.plot(people, values, color=ACCENT if mine else shade, linewidth=2.8 if mine else 1.4, label=_label(asked))
    aim = plan.wanted
    if aim is not None:
        ax.axhline(aim, color=TRUTH, linewidth=1.2, linestyle="--", label=f"asked: {aim:.4g}")
    ax.plot([plan.n], [_value(plan, plan.asked, plan.n)], "o", color=TRUTH, markersize=7, zorder=5)
    _logarithmic(ax, "x")
    if plan.effect is None and plan.margin:
        _logarithmic(ax, "y")
    ax.set_ylabel(_measure(plan))
    ax.legend(title="epsilon", frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    ax.grid(which="major", color="#e2e8f0", linewidth=0.8)
    return _finished(ax, plan)


def heatmap(plan: Plan, ax: Axes | None) -> Axes:
    """The margin or power for every epsilon and n around the plan, the line where it is as asked, and the plan."""
    if plan.family.fixed is not None:
        raise ParameterError(f"{plan.family.name} has its epsilon already: name the design without its parameters")
    ax = panel(7, 4.2) if ax is None else ax
    people = _people(plan)
    middle = min(max(plan.epsilon, 0.4), 6.0) if plan.private else 2.0
    epsilons = np.geomspace(max(middle / 8, 0.02), min(middle * 8, MAX_EPSILON), POINTS)
    values = np.array([[_value(plan, plan.family.at(float(e)), int(n)) for n in people] for e in epsilons])
    norm = load("matplotlib.colors").LogNorm() if plan.effect is None else None
    mesh = ax.pcolormesh(
        people, epsilons, values, cmap="viridis_r" if norm else "viridis", norm=norm, shading="gouraud", rasterized=True
    )
    aim = _value(plan, plan.asked, plan.n) if plan.wanted is None else plan.wanted
    bar = ax.figure.colorbar(mesh, ax=ax, label=f"{_measure(plan)} (line: {aim:.4g})")
    if values.min() < aim < values.max():
        ax.contour(people, epsilons, values, levels=[aim], colors=[TRUTH], linewidths=2)
        bar.ax.axhline(aim, color=TRUTH, linewidth=2)
    if plan.private:
        ax.plot([plan.n], [plan.epsilon], "o", color=TRUTH, markeredgecolor="white", markersize=9, zorder=5)
    _logarithmic(ax, "x")
    _logarithmic(ax, "y")
    ax.set_ylabel("epsilon")
    return _finished(ax, plan)


def _logarithmic(ax: Axes, which: str) -> None:
    """A logarithmic axis with plain numbers on it: 1, 2, 5, 10, 20 ..."""
    ticker = load("matplotlib.ticker")
    ax.set(**{f"{which}scale": "log"})
    axis = getattr(ax, f"{which}axis")
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if which == "y" else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _finished(ax: Axes, plan: Plan) -> Axes:
    ax.set_xlabel("people" if plan.effect is None or plan.terms.test == "one" else "people in each group or wave")
    ax.set_title(f"{plan.headline}\n{plan.caption}", loc="left", color=INK, fontsize="small", wrap=True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _people(plan: Plan) -> NDArray[np.int64]:
    """Numbers of people from a thirtieth to thirty times the plan's."""
    return np.unique(np.geomspace(max(plan.n / 30, 1), max(plan.n * 30, 100), POINTS).round().astype(np.int64))


def _value(plan: Plan, asked: Instrument, n: int) -> float:
    return margin(plan.terms, asked, n) if plan.effect is None else power(plan.terms, asked, n, plan.effect)


def _measure(plan: Plan) -> str:
    return "margin" if plan.effect is None else f"power to notice {plan.effect:.4g}"


def _label(asked: Instrument) -> str:
    return f"{asked.epsilon:.4g}" if asked.epsilon < math.inf else "none (open)"
