"""The likelihood of a histogram, drawn: the profile of one value, or the surface over three."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.render import ACCENT, INK, TRUTH, label_text
from sottovoce.statistics.panels import panel, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sottovoce.core.domain import Label
    from sottovoce.statistics.likelihood import Likelihood

PROFILE_POINTS, SIDE_POINTS = 81, 80
"""Frequencies along a profile, and histograms along a side of the triangle."""
MAX_DEVIANCE = 25.0
"""Where the colours of a surface end."""


def profile(fit: Likelihood, label: Label, level: float, ax: Axes | None = None) -> Axes:
    """The deviance over one value's frequency, with the cut at the quantile of chi-square."""
    ax = panel(7, 3.6) if ax is None else ax
    low, high = fit.interval(label, level)
    best, cut = float(fit.frequency[fit._code(label)]), float(scipy.special.chdtri(1, 1 - level))
    margin = 0.6 * (high - low)
    places = np.unique([*np.linspace(max(low - margin, 0), min(high + margin, 1), PROFILE_POINTS), best])
    ax.plot(places, fit.profile(label, places), color=ACCENT, linewidth=2)
    ax.axhline(cut, color=TRUTH, linewidth=1, linestyle="--")
    ax.text(1, cut, f" {100 * level:.12g}%", color=TRUTH, va="center", transform=ax.get_yaxis_transform())
    ax.axvspan(low, high, color=ACCENT, alpha=0.12, linewidth=0)
    ax.plot([best], [0], "o", color=ACCENT, markersize=6, clip_on=False, zorder=3)
    ax.set_ylim(0, 3 * cut)
    ax.set_xlim(places[0], places[-1])
    ax.set_xlabel(f"frequency of {label_text(label)}")
    ax.set_ylabel("deviance")
    title = f"most likely {best:.4f}, interval {low:.4f} .. {high:.4f}; n = {fit.n:,}"
    return tidy(ax, title)


def surface(fit: Likelihood, level: float, ax: Axes | None = None) -> Axes:
    """The deviance over the triangle whose corners are the three values."""
    ax = panel(6.4, 5) if ax is None else ax
    shares = _near(fit)
    deviance = np.array([2 * (fit.maximum - fit._loglik(fit.laws, f)) for f in shares])
    x, y = _places(shares)
    levels = np.linspace(0, MAX_DEVIANCE, 11)
    colours = ax.tricontourf(x, y, np.minimum(deviance, MAX_DEVIANCE), levels=levels, cmap="GnBu_r")
    ax.figure.colorbar(colours, ax=ax, label="deviance", ticks=range(0, 26, 5), shrink=0.75)
    ax.tricontour(x, y, deviance, levels=[scipy.special.chdtri(2, 1 - level)], colors=[TRUTH], linewidths=1.8)
    ax.plot(*_places(fit.frequency[None]), "o", color=TRUTH, markersize=5, zorder=3, clip_on=False)
    ax.plot([0, 1, 0.5, 0], [0, 0, 3**0.5 / 2, 0], color=INK, linewidth=1, clip_on=False)
    for label, (left, up), align in zip(
        fit.labels, ((0, -0.03), (1, -0.03), (0.5, 0.89)), ("left", "right", "center"), strict=True
    ):
        ax.text(left, up, f"all {label_text(label)}", ha=align, va="bottom" if up > 0 else "top", color=INK)
    ax.set_aspect("equal")
    ax.set_axis_off()
    title = f"maximum and {100 * level:.12g}% region; n = {fit.n:,}"
    ax.set_title(title, loc="left", color=INK, fontsize="medium", y=1.08)
    return ax


def _near(fit: Likelihood) -> NDArray[np.float64]:
    """Histograms in even steps, over the smallest triangle that holds all but the least likely ones."""
    reach = float(scipy.special.chdtr(1, MAX_DEVIANCE))
    least = np.array([fit.interval(label, reach).low for label in fit.labels])
    first, second = np.meshgrid(np.arange(SIDE_POINTS), np.arange(SIDE_POINTS))
    steps = np.stack([SIDE_POINTS - 1 - first - second, first, second], axis=-1)[first + second < SIDE_POINTS]
    shares: NDArray[np.float64] = least + (1 - least.sum()) * steps / (SIDE_POINTS - 1)
    return shares


def _places(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where histograms of three values lie in the triangle."""
    return shares[:, 1] + shares[:, 2] / 2, shares[:, 2] * 3**0.5 / 2
