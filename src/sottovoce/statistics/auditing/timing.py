"""The audit of time: does how long `randomize` takes tell a truth from a lie, or one answer from another?

Calls for the answers are made in random order, each is timed, and a classifier learns from one half of them. It is
tested on the other half, which it has not seen. Its balanced accuracy is the mean of the shares that it gets right of
either side: 0.5 is guessing, 1 is knowing.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.render import label_text
from sottovoce.statistics.auditing.audit_result import as_json
from sottovoce.statistics.auditing.bench import Progress
from sottovoce.statistics.auditing.sources import Command, Function, Randomizer, source_of
from sottovoce.statistics.auditing.speaking import named_openly, speaks_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALLS = 60_000
WARM_UP = 2_000
"""Calls before the first that counts: interpreters and processors learn from them."""

LIMIT = 0.55
"""Up to this balanced accuracy, time is said to tell nothing of use."""

MIN_CALLS = 400
"""With fewer calls of either side nothing can be learned."""

MAX_REPORTS = 8
"""Answers are told apart by time among calls with the same report, for so many of the most frequent reports."""

BINS = 48
"""A classifier learns from so many bins of times, which hold equally many calls."""

FALSE_ALARM_RATE = 0.01
"""Where no true accuracy is above the limit, at most this share of audits says that time tells."""

MAX_SHOWN = 12
"""The table shows so many of the worst rows. JSON has all."""


@dataclass(frozen=True)
class Accuracy:
    """How well two sides are told apart by time alone, on so many calls that the classifier had not seen."""

    question: str
    sides: tuple[str, str]
    accuracy: float
    stderr: float
    calls: int
    width: float
    """1 / 4a + 1 / 4b, of a calls of the one side and b of the other: what Hoeffding's inequality asks for."""
    comparisons: int = 1
    """How many comparisons the audit makes."""

    @property
    def bound(self) -> float:
        """A lower bound of the true accuracy. In 1 - FALSE_ALARM_RATE of all audits it holds for every comparison.

        W. Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, JASA 1963, with the rate divided by
        the comparisons. It holds for any law of the times and any number of calls, if calls are independent.
        """
        return self.accuracy - math.sqrt(math.log(self.comparisons / FALSE_ALARM_RATE) / 2 * self.width)

    @property
    def tells(self) -> bool:
        """Whether it is above the limit for sure, however many comparisons there are."""
        return self.bound > LIMIT

    def to_dict(self) -> JsonObject:
        found = {"accuracy": self.accuracy, "stderr": self.stderr, "bound": self.bound}
        names = {"question": self.question, "sides": list(self.sides), "calls": self.calls}
        return names | found | {"tells": self.tells}


