"""A plan in plain words, for an ethics board: what is protected, how far, and what is not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.privacy import log_above
from sottovoce.mechanisms import RandomizedResponse
from sottovoce.statistics.designs import Design, Forced, Warner
from sottovoce.statistics.planning.instrument import Instrument, ShareInstrument

if TYPE_CHECKING:
    from sottovoce.statistics.planning.plans import Plan

DICE = (6, 10, 20)
HOLDERS = "a server, a thief or a court"
BOTH = {"groups": " in each of two groups", "waves": ", in each of two waves,"}
WHERE = {"one": "from what was assumed", "groups": "between the groups", "waves": "between the waves"}


def words(plan: Plan, prior: float = 0.5) -> str:
    """Four short paragraphs: how the question is asked, what a report tells, what the result is, what is left open."""
    asked = plan.asked
    how = [_asking(plan), _rates(asked), _die(asked)]
    told = [_verdict(asked), _beliefs(plan, prior)]
    return "\n\n".join(" ".join(filter(None, part)) for part in (how, told, [_result(plan)], [_limits(plan)]))


def _asking(plan: Plan) -> str:
    people = f"{plan.n:,} people{BOTH.get(plan.terms.test, '') if plan.effect is not None else ''}"
    how = getattr(plan.design, "how", "the answer is randomized before it leaves the person's device.")
    return f"Each of {people} sends one report. By {plan.design!r}, {how}"


def _rates(asked: Instrument) -> str:
    """How many of 100 people send what."""
    if not isinstance(asked, ShareInstrument) or asked.p is None or asked.q is None:
        return ""
    (yes, of_yes), (no, of_no) = count_of(float(asked.p)), count_of(float(asked.q))
    if asked.laws:
        said = _reports(asked)[1]
        return (
            f"Of {of_yes:,} people who answer Yes, {yes:,} send {said}; of {of_no:,} who answer No, {no:,} send {said}."
        )
    return (
        f"Of {of_yes:,} people who hold a value, {yes:,} send a report that speaks for it; "
        f"so do {no:,} of {of_no:,} who hold another."
    )


def _reports(asked: ShareInstrument) -> tuple[str, str]:
    """What the two reports are called."""
    no, yes = getattr(asked.design, "words", ("no", "yes"))
    return no.capitalize(), yes.capitalize()


def count_of(chance: float) -> tuple[int, int]:
    """A probability as so many of 100 people, or of more if that would make it none or all.

    >>> count_of(0.2689), count_of(0.0004), count_of(1.0)
    ((27, 100), (4, 10000), (100, 100))
    """
    people = 100
    while 0 < chance < 1 and round(chance * people) in (0, people) and people < 10**6:
        people *= 10
    return round(chance * people), people


def _die(asked: Instrument) -> str:
    """The die that comes nearest to a symmetric design without telling more."""
    design = asked.design
    if not isinstance(design, Warner | Forced | RandomizedResponse) or design.p + design.q != 1 or design.p <= design.q:
        return ""
    likely, size = max((Fraction(math.floor(design.p * size), size), -size) for size in DICE)
    if 2 * likely <= 1:
        return ""
    told, faces = int(likely * -size), -size
    lied = faces - told
    rest = f"{lied} say Yes and {lied} say No" if isinstance(design, Forced) else f"{lied} tell the opposite"
    truth = told - lied if isinstance(design, Forced) else told
    cost = log_above(likely / (1 - likely))
    close = "does it" if likely == design.p else "comes near"
    return f"By hand, a die with {faces} faces {close}: {truth} tell the truth, {rest} (epsilon = {cost:.4g})."


def _verdict(asked: Instrument) -> str:
    if asked.epsilon < math.inf:
        return (
            f"To {HOLDERS}, a report proves nothing: every report may come from every answer. It changes the odds of "
            f"one answer against another by a factor of at most {math.exp(asked.epsilon):.3g} "
            f"(epsilon = {asked.epsilon:.4g}), whatever else is known."
        )
    proofs = [
        f"a report of {said} proves the answer {answer}"
        for said, chances in (
            zip(_reports(asked)[::-1], asked.laws, strict=False) if isinstance(asked, ShareInstrument) else ()
        )
        for answer, other in (("Yes", chances[1]), ("No", chances[0]))
        if not other
    ]
    return f"This does not protect people: to {HOLDERS}, {' and '.join(proofs) or 'a report can prove an answer'}."


def _beliefs(plan: Plan, prior: float) -> str:
    belief = plan.posterior(prior)
    what = "that the answer is Yes" if isinstance(plan.asked, ShareInstrument) and plan.asked.laws else "in some answer"
    return (
        f"Somebody who believed {what} with {percent(belief.prior)} before believes it with at least "
        f"{percent(belief.low)} and at most {percent(belief.high)} after the report."
    )


def percent(chance: float) -> str:
    """A probability in percent, with the digits that set it apart from 0 and 1.

    >>> percent(0.5), percent(0.9933), percent(1.0)
    ('50%', '99.33%', '100%')
    """
    digits = 0
    while 0 < chance < 1 and 100 * min(chance, 1 - chance) < 10 ** (1 - digits) and digits < 6:
        digits += 1
    return f"{100 * chance:.{digits}f}%"


def _result(plan: Plan) -> str:
    terms, whom = plan.terms, "the population" if plan.terms.population else "the respondents"
    where = "whatever it is" if terms.proportion is None else f"if it is near {terms.proportion:g}"
    thing = "The share of an answer" if isinstance(plan.asked, ShareInstrument) else "The mean"
    result = f"{thing} among {whom} is found within {plan.margin:.3g} to either side ({100 * terms.level:g}%), {where}."
    if plan.effect is None or plan.power is None:
        return result
    noticed = f"is noticed with a chance of {percent(plan.power)}"
    return f"{result} A difference of {plan.effect:.3g} {WHERE[terms.test]} {noticed}."


def _limits(plan: Plan) -> str:
    again = f"{2 * plan.epsilon:.4g} in all" if plan.private else "and tells as much"
    limits = (
        "Not protected: that a person took part, when and from where; what the result says about everybody, and so "
        "about each; the same answer given elsewhere. A second report with fresh noise costs as much again "
        f"({again}), and so do other questions whose answers hang together with this one."
    )
    design = plan.design
    if not isinstance(design, Design) or design.by != "respondent" or not plan.private:
        return limits
    return f"{limits} All this holds as long as nobody else learns {design.hidden}, and people do as they are told."
