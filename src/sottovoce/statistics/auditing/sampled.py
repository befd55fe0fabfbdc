"""The audit of a black box: a lower bound of epsilon, certified by counting reports.

The reports are split in three. From the first part attacks learn to tell the two answers apart; the second part chooses
the attack and the event that promise most; the third, which nothing was chosen from, counts that one event.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.render import label_text
from sottovoce.mechanisms import Mechanism
from sottovoce.statistics.auditing.attacks import (
    MAX_LISTED_BITS,
    Attack,
    Cells,
    DeclaredLaw,
    Given,
    Parts,
    Score,
    Whole,
)
from sottovoce.statistics.auditing.audit_result import AuditResult, as_json
from sottovoce.statistics.auditing.bench import Bench, Progress
from sottovoce.statistics.auditing.bounds import best_cut, certify, tails, thresholds
from sottovoce.statistics.auditing.observations import Digest, Observations
from sottovoce.statistics.auditing.sources import Randomizer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_LEARNT_SAMPLES = 2**17
"""Attacks learn, and are chosen, from at most so many observations of each answer; more would teach little."""

CURVE_POINTS = 24
MAX_NAMED_REPORTS = 5


@dataclass(frozen=True)
class Event:
    """Something about a report that is more likely under one answer than under the other, and how often it was seen."""

    likely: object
    unlikely: object
    hits: tuple[int, int]
    trials: int
    what: str
    attack: Attack = field(repr=False, compare=False)
    threshold: float
    above: bool

    def contains(self, report: object) -> bool:
        """Whether the event happened: for one report, or for a tuple of them where the audit had several."""
        return bool((self.attack.score(Observations([report]))[0] >= self.threshold) == self.above)

    def __str__(self) -> str:
        first, second = (
            f"{count:,} times for {label_text(x)}" for count, x in zip(self.hits, self._sides, strict=True)
        )
        return f"{self.what}: {first}, {second}, of {self.trials:,} each"

    @property
    def _sides(self) -> tuple[object, object]:
        return self.likely, self.unlikely


@dataclass(frozen=True)
class Audit(AuditResult):
    """A lower bound of what a randomizer spends on telling x0 from x1.

    `epsilon_lower` is wrong with probability at most 1 - level, whatever the randomizer does, as long as its
    reports are independent. `curve` has, for some thresholds of the attack's score, how many of the reports of x0 were
    not below it (false alarms) and how many of x1 were (misses), out of `event.trials` each.
    """

    level: float
    samples: int
    repeats: int
    event: Event
    curve: tuple[tuple[int, int], ...] = field(repr=False)

    def to_dict(self) -> JsonObject:
        event = {
            "what": self.event.what,
            "likely": as_json(self.event.likely),
            "hits": list(self.event.hits),
            "trials": self.event.trials,
        }
        return {
            "kind": "sampled",
            **self._common(),
            "level": self.level,
            "samples": self.samples,
            "repeats": self.repeats,
            "event": event,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        from sottovoce.statistics.auditing.chart import region

        trials = self.event.trials
        points = [(alarms / trials, misses / trials) for alarms, misses in self.curve]
        return region(self, points, trials, 1 - self.level, ax)

    def __str__(self) -> str:
        each = f"{self.samples:,} samples" + (f" of {self.repeats} reports" if self.repeats > 1 else "")
        pair = f"{label_text(self.x0)} and as many of {label_text(self.x1)}"
        bound = f"epsilon >= {self.epsilon_lower:.4f} with {100 * self.level:.6g}% confidence"
        return f"{bound}, by {each} of {pair}\nevent: {self.event}\n{self.verdict}"


def sample(
    randomizer: Randomizer,
    answers: tuple[object, object],
    *,
    samples: int,
    level: float,
    delta: float,
    claimed: float | None,
    repeats: int,
    fresh: bool,
    score: Score | None,
    seed: int | None,
    progress: Progress | None,
) -> Audit:
    """Take the reports and make the most of them."""
    error, part = 1 - level, min(samples // 5, MAX_LEARNT_SAMPLES)
    with Bench(randomizer, answers, repeats, fresh, seed, [part, part, samples - 2 * part], progress) as bench:
        attacks = _learn(bench, randomizer, answers, repeats, score)
        attack, cut, above, curve, named = _choose(bench, attacks, delta)
        alarms, hits = _count(bench, attack, np.append(curve, cut))
    trials = samples - 2 * part
    seen = (int(hits[-1]), int(alarms[-1])) if above else (trials - int(alarms[-1]), trials - int(hits[-1]))
    unlikely, likely = answers if above else answers[::-1]
    what = named or f"a {'high' if above else 'low'} score by {attack.name}"
    event = Event(likely, unlikely, seen, trials, what, attack, cut, above)
    points = tuple((int(a), trials - int(h)) for a, h in zip(alarms, hits, strict=True))
    bound = certify(*seen, trials, error, delta)
    return Audit(*answers, bound, claimed, delta, level, samples, repeats, event, points)


def _learn(
    bench: Bench,
    randomizer: Randomizer,
    answers: tuple[object, object],
    repeats: int,
    score: Score | None,
) -> list[Attack]:
    """Show all attacks the first part of the reports."""
    whole, cells = Whole(), Cells()
    for seen, labels in bench.batches():
        whole.learn(seen, labels)
        cells.learn(seen, labels)
    attacks: list[Attack] = [whole, Parts(cells, screened=True), Parts(cells, screened=False)]
    if isinstance(randomizer, Mechanism) and randomizer.bits <= MAX_LISTED_BITS:
        attacks.append(DeclaredLaw(randomizer, answers, repeats))
    return attacks if score is None else [*attacks, Given(score)]


def _choose(bench: Bench, attacks: list[Attack], delta: float) -> tuple[Attack, float, bool, NDArray[np.float64], str]:
    """The attack and the threshold that do best on the second part, more thresholds to draw, and the event in words."""
    scores: list[list[NDArray[np.float64]]] = [[] for _ in attacks]
    marks, keys = [], []
    for seen, labels in bench.batches():
        marks.append(labels)
        keys += seen.brief
        for own, attack in zip(scores, attacks, strict=True):
            own.append(attack.score(seen))
    second = np.concatenate(marks) == 1
    columns = [np.concatenate(own) for own in scores]
    cuts = [best_cut(column[~second], column[second], delta) for column in columns]
    best = max(range(len(attacks)), key=lambda at: cuts[at][0])
    _, cut, above = cuts[best]
    inside = np.flatnonzero((columns[best] >= cut) == above)
    named = _named({keys[at] for at in inside.tolist()})
    return attacks[best], cut, above, thresholds(columns[best], CURVE_POINTS), named


def _named(reports: set[Hashable]) -> str:
    """The reports of an event by name, if they are few."""
    if not 0 < len(reports) <= MAX_NAMED_REPORTS or any(isinstance(report, Digest) for report in reports):
        return ""
    return "the report is " + " or ".join(sorted(f"{report:.60}" for report in reports))


def _count(bench: Bench, attack: Attack, cuts: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each cut, how many reports of each answer in the third part have a score not below it."""
    order = np.argsort(cuts)
    counts = np.zeros((2, cuts.size), dtype=np.int64)
    for seen, labels in bench.batches():
        scores = attack.score(seen)
        for label in (0, 1):
            counts[label, order] += tails(scores[labels == label], cuts[order])
    return counts[0], counts[1]