@dataclass(frozen=True)
class TimeAudit:
    """What time tells: of a fixed answer, and between every two answers, also given the report."""

    answers: tuple[object, ...]
    calls: int
    nanoseconds: float
    accuracies: tuple[Accuracy, ...]
    domain_size: int | None = None
    """How many answers there are, if the audit chose among them."""

    def __post_init__(self) -> None:
        each = tuple(replace(one, comparisons=len(self.accuracies)) for one in self.accuracies)
        object.__setattr__(self, "accuracies", each)

    @property
    def comparisons(self) -> int:
        return len(self.accuracies)

    @property
    def worst(self) -> Accuracy:
        """The comparison with the highest bound: one of few calls is often high by accident."""
        return max(self.accuracies, key=lambda one: one.bound)

    @property
    def exceeds(self) -> bool:
        """Whether time tells in any comparison. Where no true accuracy is above the limit, 1 audit in 100 says so."""
        return any(one.tells for one in self.accuracies)

    @property
    def scope(self) -> str:
        """Which answers were compared."""
        pairs, taken = math.comb(len(self.answers), 2), len(self.answers)
        if self.domain_size is None or self.domain_size == taken:
            which = "all answers" if self.domain_size == taken else "the answers given"
            return f"{which}: {taken} of them, {pairs} {'pair' if pairs == 1 else 'pairs'}"
        size = f"{self.domain_size:,}" if self.domain_size < 10**15 else "very many"
        return f"a sample of {taken} answers out of {size}, both ends among them: {pairs} pairs"

    @property
    def verdict(self) -> str:
        """One line."""
        if self.exceeds:
            return f"time tells: {self.worst.question}, by {self.worst.accuracy:.0%} where guessing is right by 50%"
        return (
            f"time tells nothing that shows in {self.calls:,} calls: {self.worst.accuracy:.0%} where guessing has 50%"
        )

    def to_dict(self) -> JsonObject:
        return {
            "kind": "time",
            "values": [as_json(answer) for answer in self.answers],
            "calls": self.calls,
            "median_nanoseconds": self.nanoseconds,
            "limit": LIMIT,
            "domain_size": self.domain_size,
            "scope": self.scope,
            "comparisons": self.comparisons,
            "false_alarm_rate": FALSE_ALARM_RATE,
            "accuracies": [one.to_dict() for one in self.accuracies],
            "exceeds": self.exceeds,
            "verdict": self.verdict,
        }

    def __str__(self) -> str:
        worst = sorted(self.accuracies, key=lambda one: -one.bound)[:MAX_SHOWN]
        width = max(len(one.question) for one in worst)
        rows = [f"{one.question:{width}}  {one.accuracy:.3f} +- {one.stderr:.3f}  of {one.calls:,} calls"
                for one in worst]  # fmt: skip
        head = f"balanced accuracy by time alone; a call takes {self.nanoseconds / 1000:.2f} microseconds (median)"
        left = self.comparisons - len(worst)
        more = [f"and {left:,} comparisons more, with lower bounds"] if left else []
        rate = f"{self.comparisons:,} comparisons; a false alarm in any of them: at most {FALSE_ALARM_RATE:.0%}"
        return "\n".join([head, self.scope, *rows, *more, rate, self.verdict])


@dataclass(frozen=True, eq=False)
class Timed:
    """Calls: which answer it was, how long it took, and what came out."""

    which: NDArray[np.int64]
    nanoseconds: NDArray[np.int64]
    reports: list[Hashable]


def audit_time(
    randomizer: Randomizer,
    answers: tuple[object, ...],
    pair_calls: int = CALLS,
    seed: int | None = None,
    progress: Progress | None = None,
    domain_size: int | None = None,
) -> TimeAudit:
    """Time so many calls of a randomizer for every two answers, and see what that tells about them."""
    if isinstance(randomizer, Command) and not randomizer.one_by_one:
        raise ParameterError("to be timed, a command must be run for each answer: put {} where the answer goes")
    calls = pair_calls * len(answers) // 2
    timed = _measure(_caller(randomizer), answers, calls, Keystream(seed), progress)
    found = [*_fixed(randomizer, answers, timed), *_between(answers, timed)]
    if not found:
        raise ParameterError(f"{calls} calls are too few to learn anything from: make more of them")
    return TimeAudit(answers, calls, float(np.median(timed.nanoseconds)), tuple(found), domain_size)


def _caller(randomizer: Randomizer) -> Callable[..., object]:
    source = source_of(randomizer, fresh=False)
    if isinstance(source, Function):
        return source.function
    return lambda answer: next(source.reports([answer], 1))


