"""A confidence sequence, drawn: the interval at each peek, and beside it the one that holds for a single peek."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.render import ACCENT, INK, TRUTH
from sottovoce.statistics.panels import panel, tidy
from sottovoce.statistics.proportions.intervals import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sottovoce.statistics.sequences.confidence_sequence import ConfidenceSequence

MAX_PEEKS_DRAWN = 200
"""Peeks drawn: of more, so many in even steps."""


def draw(watch: ConfidenceSequence, truth: float | None, ax: Axes | None) -> Axes:
    if not any(n for n, *_ in watch.peeks):
        raise ParameterError("a plot needs at least one peek at an answer, got none")
    if ax is None:
        ax = panel(7, 3.6)
    peeks = [peek for peek in watch.peeks if peek[0]]
    shown = [peeks[at] for at in np.unique(np.linspace(0, len(peeks) - 1, MAX_PEEKS_DRAWN).round().astype(int))]
    n, yes, low, high = (np.array(column) for column in zip(*shown, strict=True))
    once = np.array(
        [tuple(interval("wilson", y, m, watch.p, watch.q, watch.level)) for m, y in zip(n, yes, strict=True)]
    )
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
