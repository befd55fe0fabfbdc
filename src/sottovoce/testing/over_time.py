"""The contract of a mechanism over time, as checks that take a longitudinal one and raise `BrokenRule`.

Every history of a small instance is enumerated with every draw of its device, wave by wave.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import islice, pairwise, product
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from sottovoce.core.domain import Text
from sottovoce.core.privacy import log_above
from sottovoce.core.randomness import Source
from sottovoce.core.reports import Report
from sottovoce.mechanisms import DBitFlip
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.mechanisms.longitudinal.memoized_kinds import MemoizedTexts
from sottovoce.testing.contract import chi_square_tail
from sottovoce.testing.draws import every_draw
from sottovoce.testing.rules import require

History: TypeAlias = tuple[object, ...]
"""The answers of a person, wave by wave."""
Pattern: TypeAlias = tuple[int, ...]
"""For each wave of a history the first wave with the same answer. No mechanism has a say in what it is."""


Move: TypeAlias = tuple[Report, str, float]
"""One wave of a device: its report, its memory afterwards as JSON, and what it charged."""
Path: TypeAlias = tuple[tuple[Report, ...], str, tuple[float, ...]]
"""Several waves: the reports, the memory afterwards as JSON, and what each wave charged."""

Outcome = TypeVar("Outcome")


def pattern(history: History) -> Pattern:
    return tuple(history.index(answer) for answer in history)


def changes_in(history: History) -> int:
    return sum(a != b for a, b in pairwise(history))


class Seen(NamedTuple):
    """What an observer sees of a device over time: what it drew in public, and its reports."""

    public: int
    reports: tuple[Report, ...]


class Moves:
    """Every draw of one wave of a device, looked up by its answer and its memory."""

    def __init__(self, m: Longitudinal) -> None:
        self.m, self.known = m, dict[tuple[object, str, bool], list[tuple[Move, Fraction]]]()

    def __call__(self, value: object, memory: str, last: bool) -> list[tuple[Move, Fraction]]:
        """What may be sent, kept and charged, with its probability. What is kept after the last wave is left out."""
        if (value, memory, last) not in self.known:
            law: dict[Move, Fraction] = defaultdict(Fraction)
            for step, weight in every_draw(lambda source: self._step(value, memory, last, source)):
                law[step] += weight
            self.known[value, memory, last] = list(law.items())
        return self.known[value, memory, last]

    def _step(self, value: object, memory: str, last: bool, source: Source) -> Move:
        step = self.m.step(value, json.loads(memory), source)
        return step.report, "" if last else json.dumps(step.memory, sort_keys=True), step.epsilon


def law_over_time(
    m: Longitudinal, history: History, moves: Moves | None = None
) -> tuple[dict[Seen, Fraction], list[float]]:
    """The exact law of what is seen of a device over a history, in every cohort, and the least and most it charges."""
    moves = moves or Moves(m)
    law: dict[Seen, Fraction] = defaultdict(Fraction)
    charges: set[float] = set()
    for memory, weight in every_draw(lambda source: json.dumps(m.begin(source), sort_keys=True)):
        public = json.loads(str(memory))[m.remembers[0]]
        paths: dict[Path, Fraction] = {((), str(memory), ()): weight}
        for wave, value in enumerate(history, 1):
            further: dict[Path, Fraction] = defaultdict(Fraction)
            for (reports, kept, costs), chance in paths.items():
                for (report, after, cost), each in moves(value, kept, wave == len(history)):
                    further[(*reports, report), after, (*costs, cost)] += chance * each
            paths = further
        for (reports, _, costs), chance in paths.items():
            law[Seen(public, reports)] += chance
            charges.add(float(sum(map(Fraction, costs))))
    return law, [min(charges), max(charges)]


def answers(m: Longitudinal) -> list[object]:
    """All values; of texts, two whose places differ everywhere, and one that shares those of the first somewhere.

    Where the package does not know the places of texts, the first three.
    """
    if not isinstance(m.domain, Text):
        return list(m.domain.labels)
    if not isinstance(m, MemoizedTexts):
        return [text for _, text in islice(m._codes(), 3)]
    codes = {text: code for code, text in m._codes()}
    places = {text: [as_set(m._place(code, cohort)) for cohort in range(m.cohorts)] for text, code in codes.items()}
    first = max(places, key=lambda text: len(places[text][0]))
    apart = (text for text in places if all(not a & b for a, b in zip(places[first], places[text], strict=True)))
    other = max(apart, key=lambda text: len(places[text][0]))
    return [first, other, next(text for text in places if text != first and places[text][0] == places[first][0])]


def as_set(place: int | tuple[int, ...]) -> set[int]:
    return set(place) if isinstance(place, tuple) else {place}


def worst_ratio(laws: list[dict[Outcome, Fraction]]) -> Fraction | None:
    """The largest ratio of two laws; None if it is infinite."""
    seen = {outcome for law in laws for outcome in law}
    if any(len(law) < len(seen) for law in laws):
        return None
    return max((max(law[at] for law in laws) / min(law[at] for law in laws) for at in seen), default=Fraction(1))


MAX_REPORTS_OF_THREE_WAVES = 4


def waves_to_enumerate(m: Longitudinal) -> int:
    """All waves of a mechanism that counts them; otherwise three, or two where a cohort has many reports."""
    drawn = m._sets.count if isinstance(m, DBitFlip) else getattr(m, "cohorts", 1)
    few = 2**m.bits <= MAX_REPORTS_OF_THREE_WAVES * drawn
    return getattr(m, "waves", 3 if few or m.domain.size == 2 else 2)


def check_reports_over_time_cost_as_declared(m: Longitudinal) -> None:
    """Over all histories of two or three waves, or all there are: what is declared, what is charged, what is lost.

    Histories have one pattern if they change at the same times and return to the same earlier answers. Among them the
    loss is at most what the steps charged, and at most what is declared for so many changes. Among all histories it is
    at most what is declared for those.
    """
    waves, moves = waves_to_enumerate(m), Moves(m)
    laws = {history: law_over_time(m, history, moves) for history in product(answers(m), repeat=waves)}
    lost: dict[int, float] = defaultdict(float)
    for same in {pattern(history) for history in laws}:
        members = [history for history in laws if pattern(history) == same]
        ratio, changes = worst_ratio([laws[history][0] for history in members]), changes_in(same)
        loss = math.inf if ratio is None else log_above(ratio)
        require(math.isfinite(loss), "no report tells two histories of one pattern apart for certain")
        least = min(laws[history][1][0] for history in members)
        most = max(laws[history][1][1] for history in members)
        require(loss <= least + 1e-12, "the steps charge no less than is lost")
        require(most <= m.epsilon_after(changes), "the steps charge no more than is declared")
        require(loss <= m.epsilon_over(waves, changes), "no more is lost than is declared for so many reports")
        require(m.epsilon_over(waves, changes) <= m.epsilon_after(changes), "some reports cost no more than any number")
        lost[changes] = max(lost[changes], loss)
    anything = worst_ratio([law for law, _ in laws.values()])
    everything = math.inf if anything is None else log_above(anything)
    require(everything <= m.epsilon_pattern(waves), "no more is lost among all histories than is declared")
    _check_nothing_is_overstated(m, waves, lost, everything)


def _check_nothing_is_overstated(m: Longitudinal, waves: int, lost: dict[int, float], everything: float) -> None:
    """Some two histories lose just what is declared.

    Where one number is declared for all histories, two of all; otherwise two of one pattern for every number of
    changes. Of three hashed values two may share a bucket, so that the bound for all three need not be reached.
    """
    if m.epsilon_pattern(waves) == m.epsilon_over(waves):
        require(abs(everything - m.epsilon_pattern(waves)) < 1e-12, "no more is declared than can be lost")
        return
    hashed = getattr(m, "cohorts", 1) > 1 or isinstance(m.domain, Text)
    for changes, loss in lost.items():
        if not hashed or changes < 2:
            require(abs(loss - m.epsilon_over(waves, changes)) < 1e-12, "no more is declared than can be lost")


def check_columns_over_time_have_the_same_law(m: Longitudinal) -> None:
    """Chi-square of `randomize_waves` against the law of the steps, for histories that do not change, that do, that
    return, and that go through three values; where a cohort has many reports, over two waves only. False alarms: 1e-6.
    """
    n, values, moves = 40_000, answers(m), Moves(m)
    a, b = values[0], values[-1] if len(values) < 3 or not isinstance(m.domain, Text) else values[1]
    three = waves_to_enumerate(m) > 2
    histories: list[History] = [(b, b, b), (a, b, b), (b, a, b)] if three else [(b, b), (a, b)]
    histories += [tuple(values[:3])] if three and len(values) > 2 else []
    for seed, history in enumerate(histories):
        law: dict[tuple[Report, ...], Fraction] = defaultdict(Fraction)
        for seen, chance in law_over_time(m, history, moves)[0].items():
            law[seen.reports] += chance
        place, observed = {reports: at for at, reports in enumerate(law)}, np.zeros(len(law), dtype=int)
        columns = m.randomize_waves([[value] * n for value in history], seed=seed)
        for reports in zip(*columns, strict=True):
            require(reports in place, "randomize_waves gives only reports that the steps can give")
            observed[place[reports]] += 1
        tail = chi_square_tail(observed, n * np.array([float(chance) for chance in law.values()]))
        require(tail > 1e-6 / 4, f"randomize_waves has the law of the steps (not for {history}: {tail:.1e})")