def _measure(
    call: Callable[..., object], answers: tuple[object, ...], calls: int, stream: Keystream, progress: Progress | None
) -> Timed:
    which = stream.below(len(answers), calls)
    order, reports, times, clock = which.tolist(), list[Hashable](), list[int](), time.perf_counter_ns
    with _undisturbed():
        for at in order[: min(WARM_UP, calls // 4)]:
            call(answers[at])
        for done, at in enumerate(order):
            answer = answers[at]
            before = clock()
            report = call(answer)
            after = clock()
            times.append(after - before)
            reports.append(tuple(report) if isinstance(report, list) else report)
            if progress and done % 1000 == 0:
                progress(done, calls)
    return Timed(which, np.array(times), reports)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No garbage is collected meanwhile: it would strike some calls and not others."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _fixed(randomizer: Randomizer, answers: tuple[object, ...], timed: Timed) -> Iterator[Accuracy]:
    """For each answer: does the report speak for it or not? Reports that differ in what they name openly are apart."""
    for at, answer in enumerate(answers):
        mine = np.flatnonzero(timed.which == at)
        reports = [timed.reports[call] for call in mine]
        rest = [timed.reports[call] for call in np.flatnonzero(timed.which != at)]
        spoken = speaks_for(randomizer, answer, reports, rest, answers)
        if spoken is None:
            continue
        truth, named = np.array(spoken, dtype=np.int64), np.array([named_openly(randomizer, one) for one in reports])
        for part in np.unique(named).tolist():
            given = f" and part {part} is asked" if named.max() else ""
            question = f"the answer is {label_text(answer)}{given}: does the report speak for it?"
            own = named == part
            yield from _accuracies(question, ("no", "yes"), timed.nanoseconds[mine][own], truth[own])


def _between(answers: tuple[object, ...], timed: Timed) -> Iterator[Accuracy]:
    """Every two answers: whatever the report is, and given each of the most frequent reports."""
    places: dict[Hashable, list[int]] = {}
    for call, report in enumerate(timed.reports):
        places.setdefault(report, []).append(call)
    frequent = sorted(places, key=lambda report: -len(places[report]))[:MAX_REPORTS]
    for first, second in combinations(range(len(answers)), 2):
        sides = (label_text(answers[first]), label_text(answers[second]))
        groups = {"": np.arange(len(timed.reports))}
        groups |= {f"the report is {report!r:.20}: ": np.array(places[report]) for report in frequent}
        for given, group in groups.items():
            group = group[(timed.which[group] == first) | (timed.which[group] == second)]
            question = f"{given}is the answer {sides[0]} or {sides[1]}?"
            yield from _accuracies(
                question, sides, timed.nanoseconds[group], (timed.which[group] == second).astype(np.int64)
            )


def _accuracies(
    question: str, sides: tuple[str, str], times: NDArray[np.int64], side: NDArray[np.int64]
) -> Iterator[Accuracy]:
    """One accuracy: learn from every other call of either side, and test on the rest. None, if there are too few."""
    learned, right, seen = np.zeros(side.size, dtype=bool), list[float](), list[int]()
    for each in (0, 1):
        learned[np.flatnonzero(side == each)[::2]] = True
    if min(np.bincount(side[learned], minlength=2)) < MIN_CALLS // 2:
        return
    guess = _guesses(times[learned], side[learned], times[~learned])
    for each in (0, 1):
        mine = guess[side[~learned] == each] == each
        right.append(float(mine.mean()))
        seen.append(mine.size)
    variance = sum(share * (1 - share) / count for share, count in zip(right, seen, strict=True)) / 4
    width = sum(1 / count for count in seen) / 4
    yield Accuracy(question, sides, sum(right) / 2, max(variance, 1e-9) ** 0.5, sum(seen), width)


def _guesses(times: NDArray[np.int64], side: NDArray[np.int64], tested: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each time, the side that has the larger share of its calls in the same bin. Bins hold equally many calls."""
    edges = np.unique(np.quantile(times, np.arange(1, BINS) / BINS))
    shares = [np.bincount(np.searchsorted(edges, times[side == each], side="right"), minlength=edges.size + 1)
              / (side == each).sum() for each in (0, 1)]  # fmt: skip
    guess: NDArray[np.int64] = (shares[1] > shares[0])[np.searchsorted(edges, tested, side="right")].astype(np.int64)
    return guess
