"""The way from counted reports to the frequent texts behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sottovoce.core.errors import ParameterError
from sottovoce.estimates import Result
from sottovoce.estimates.discovery_estimate import counted
from sottovoce.estimates.hashed import CORRECTIONS
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms.text.discovery import Discovery
from sottovoce.mechanisms.text.discovery_plan import enough
from sottovoce.statistics.discovery import fragments, prefixes
from sottovoce.statistics.discovery.found import Found, nothing
from sottovoce.statistics.discovery.spelling import Spelling

WIDTH = 2**10
"""Beginnings of texts that are kept at a time, unless told otherwise."""
MAX_WIDTH = 2**16


def discover(
    tallies: Tally[Result] | Sequence[Tally[Result]],
    *,
    level: float = 0.95,
    correction: str = "bonferroni",
    alphabet: Iterable[str] | None = None,
    width: int = WIDTH,
) -> Found:
    """The texts that many people hold, from the reports of a `Discovery`, or of several asked in `Rounds`.

    With `bonferroni`, no text is shown that nobody holds, with the probability of the level. With `bh`, at least the
    share `level` of the texts shown is held by somebody, in expectation. Tests use groups of people that had no part in
    the search. An alphabet, if the texts are known to have one, makes the search quicker and a little sharper. `width`
    is the number of beginnings that are kept at a time: a larger one makes the search slower and a little sharper.

    >>> from sottovoce import Discovery
    >>> m = Discovery(4.0, length=6)
    >>> answers = ["tea"] * 12_000 + ["coffee"] * 6_000 + [f"{i}" for i in range(12_000)]
    >>> print(discover(m.tally().add_many(m.randomize_many(answers, seed=1))))
    value    count  frequency  std. error      95% interval
    tea     11,651     0.3884      0.0060  0.3767 .. 0.4003
    coffee   5,900     0.1967      0.0080  0.1814 .. 0.2129
    found 2 of 3,533 tested; not found: 0.4150 +- 0.0103; n = 30,000; epsilon = 4; SIMULATED with a seed: not private
    """
    rounds = check_rounds(tallies)
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(f"level must lie strictly between 0 and 1, got {level!r:.40}")
    if correction not in CORRECTIONS:
        raise ParameterError(f"correction must be one of {', '.join(CORRECTIONS)}, got {correction!r:.40}")
    if type(width) is not int or not 1 <= width <= MAX_WIDTH:
        raise ParameterError(f"width must be a whole number from 1 to {MAX_WIDTH:,}, got {width!r:.40}")
    told = counted(rounds)
    m, whole = told.mechanism, told.sketch(slice(told.whole, None))
    if not told.whole:
        raise ParameterError("there is nothing to search: these reports are about whole texts alone, and those of the "
                             "rounds before are not here")  # fmt: skip
    shares = told.shares if len(rounds) > 1 and all(told.shares) else None
    known = {"detectable": enough(m, told.n, shares=shares), "meeting": 1 / (whole.sizes.size * (m.buckets - 1))}
    found = (prefixes if m.method == "prefixes" else fragments).search(told, Spelling.of(alphabet), width)
    if m.domain.missing == "category":
        found.add([b""], told.whole)
    if not found.texts:
        return Found.of(nothing(told.n, m.epsilon, told.simulated), level, correction, **known)
    labels = [text.decode() if text else None for text in found.texts]
    return Found.of(told.estimate(labels, "mean", found.firsts), level, correction, **known)


def check_rounds(tallies: Tally[Result] | Sequence[Tally[Result]]) -> list[Tally[Result]]:
    """One tally of Discovery, or those of several rounds."""
    rounds = list(tallies) if isinstance(tallies, Sequence) else [tallies]
    for tally in rounds:
        if not isinstance(tally, Tally) or not isinstance(tally.mechanism, Discovery):
            raise ParameterError(f"discover takes tallies of Discovery, got {tally!r:.80}")
    if not rounds:
        raise ParameterError("discover takes at least one tally, got none")
    return rounds
