"""Discovery in rounds: what the next people are asked depends on what the answers so far tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sottovoce.core.domain import Text, to_list
from sottovoce.core.domain.columns import Column
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import check_epsilon
from sottovoce.core.randomness import Keystream
from sottovoce.estimates import Result, quantile
from sottovoce.estimates.discovery_estimate import Counted, counted
from sottovoce.estimates.null_distribution import NullDistribution
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms.text.cohorts import check_text
from sottovoce.mechanisms.text.discovery import FIRST_PREFIX_BYTES, Discovery
from sottovoce.mechanisms.text.discovery_plan import spread
from sottovoce.statistics.discovery.candidates import Kept
from sottovoce.statistics.discovery.discover import WIDTH, check_rounds, discover
from sottovoce.statistics.discovery.found import Found
from sottovoce.statistics.discovery.prefixes import continued, search
from sottovoce.statistics.discovery.spelling import Spelling

MAX_ROUNDS = 64
PREFIXES_PER_ROUND = 5
"""A round asks for so many prefixes, each longer than the one before; one more group tells the whole text."""

LAST_ROUND_SHARE = 0.25
"""The people kept for the last round, over those of a round before it: each round has a group that tests already."""

MAX_FALSE_CONTINUATION = 0.25
"""How likely it may be that the search goes on where no text does. A round in vain costs less than texts cut short."""

MIN_COHORTS = 16
"""Each group has at least so many. With few, texts that share buckets with a very frequent one look frequent too,
and the search would not end."""

MAX_CONTINUATIONS_PER_STEP = 2**17
"""A step asks for as many bytes as lead to no more continuations than this, which are looked through quickly."""


class Ask(NamedTuple):
    """What is asked next, and of how many people who have not answered yet."""

    round: int
    people: int
    mechanism: Discovery
    last: bool


@dataclass(frozen=True)
class Rounds:
    """Texts that nobody listed, asked for in rounds. Each person answers once, in one of them.

    The first people tell the beginnings of their texts. Those after them are asked for as many bytes more as can be
    looked through, given which beginnings are frequent and which letters occur. Once no beginning goes on, all who are
    left tell the whole text. So the longest length need not be known, as it must be where all are asked at once.

    The rounds so far are kept by whoever asks, as a list of tallies. The people of each should be drawn at random.

    >>> rounds = Rounds(30_000, epsilon=4.0)
    >>> ask = rounds.ask()
    >>> ask.round, ask.people, ask.mechanism.spans[0]
    (1, 9231, (0, 2))
    >>> answers = ["tea"] * 12_000 + ["coffee with milk"] * 6_000 + [f"{i}" for i in range(12_000)]
    >>> rounds.simulate(answers, seed=2).labels
    ['tea', 'coffee with milk']
    """

    n: int
    epsilon: float
    rounds: int = 4
    salt: str = ""
    domain: Text | None = None
    alphabet: str | None = None

    def __post_init__(self) -> None:
        for name, least, most in (("n", 1, 2**53), ("rounds", 2, MAX_ROUNDS)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ParameterError(f"{name} must be a whole number from {least} to {most:,}, got {value!r:.40}")
        check_epsilon(self.epsilon)
        check_text(self.domain)
        Spelling.of(self.alphabet)

    def ask(self, tallies: Sequence[Tally[Result]] = ()) -> Ask:
        """The next question, after the answers to those before."""
        left, number = self.n - sum(tally.n for tally in tallies), len(tallies) + 1
        if left < 1 or number > self.rounds:
            answered = f"{self.n - left:,} of {self.n:,} people have answered in {len(tallies)} of {self.rounds} rounds"
            raise ParameterError(f"nobody is left to ask: {answered}")
        most = check_text(self.domain).max_bytes
        stops = self._stops(tallies, most) if number < self.rounds else []
        people = math.ceil(left / (self.rounds - number + LAST_ROUND_SHARE)) if stops else left
        spans = [(0, stop) for stop in stops] + [(0, most + 1)] * (PREFIXES_PER_ROUND + 1 - len(stops))
        draft = self._draft(tallies, spans)
        cohorts = max(spread(draft, people), MIN_COHORTS * len(spans))
        mechanism = Discovery(
            spans=spans, base=draft.base, cohorts=cohorts, domain=self.domain, salt=f"{self.salt}/{number}"
        )
        return Ask(number, people, mechanism, not stops)

    def _draft(self, tallies: Sequence[Tally[Result]], spans: Sequence[tuple[int, int]]) -> Discovery:
        """A mechanism for these spans that randomizes as that of the first round does, to the last bit."""
        first = tallies[0].mechanism if tallies else None
        if isinstance(first, Discovery):
            return Discovery(spans=spans, domain=self.domain, base=first.base)
        return Discovery(self.epsilon, spans=spans, domain=self.domain)

    def _stops(self, tallies: Sequence[Tally[Result]], most: int) -> list[int]:
        """How many bytes to ask for; none if no text goes on."""
        if not tallies:
            last = FIRST_PREFIX_BYTES + PREFIXES_PER_ROUND
            return [stop for stop in range(min(FIRST_PREFIX_BYTES, most), last) if stop <= most]
        spelling, told = Spelling.of(self.alphabet), counted(check_rounds(tallies))
        if told.mechanism.tag or not told.whole:
            kind = "fragments" if told.mechanism.tag else "whole texts alone"
            raise ParameterError(f"the rounds so far must be about prefixes, got {kind}")
        kept = search(told, spelling, WIDTH).left
        assert kept is not None  # noqa: S101
        before = kept.grown.rows.shape[1]
        if before >= most or not _goes_on(kept, told):
            return []
        step = _farthest(kept, most, spelling) - before
        return sorted({min(before + step * at, most) for at in range(1, PREFIXES_PER_ROUND + 1)})

    def simulate(self, values: Column, seed: int | None = None) -> Found:
        """All rounds, with the people of a column in random order."""
        answers, stream, tallies = to_list(values), Keystream.of(seed), list[Tally[Result]]()
        if len(answers) != self.n:
            raise ParameterError(f"values must be those of all n = {self.n:,} people, got {len(answers):,}")
        order = np.argsort(stream.below(2**53, len(answers)), kind="stable")
        ask = self.ask()
        while True:
            own, order = order[: ask.people], order[ask.people :]
            some = [answers[at] for at in np.sort(own).tolist()]  # Memory is read the fastest from end to end.
            column = ask.mechanism.randomize_many(some, seed=stream)
            tallies.append(ask.mechanism.tally().add_many(column))
            if ask.last:
                return discover(tallies, alphabet=self.alphabet)
            ask = self.ask(tallies)


def _goes_on(kept: Kept, told: Counted) -> bool:
    """Whether any prefix is more frequent than the best of as many as were looked at would be by chance."""
    *_, (_, groups) = told.levels()
    law = NullDistribution(told.sketch(groups).support)
    return bool((law.deviate(kept.strength) > quantile(1 - 2 * MAX_FALSE_CONTINUATION, kept.looked)).any())


def _farthest(kept: Kept, most: int, spelling: Spelling) -> int:
    """As many bytes as leave no more continuations than are soon looked through, one more at least."""
    before = int(kept.grown.rows.shape[1])
    first = len(continued(kept, before + 1, spelling)[0])
    growth = max(first / len(kept.grown), 2.0)
    return min(before + 1 + max(int(math.log(MAX_CONTINUATIONS_PER_STEP / max(first, 1), growth)), 0), most)
