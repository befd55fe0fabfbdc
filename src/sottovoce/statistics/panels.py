"""One chart, in the style of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import load
from sottovoce.estimates.render import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def panel(width: float, height: float) -> Axes:
    """The axes of a new figure, which a program without a screen can save."""
    figure = load("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    load("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    ax: Axes = figure.subplots()
    return ax


def tidy(ax: Axes, title: str = "") -> Axes:
    """A title at the left, a quiet grid, and no frame."""
    ax.set_title(title, loc="left", color=INK, fontsize="medium")
    ax.grid(color="#e2e8f0", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
