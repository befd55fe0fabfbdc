"""The audit of a mechanism whose every draw can be followed: its epsilon, exactly.

`randomize` is run on every sequence of outcomes that its draws can have, each with its exact probability. What is
proved so is what the code does, not what it says of itself, given that the random bits are fair.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import GRID, Probability, log_above
from sottovoce.core.randomness import Source
from sottovoce.core.reports import Report
from sottovoce.estimates.render import label_text
from sottovoce.mechanisms import Mechanism
from sottovoce.statistics.auditing.audit_result import AuditResult, as_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_DRAWS = 2**19
"""At most so many draws are followed, on all paths and for all answers together."""

REPLAYS = 16
"""The first path of some answers is followed so often again: the same report must come out every time."""

MAX_COMPARISONS = 2**18
"""With a delta, pairs of answers times reports to compare are at most so many."""

Law = Mapping[Report, Fraction]
"""The probability of each report of one answer."""


class TooManyDrawsError(Exception):
    """There are more sequences of draws than can be followed."""


class TooLargeError(ParameterError):
    """A mechanism cannot be enumerated, only sampled."""


def as_written(m: Mechanism) -> bool:
    """Whether its `randomize` is the library's own: one of its own can do anything, and can only be sampled."""
    return type(m).randomize is Mechanism.randomize


class Branching(Source):
    """Follows every path that draws can take: a script of outcomes, and beyond it the first outcome of each draw."""

    def __init__(self, draws: int = MAX_DRAWS) -> None:
        self._left, self._script = draws, list[int]()
        self._restart()

    def _restart(self) -> None:
        self._taken, self._over, self._under = list[tuple[int, int]](), 1, 1

    def paths(self, m: Mechanism, answer: object) -> Iterator[tuple[Report, Fraction]]:
        """The report at the end of every path, with its probability."""
        self._script, more = [], True
        while more:
            self._restart()
            report = self._report(m, answer)
            yield report, Fraction(self._over, self._under)
            more = self._next_path()

    def repeats(self, m: Mechanism, answer: object) -> bool:
        """Whether the same outcomes lead to the same report again: if not, there are draws that are not followed."""
        self._script, found = [], set()
        for _ in range(REPLAYS):
            self._restart()
            found.add(self._report(m, answer))
        return len(found) == 1

    def _report(self, m: Mechanism, answer: object) -> Report:
        return m._perturb(m._encode(answer, self), self)

    def _next_path(self) -> bool:
        """Take the next outcome of the last draw that has one; False if all paths were followed."""
        path = self._taken
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        self._script = [outcome for outcome, _ in path]
        if path:
            self._script[-1] += 1
        return bool(path)

    def draw(self) -> int:
        raise TooManyDrawsError  # 53 bits at once; mechanisms draw by the methods below.

    def bernoulli(self, p: Probability) -> int:
        return self._coin(p.threshold)

    def rounded(self, units: int) -> int:
        below, share = divmod(units, GRID)
        return below + (self._coin(share) if share else self._outcome(1))

    def _coin(self, heads: int) -> int:
        truth = 1 - self._outcome(2)
        self._over *= heads if truth else GRID - heads
        self._under *= GRID
        return truth

    def below(self, k: int) -> int:
        self._under *= k
        return self._outcome(k)

    def _outcome(self, outcomes: int) -> int:
        self._left -= 1
        if self._left < 0:
            raise TooManyDrawsError
        at = len(self._taken)
        outcome = self._script[at] if at < len(self._script) else 0
        self._taken.append((outcome, outcomes))
        return outcome


def laws(m: Mechanism, answers: tuple[object, ...] | None) -> tuple[dict[object, Law], str]:
    """The law of the reports of each answer, all by default, and what it rests on.

    By every draw if they are few; otherwise as the mechanism declares it, if that can be listed.
    """
    too_large = TooLargeError(f"{m!r} is too large to enumerate: give two answers, x0 and x1, to sample its reports")
    if not as_written(m):
        raise TooLargeError(f"{m!r} has a randomize of its own: give two answers, x0 and x1, to sample its reports")
    if answers is None and m.domain.size > MAX_DRAWS:
        raise too_large
    asked = tuple(m.domain.labels) if answers is None else answers
    try:
        return _followed(m, asked), "every draw of randomize"
    except TooManyDrawsError:
        pass
    try:
        channel: dict[object, Law] = dict(m.channel().items())
        return {label: channel[label] for label in asked}, "the law it declares"
    except (ParameterError, KeyError):
        raise too_large from None


def _followed(m: Mechanism, answers: tuple[object, ...]) -> dict[object, Law]:
    source, found = Branching(), dict[object, Law]()
    for answer in answers:
        law: dict[Report, Fraction] = defaultdict(Fraction)
        for report, chance in source.paths(m, answer):
            law[report] += chance
        found[answer] = dict(law)
    if not all(source.repeats(m, answer) for answer in answers[:REPLAYS]):
        raise TooLargeError(f"{m!r} draws from elsewhere too: give two answers, x0 and x1, to sample its reports")
    return found


