"""Tables and charts of labelled numbers, for terminals, notebooks and files. No statistics here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from sottovoce.core.lazy import load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

MISSING = "(missing)"
ROW_HEIGHT_INCHES = 0.28
INK, ACCENT, TRUTH = "#334155", "#0f766e", "#b45309"


def label_text(label: object) -> str:
    """How a label is shown; the category of missing answers has no label of its own, a combination has several."""
    if isinstance(label, tuple):
        return ", ".join(map(label_text, label))
    text = MISSING if label is None else str(label)
    return text if text.isprintable() else ascii(text)[1:-1]  # A label must not move the cursor.


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned by spaces: the first to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in (header, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def panels(rows: Sequence[int]) -> tuple[Figure, list[Axes]]:
    """A figure with one chart below another, each as high as its rows need, and the axes of each."""
    heights = [1.2 + ROW_HEIGHT_INCHES * count for count in rows]
    figure = load("matplotlib.figure").Figure(figsize=(7, sum(heights)), layout="constrained")
    load("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.subplots(len(rows), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    return figure, list(axes[:, 0])


def interval_plot(
    labels: Sequence[str],
    values: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    xlabel: str,
    title: str,
    truth: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A dot and its interval for each label, top to bottom; the truth, where it is known, as a tick."""
    if ax is None:
        ax = panels([len(labels)])[1][0]
    places = range(len(labels))
    ax.axvline(0, color="#94a3b8", linewidth=0.8)
    ax.hlines(places, low, high, color=ACCENT, linewidth=2.5, alpha=0.55, label="interval")
    ax.plot(values, places, "o", color=ACCENT, markersize=5, label="estimate")
    if truth is not None:
        ax.plot(truth, places, "|", color=TRUTH, markersize=13, markeredgewidth=2, label="truth")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small")
    ax.set_yticks(places, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlabel(xlabel)
    ax.set_title(title, loc="left", color=INK, fontsize="medium")
    ax.grid(axis="x", color="#e2e8f0", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
