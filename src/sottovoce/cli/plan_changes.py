"""What it costs to follow the changes of remembered answers: for `sotto plan` and `sotto survey check`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from sottovoce.cli.options import Asked
from sottovoce.cli.show import print_json, print_table
from sottovoce.core.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.survey.memoized_questions import FollowedChanges

NEEDED_OPTIONS = ("budget", "n", "domain")


def asks_for_changes(asked: Asked) -> bool:
    """Whether the question is how many changes to follow: nothing else is left to solve for."""
    solved = ("epsilon", "margin", "effect", "power", "questions", "design", "mechanism")
    return bool(asked["memoized"] and asked["waves"] > 1 and not any(asked[name] for name in solved))


def plan_changes(asked: Asked) -> None:
    """A row for each number of changes: what a permanent answer and a report cost, and the error of one wave."""
    from sottovoce.statistics.planning import expected_frozen
    from sottovoce.statistics.planning.terms import number, whole
    from sottovoce.survey.memoized_questions import price_of_changes
    from sottovoce.survey.question import Question
    from sottovoce.survey.short_form import read_domain

    for name in NEEDED_OPTIONS:
        if asked[name] is None:
            raise ParameterError(
                f"how many changes to follow depends on --{', --'.join(NEEDED_OPTIONS)}: give --{name} too"
            )
    budget, n = number("budget", asked["budget"], 0, math.inf, strictly=True), whole("n", asked["n"])
    item, waves, rate = (
        Question("answer", "answer", "choice", memoize=True),
        whole("waves", asked["waves"]),
        asked["rate"],
    )
    rows = price_of_changes(item, read_domain(asked["domain"], "refuse"), budget, waves, n)
    frozen = [0.0 if row.changes is None or rate is None else expected_frozen(waves, row.changes, rate)[-1]
              for row in rows]  # fmt: skip
    if asked["as_json"]:
        table = [asdict(row) | ({} if rate is None else {"frozen": share})
                 for row, share in zip(rows, frozen, strict=True)]  # fmt: skip
        print_json({"budget": budget, "waves": waves, "n": n, "changes": table})
        return
    caption = f"{waves:,} waves of {n:,} people; all reports of one person cost at most epsilon = {budget:g}"
    show_changes(rows, caption, None if rate is None else frozen)


def show_changes(rows: list[FollowedChanges], caption: str, frozen: list[float] | None = None) -> None:
    header = ["changes", "answers drawn", "epsilon each", "a report", "std. error"]
    cells = [
        ["all" if row.changes is None else str(row.changes), f"{row.answers:,}", f"{row.permanent:.4g}",
         f"{row.first:.4g}", f"{row.error:.4f}"]
        for row in rows
    ]  # fmt: skip
    if frozen is not None:
        header.append("frozen at last")
        cells = [[*row, f"{share:.1%}"] for row, share in zip(cells, frozen, strict=True)]
    print_table(header, cells, caption)
