"""A confidence sequence, drawn: the interval at each peek, and beside it the one that holds for a single peek."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.errors import ParameterError
from sottovoce.inference.intervals import interval
from sottovoce.inference.panels import panel, tidy
from sottovoce.lazy import numpy as np
from sottovoce.render import ACCENT, INK, TRUTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sottovoce.inference.sequences import ConfidenceSequence

MOST = 200
"""Peeks drawn: of more, so many in even steps."""


def draw(watch: ConfidenceSequence, truth: float | None, ax: Axes | None) -> Axes:
    if not any(n for n, *_ in watch.peeks):
        raise ParameterError("a plot needs at least one peek at an answer, got none")
    if ax is None:
        ax = panel(7, 3.6)
    peeks = [peek for peek in watch.peeks if peek[0]]
    shown = [peeks[at] for at in np.unique(np.linspace(0, len(peeks) - 1, MOST).round().astype(int))]
    n, yes, low, high = (np.array(column) for column in zip(*shown, strict=True))
    once = np.array([interval("wilson", y, m, watch.p, watch.q, watch.level) for m, y in zip(n, yes, strict=True)])
    estimate = (yes / n - watch.q) / (watch.p - watch.q)
    level = f"{100 * watch.level:.12g}%"
    ax.fill_between(n, low, high, color=ACCENT, alpha=0.22, linewidth=0, label=f"{level} at every peek")
    for end, name in zip(once.T, (f"{level} for one n", None), strict=True):
        ax.plot(n, end, color=INK, linewidth=1, linestyle="--", label=name)
    ax.plot(n, estimate.clip(0, 1), color=ACCENT, linewidth=1.5, label="estimate")
    if truth is not None:
        ax.axhline(truth, color=TRUTH, linewidth=1.2, label="truth")
    ax.set_xlim(n[0], max(n[-1], n[0] + 1))
    ax.set_ylim(max(0.0, low[len(low) // 20 :].min() - 0.05), min(1.0, high[len(high) // 20 :].max() + 0.05))
    ax.set_xlabel("answers, n")
    ax.set_ylabel("proportion")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False, fontsize="small")
    return tidy(ax)
