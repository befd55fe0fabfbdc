"""The picture of an audit: the false alarms and misses of an attacker, and the region that a claim allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce.core.lazy import load
from sottovoce.estimates.render import ACCENT, INK, TRUTH, label_text
from sottovoce.statistics.auditing.audit_result import AuditResult
from sottovoce.statistics.auditing.bounds import high, low

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#94a3b8"


def region(
    found: AuditResult, points: Sequence[tuple[float, float]], trials: int | None, error: float, ax: Axes | None
) -> Axes:
    """Points of an attacker. Those that were counted, in so many trials, are in boxes: each holds the truth but for
    the error. The last of them is the one that was certified.
    """
    if ax is None:
        figure = load("matplotlib.figure").Figure(figsize=(5.6, 5.6), layout="constrained")
        load("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        ax = figure.subplots()
    ax.plot([0, 1], [1, 0], color=GREY, linewidth=0.8, linestyle=":", label="guessing")
    if found.claimed is not None:
        _allowed(ax, found.claimed, found.delta, f"claimed: {found.claim}")
    _bound(ax, found)
    _boxes(ax, points, trials, error)
    _label(ax, found)
    return ax


def _corner(epsilon: float, delta: float) -> tuple[list[float], list[float]]:
    """The two lines a + e^eps b = 1 - delta and e^eps a + b = 1 - delta, from one axis to the other."""
    where = (1 - delta) / (1 + math.exp(epsilon)) if math.isfinite(epsilon) else 0.0
    return [0, where, 1 - delta], [1 - delta, where, 0]


def _allowed(ax: Axes, epsilon: float, delta: float, label: str) -> None:
    alarms, misses = _corner(epsilon, delta)
    ax.plot(alarms, misses, color=INK, linewidth=1.4, label=label)
    ax.fill_between(alarms, misses, 0, color=INK, alpha=0.08, linewidth=0, label="what this rules out")


def _bound(ax: Axes, found: AuditResult) -> None:
    size = "infinite" if math.isinf(found.epsilon_lower) else f"{found.epsilon_lower:.4g}"
    label = f"found: epsilon {'=' if found._spends == 'spends' else '≥'} {size}"
    ax.plot(*_corner(found.epsilon_lower, found.delta), color=TRUTH, linewidth=1.4, linestyle="--", label=label)


def _boxes(ax: Axes, points: Sequence[tuple[float, float]], trials: int | None, error: float) -> None:
    alarms, misses = zip(*points, strict=True) if points else ((), ())
    ax.plot(alarms, misses, "o-" if trials is None else "o", color=ACCENT, markersize=3.5, label="an attacker")
    if trials is None:
        return
    ax.plot(*points[-1], "o", color=TRUTH, markersize=9, fillstyle="none", label="the certified event")
    rectangle = load("matplotlib.patches").Rectangle
    for alarm, miss in set(points):
        left, right = (float(f(round(alarm * trials), trials, error / 4)) for f in (low, high))
        bottom, top = (float(f(round(miss * trials), trials, error / 4)) for f in (low, high))
        ax.add_patch(rectangle((left, bottom), right - left, top - bottom, color=ACCENT, alpha=0.25, linewidth=0))


def _label(ax: Axes, found: AuditResult) -> None:
    first, second = (f"{label_text(x):.24}" for x in (found.x0, found.x1))
    ax.set_xlabel(f"false alarms: says {second}, it was {first}")
    ax.set_ylabel(f"misses: says {first}, it was {second}")
    ax.set_title(found.verdict, loc="left", color=INK, fontsize="medium")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    ax.grid(color="#e2e8f0", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
