"""What a report of a question gives away, in words that need no mathematics."""

from __future__ import annotations

import math

from sottovoce.estimates.render import plural
from sottovoce.mechanisms import Mechanism, Memoized, Sets
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.planning.words import count_of
from sottovoce.survey.question import Question


def in_words(question: Question) -> str:
    """One line about a published question.

    >>> asked = {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no"}
    >>> question = Question.from_dict(asked)
    >>> in_words(question.settle(question.build(1.0)))
    'of 100 people who answer no, 27 send yes'
    """
    m = question.mechanism
    if isinstance(m, Memoized) and m.changes is not None:
        followed = plural(m.changes, "change")
        return f"{_one_report(m)}; a device follows {followed} of the answer, then goes on with the last one"
    return _one_report(m)


def _one_report(m: Mechanism) -> str:
    if isinstance(m, Pure) and m.domain.size == m.cells == 2:
        no, yes = m.domain.labels
        return "of {1:,} people who answer {2}, {0:,} send {3}".format(*count_of(float(m.q)), no, yes)
    if isinstance(m, Pure):
        true, other = count_of(float(m.p)), count_of(float(m.q))
        return (
            f"of {true[1]:,} people who hold a value, {true[0]:,} send a report that speaks for it; "
            f"so do {other[0]:,} of {other[1]:,} who do not"
        )
    if isinstance(m, Sets):
        said, people = count_of(float(m.q))
        return f"asked about one, drawn at random: of {people:,} people who do not hold it, {said:,} say they do"
    return f"a report is at most {math.exp(m.epsilon):.3g} times as likely for one answer as for another"
