"""The demonstration: 32,561 people are asked for their occupation, and nobody learns who answered what.

The true counts are the published ones of the Adult census extract (B. Becker and R. Kohavi, UCI Machine Learning
Repository, 1996), so that every estimate can be held against the truth.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain
from sottovoce.core.errors import MissingDependencyError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import SYSTEM, Keystream, Replay
from sottovoce.estimates import Estimate
from sottovoce.estimates.render import html_table, interval_plot, label_text, plural
from sottovoce.mechanisms import RandomizedResponse, Unary, choose
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.trust import DiscreteLaplace

if TYPE_CHECKING:
    from rich.console import Console

OCCUPATIONS = {
    "Adm-clerical": 3770,
    "Exec-managerial": 4066,
    "Handlers-cleaners": 1370,
    "Prof-specialty": 4140,
    "Other-service": 3295,
    "Sales": 3650,
    "Craft-repair": 4099,
    "Transport-moving": 1597,
    "Farming-fishing": 994,
    "Machine-op-inspct": 2002,
    "Tech-support": 928,
    "Protective-serv": 649,
    "Armed-Forces": 9,
    "Priv-house-serv": 149,
}
MISSING = 1843


@dataclass(frozen=True)
class CensusAnswer:
    """One question, asked through one mechanism, beside the truth and a trusted curator's answer."""

    title: str
    mechanism: Pure
    estimate: Estimate
    truth: Sequence[int]
    central: Sequence[int]

    @property
    def measured_error(self) -> float:
        """The root mean squared error of the counts."""
        return float(np.sqrt(((self.estimate.counts - self.truth) ** 2).mean()))

    @property
    def expected_error(self) -> float:
        """The same by the closed form."""
        return math.sqrt(self.mechanism.variance * self.estimate.n)

    def cells(self) -> list[list[str]]:
        """A row for each value: true count, estimate, interval, error, central answer."""
        n = self.estimate.n
        return [
            [
                label_text(row.label),
                f"{true:,}",
                f"{row.counts:,.0f}",
                f"{row.low * n:,.0f} .. {row.high * n:,.0f}",
                f"{row.counts - true:+,.0f}",
                f"{central:,}",
            ]
            for row, true, central in zip(self.estimate.rows(), self.truth, self.central, strict=True)
        ]


HEADER = ["value", "true", "estimated", "95% interval", "error", "central"]


def run(seed: int | None = None) -> list[CensusAnswer]:
    """Ask the three questions."""
    stream = Keystream(seed)
    people = [label for label, count in OCCUPATIONS.items() for _ in range(count)] + [None] * MISSING
    occupation = Domain(list(OCCUPATIONS), missing="category")
    sales = ["yes" if person == "Sales" else "no" for person in people]
    coins = RandomizedResponse.from_coins(domain=["no", "yes"])
    unary = Unary(occupation, p=0.75, q=0.25)
    return [
        _ask("Do you work in sales? (randomized response, two coins)", coins, sales, stream),
        _ask("What is your occupation? (unary encoding, p = 0.75, q = 0.25)", unary, people, stream),
        _ask("The same, by the best mechanism at that epsilon", choose(occupation, unary.epsilon), people, stream),
    ]


def _ask(title: str, m: Pure, answers: Sequence[str | None], stream: Keystream) -> CensusAnswer:
    estimate = m.tally().add_many(m.randomize_many(answers, seed=stream)).estimate()
    truth = [answers.count(label) for label in m.domain.labels]
    # One changed answer moves two counts by one each; of two values, one count tells both.
    curator = DiscreteLaplace(m.epsilon, sensitivity=1 if m.domain.size == 2 else 2)
    source = Replay(iter(lambda: int(stream.draws(1)[0]), None)) if stream.simulated else SYSTEM
    if m.domain.size == 2:
        yes = curator.release([truth[1]], source)[0]
        return CensusAnswer(title, m, estimate, truth, [sum(truth) - yes, yes])
    return CensusAnswer(title, m, estimate, truth, curator.release(truth, source))


def record(answers: Sequence[CensusAnswer]) -> JsonObject:
    """The whole demonstration as JSON."""
    return {
        "n": answers[0].estimate.n,
        "answers": [
            {
                "title": a.title,
                "mechanism": a.mechanism.to_dict(),
                "measured_error": a.measured_error,
                "expected_error": a.expected_error,
                "truth": list(a.truth),
                "central": list(a.central),
                **a.estimate.to_dict(),
            }
            for a in answers
        ],
    }


def _summary(a: CensusAnswer) -> str:
    m, note = a.mechanism, "; SIMULATED with a seed: not private" if a.estimate.simulated else ""
    return (
        f"epsilon = {m.epsilon:.4f} a person by {m.name}, {plural(m.bits, 'bit')} a report; "
        f"typical error of a count: {a.measured_error:,.0f} (expected {a.expected_error:,.0f}){note}"
    )


FOREWORD = (
    f"{sum(OCCUPATIONS.values()) + MISSING:,} people were asked for their occupation; {MISSING:,} gave none. "
    "Each answer was randomized before it was counted."
)
AFTERWORD = (
    "The last column is the answer of a curator who sees every answer and adds noise once, at the same epsilon: "
    "that is the price of trusting nobody."
)


def show(answers: Sequence[CensusAnswer], console: Console) -> None:
    """The report in a terminal."""
    from rich.table import Table

    console.print(FOREWORD)
    for a in answers:
        table = Table(title=a.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for at, name in enumerate(HEADER):
            table.add_column(name, justify="right" if at else "left", no_wrap=bool(at))
        for row in a.cells():
            table.add_row(*row)
        console.print()
        console.print(table)
        console.print(f"[dim]{_summary(a)}[/dim]")
    console.print()
    console.print(AFTERWORD)


STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; opacity: .75; padding-bottom: .5rem; font-size: .9rem; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
figure { margin: 1rem 0; background: #fff; border-radius: .5rem; padding: .5rem; }
svg { max-width: 100%; height: auto; }
"""


def page(answers: Sequence[CensusAnswer]) -> str:
    """The report as one HTML file that loads nothing from elsewhere."""
    parts = [f"<h2>{escape(a.title)}</h2>{_figure(a)}{html_table(HEADER, a.cells(), _summary(a))}" for a in answers]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Occupations, in a quiet voice</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>Occupations, in a quiet voice</h1><p>{FOREWORD}</p>{''.join(parts)}<p>{AFTERWORD}</p></body></html>\n"
    )


def _figure(a: CensusAnswer) -> str:
    """The chart as inline SVG; without matplotlib, a line that says how to get it."""
    low, high = (end * a.estimate.n for end in a.estimate.interval())
    labels = [label_text(label) for label in a.estimate.labels]
    try:
        axes = interval_plot(
            labels, a.estimate.counts, low, high, xlabel="people", title="Estimates and truth", truth=a.truth
        )
    except MissingDependencyError as error:
        return f"<p>No chart: {escape(str(error))}</p>"
    buffer = io.StringIO()
    figure: Any = axes.get_figure()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    return f'<figure role="img" aria-label="Estimates, intervals and truth">{svg[svg.index("<svg") :]}</figure>'
