"""How a live poll ended: its result, as a record for JSON and as a page of one file."""

from __future__ import annotations

import html
from contextlib import closing
from pathlib import Path

from sottovoce.collector import open_store
from sottovoce.collector.poll import QUESTION
from sottovoce.core.canonical import JsonObject
from sottovoce.estimates import Result
from sottovoce.estimates.render import ACCENT, html_table, label_text
from sottovoce.survey import Survey
from sottovoce.survey.minimum import TooFewReports, released
from sottovoce.survey.words import in_words


def outcome(data: Path, survey: Survey) -> Result | None:
    """The result of a poll from the folder of its collector; none from fewer reports than its minimum."""
    with closing(open_store(data)) as store:
        to = store.survey(survey.id)
        vectors = list(store.vectors(to).values()) if to is not None else []
        if to is None or not vectors:
            return None
        tally = to.layout.tally(QUESTION, sum(vectors[1:], vectors[0]))
        try:
            return released(tally, survey.minimum).estimate()
        except TooFewReports:
            return None


def record(survey: Survey, result: Result | None, simulated: JsonObject | None = None) -> JsonObject:
    """How a poll ended, for JSON."""
    item = survey.question(QUESTION)
    return {
        "question": survey.title,
        "survey": survey.id,
        "digest": survey.digest,
        "epsilon": survey.epsilon,
        "mechanism": item.mechanism.to_dict(),
        "odds": in_words(item),
        "result": None if result is None else result.to_dict(),
        **({"simulated": simulated} if simulated else {}),
    }


PAGE_STYLE = (
    "body{font:1rem/1.55 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1f2d33}"
    "h1{font:600 1.9rem/1.2 Charter,Georgia,serif}table{border-collapse:collapse;width:100%}"
    "caption{text-align:start;color:#556870}th,td{text-align:end;padding:.35rem .6rem;border-bottom:1px solid #d5dddc}"
    "th:first-child,td:first-child{text-align:start}svg{width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{background:#12191b;color:#e3ebea}text{fill:#e3ebea}}"
)


def page(survey: Survey, result: Result | None) -> str:
    """How a poll ended, as one file of HTML that loads nothing from elsewhere."""
    title = html.escape(survey.title)
    shown = "<p>There were too few reports to show anything.</p>" if result is None else (
        chart(survey, result) + html_table(*result.table(), result.caption))  # fmt: skip
    words = html.escape(in_words(survey.question(QUESTION)))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{PAGE_STYLE}</style></head><body>'
        f'<h1 dir="auto">{title}</h1>{shown}<p>Every answer was randomized on its own device before it was sent: '
        f"{words} (epsilon = {survey.epsilon:.6g}). The errors are about those who answered.</p></body></html>\n"
    )


def chart(survey: Survey, result: Result) -> str:
    """A dot and its interval for each option, drawn in SVG."""
    rows, item = result.rows(), survey.question(QUESTION)
    low, high = 0.0, 1.0
    if item.kind == "number" and item.low is not None and item.high is not None:
        low, high = item.low, item.high
    low, high = min(low, *(row.low for row in rows)), max(high, *(row.high for row in rows))
    parts = []
    for at, row in enumerate(rows):
        x = [30 + 580 * (value - low) / (high - low) for value in (row.low, getattr(row, result.measure), row.high)]
        y, name = 44 * at, html.escape(label_text(row.label))
        parts.append(
            f'<text x="30" y="{y + 16}" font-size="14">{name:.80}</text>'
            f'<path d="M{x[0]:.1f} {y + 28}H{x[2]:.1f}" stroke="{ACCENT}" stroke-width="4" stroke-opacity=".5"/>'
            f'<circle cx="{x[1]:.1f}" cy="{y + 28}" r="6" fill="{ACCENT}"/>'
        )
    about = f"Estimates and their 95% intervals, from {low:g} to {high:g}"
    return f'<svg viewBox="0 0 640 {44 * len(rows)}" role="img" aria-label="{about}">{"".join(parts)}</svg>'