@dataclass(frozen=True)
class ExactAudit(AuditResult):
    """What a mechanism spends at most on any two answers, exactly. x0 and x1 are the worst two.

    `ratio` is e^epsilon, None if it is infinite; `event` has the reports that tell most: one, unless there is a delta.
    """

    ratio: Fraction | None
    event: tuple[Report, ...]
    basis: str
    laws: tuple[Law, Law] = field(repr=False)

    _spends = "spends"

    @property
    def epsilon(self) -> float:
        """The same as `epsilon_lower`: the exact epsilon, rounded up to a float."""
        return self.epsilon_lower

    def to_dict(self) -> JsonObject:
        reports = [report.hex() if isinstance(report, bytes) else as_json(report) for report in self.event[:8]]
        return {"kind": "exact", **self._common(), "basis": self.basis, "event": reports}

    def plot(self, ax: Axes | None = None) -> Axes:
        from sottovoce.statistics.auditing.chart import region

        alarm, miss, points = Fraction(0), Fraction(1), [(0.0, 1.0)]
        for report in _by_ratio(*self.laws):
            alarm += self.laws[0].get(report, 0)
            miss -= self.laws[1].get(report, 0)
            points.append((float(alarm), float(miss)))
        return region(self, points, None, 0.0, ax)

    def __str__(self) -> str:
        first, second = label_text(self.x1), label_text(self.x0)
        if self.ratio is None:
            what = f"{self._event} can come from {first} and never from {second}"
        else:
            what = f"{self._event} is {float(self.ratio):.6g} times as likely for {first} as for {second}"
        size = "infinite" if self.ratio is None else f"{self.epsilon_lower!r}"
        return f"epsilon = {size}, by {self.basis}\nworst: {what}\n{self.verdict}"

    @property
    def _event(self) -> str:
        shown = ", ".join(f"{report!r:.40}" for report in self.event[:4])
        more = f" and {len(self.event) - 4} more" if len(self.event) > 4 else ""
        return f"report {shown}" if len(self.event) == 1 else f"one of the reports {shown}{more}"


def enumerate_draws(
    m: Mechanism, answers: tuple[object, ...] | None, delta: float, claimed: float | None
) -> ExactAudit:
    """The worst two of the answers, of all by default, and what they cost."""
    found, basis = laws(m, answers)
    x0, x1, ratio, event = _worst_report(found) if not delta else _worst_event(found, Fraction(delta))
    epsilon = math.inf if ratio is None else log_above(max(ratio, Fraction(1)))
    return ExactAudit(x0, x1, epsilon, claimed, delta, ratio, event, basis, (found[x0], found[x1]))


Worst = tuple[object, object, Fraction | None, tuple[Report, ...]]
"""Two answers, the ratio of their probabilities (None if infinite) and the reports that have it."""


def _worst_report(found: dict[object, Law]) -> Worst:
    """With no delta, the worst event is a single report: compare its largest probability with its smallest."""
    worst: Worst = None, None, Fraction(0), ()
    zero = Fraction(0)
    for report in dict.fromkeys(report for law in found.values() for report in law):
        x1 = max(found, key=lambda x: found[x].get(report, zero))
        x0 = min(found, key=lambda x: found[x].get(report, zero))
        least = found[x0].get(report, zero)
        ratio = found[x1][report] / least if least else None
        if _more(ratio, worst[2]):
            worst = x0, x1, ratio, (report,)
    return worst


def _worst_event(found: dict[object, Law], delta: Fraction) -> Worst:
    """With a delta, the worst event of two answers is the reports beyond some ratio."""
    if len(found) ** 2 * max(map(len, found.values())) > MAX_COMPARISONS:
        raise ParameterError("there are too many pairs of answers to compare with a delta: give two, x0 and x1")
    worst: Worst = None, None, Fraction(-1), ()
    for x0, x1 in permutations(found, 2):
        unlikely = likely = Fraction(0)
        order = _by_ratio(found[x0], found[x1])
        for at, report in enumerate(order, 1):
            unlikely += found[x0].get(report, 0)
            likely += found[x1].get(report, 0)
            ratio = (likely - delta) / unlikely if unlikely else None if likely > delta else Fraction(0)
            if _more(ratio, worst[2]):
                worst = x0, x1, ratio, tuple(order[:at])
    return worst


def _by_ratio(first: Law, second: Law) -> list[Report]:
    """Reports, the ones that speak most for the second answer first."""
    reports = dict.fromkeys([*first, *second])
    return sorted(reports, key=lambda r: (not first.get(r), second.get(r, 0) / (first.get(r) or 1)), reverse=True)


def _more(ratio: Fraction | None, than: Fraction | None) -> bool:
    return than is not None and (ratio is None or ratio > than)
