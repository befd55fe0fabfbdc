"""The figures of docs/tutorial.md, drawn from the results of the page itself: its examples are run first.

`python benchmarks/tutorial_figures.py` takes a few seconds; the page's seeds make it the same each time.
"""

from __future__ import annotations

import doctest
import io
import re
from contextlib import redirect_stdout
from typing import Any

from matplotlib.figure import Figure
from trust_models import FIGURES, save

from sottovoce.estimates.render import interval_plot, label_text, panels

PAGE = FIGURES.parent / "tutorial.md"


def results() -> dict[str, Any]:
    """The names that the page's examples leave behind."""
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()):
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL):
            for example in doctest.DocTestParser().get_examples(block):
                exec(compile(example.source, PAGE.name, "single"), names)  # noqa: S102 (our own page)
    return names


def likelihood(answers: Any) -> Any:
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for ax, log in zip(figure.subplots(1, 2), (True, False), strict=True):
        answers.plot_likelihood(log=log, ax=ax)
        ax.set_title("", loc="left")
    return ax


def surface(fit: Any) -> Any:
    """The colours as an image: as shapes they would take a third of a megabyte."""
    ax = fit.surface()
    ax.collections[0].set_rasterized(True)
    return ax


def occupations(estimate: Any, truth: Any) -> Any:
    low, high = (end * estimate.n for end in estimate.interval())
    labels = [label_text(label) for label in estimate.labels]
    ax = panels([len(labels)])[1][0]
    names = {"xlabel": "people, with 95% intervals", "title": f"epsilon = {estimate.epsilon:.4g}"}
    return interval_plot(labels, estimate.counts, low, high, truth=truth, ax=ax, **names)


def main() -> None:
    page = results()
    save("tutorial-likelihood.svg", likelihood(page["answers"]))
    save("tutorial-surface.svg", surface(page["fit"]))
    save("tutorial-occupations.svg", occupations(page["occupations"], page["truth"]))
    save("tutorial-audit.svg", page["found"].plot())


if __name__ == "__main__":
    main()
