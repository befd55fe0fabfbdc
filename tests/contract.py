"""The contract of a mechanism, as checks that take one and raise AssertionError.

What can be proved is proved, in Fractions, over every report and every draw of a small instance. What cannot is
tested statistically, with seeds; each such check states its false-alarm rate. `broken.py` holds a twin that fails for
each of them.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice, pairwise, product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

import sottovoce as sv
import tracing
from sottovoce.kernels import SPARE
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.longitudinal import Longitudinal
from sottovoce.mechanisms.memoized_kinds import MemoizedTexts
from sottovoce.mechanisms.pure import Pure
from sottovoce.privacy import GRID, Probability, log_above
from sottovoce.randomness import Keystream, Source, heads, threshold
from sottovoce.reports import Bits, Report, Reports
from sottovoce.tally import Counting


class Branching(Source):
    """Follows a script of outcomes, takes the first outcome beyond it, and records every probability on the way."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.taken: list[tuple[int, int]] = []
        self.ways, self.all_ways = 1, 1

    def draw(self) -> int:
        raise AssertionError("a mechanism must draw by bernoulli and below only")

    def bernoulli(self, p: Probability) -> bool:
        head = threshold(p)
        outcome = self._branch(2)
        self.ways *= GRID - head if outcome else head
        self.all_ways *= GRID
        return not outcome

    def below(self, k: int) -> int:
        self.all_ways *= k
        return self._branch(k)

    def rounded(self, units: int) -> int:
        below, share = divmod(units, GRID)
        up = self._branch(2) if share else self._branch(1)
        self.ways *= share if up else GRID - share
        self.all_ways *= GRID
        return below + up

    def _branch(self, outcomes: int) -> int:
        at = len(self.taken)
        outcome = self.script[at] if at < len(self.script) else 0
        self.taken.append((outcome, outcomes))
        return outcome

    @property
    def weight(self) -> Fraction:
        """The exact probability of what was taken."""
        return Fraction(self.ways, self.all_ways)


def every_draw(perturb: Callable[[Source], Any]) -> Iterator[tuple[Any, Fraction]]:
    """Run a randomizer on every sequence of outcomes of its draws, each with its exact probability."""
    script: list[int] = []
    while True:
        source = Branching(script)
        yield perturb(source), source.weight
        path = source.taken
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        script = [outcome for outcome, _ in path[:-1]] + [path[-1][0] + 1]


class Columns(Keystream):
    """Feeds a column of one answer with a source's draws. Coins beyond the report's bits are heads: they must go."""

    def __init__(self, source: Source, length: int) -> None:
        self.source, self.length = source, length

    def words(self, count: int) -> Any:
        raise AssertionError("a column that can be enumerated must draw by bernoulli, below and coin_rows only")

    def bernoulli(self, p: Probability, count: int) -> Any:
        return np.array([self.source.bernoulli(p) for _ in range(count)])

    def below(self, k: int, count: int) -> Any:
        return np.array([self.source.below(k) for _ in range(count)], dtype=np.int64)

    def columns(self, count: int, *needs: Probability | int) -> Any:
        """The last word of all that are heads, or the first one that is tails; words of the last run of multiples."""
        return [np.array(list(self._words(need, count)), dtype=np.uint64) for need in needs]

    def _words(self, need: Probability | int, count: int) -> Iterator[int]:
        if isinstance(need, int):
            return ((GRID // need * need - need + int(rest)) << SPARE for rest in self.below(need, count))
        return (heads(need) - int(head) for head in self.bernoulli(need, count))

    def coin_rows(self, p: Probability, rows: Any) -> Any:
        heads = [at >= self.length or self.source.bernoulli(p) for at in range(8 * rows.shape[1])]
        assert len(rows) == 1
        rows[:] = np.packbits([heads], axis=1, bitorder="little")
        return rows


def check_law_is_a_distribution(m: Mechanism) -> None:
    for law in m.channel().values():
        assert all(probability > 0 for probability in law.values())
        assert sum(law.values()) == 1


def check_epsilon_is_the_worst_ratio(m: Mechanism) -> None:
    laws = list(m.channel().values())
    reports = {report for law in laws for report in law}
    assert all(report in law for report in reports for law in laws), "epsilon is infinite"
    worst = max(max(law[r] for law in laws) / min(law[r] for law in laws) for r in reports)
    assert m.epsilon == log_above(worst)


def check_supports_have_p_and_q(m: Pure) -> None:
    supported = {report: set(m.supports(report)) for law in m.channel().values() for report in law}
    for code, law in enumerate(m.channel().values()):
        for other in range(m.domain.size):
            probability = sum(chance for report, chance in law.items() if other in supported[report])
            assert probability == (m.p if other == code else m.q)


def some(laws: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """All values with their laws; of more than 32, every fourth."""
    return list(laws.items())[:: 4 if len(laws) > 32 else 1]


def check_every_draw_gives_the_channel(m: Mechanism) -> None:
    for label, law in some(m.channel()) if isinstance(m, Longitudinal) else m.channel().items():
        found: dict[Report, Fraction] = defaultdict(Fraction)
        for report, weight in every_draw(lambda source: m._perturb(m._encode(label, source), source)):  # noqa: B023
            found[report] += weight
        assert found == law


def check_time_tells_nothing(m: Mechanism) -> None:
    """The same instructions and the same calls of the operating system, whatever is drawn and whatever the answer is.

    What a report names in public, such as the part that was drawn, may take its own time.
    """
    labels = [label for _, label in islice(m._codes(), 64)]
    values = [labels[0], labels[len(labels) // 2], labels[-1]]
    for _ in range(40):
        for value in values:
            m.randomize(value)  # What is worked out once is worked out now.
    seen: dict[Any, set[Any]] = defaultdict(set)
    reports = set()
    for value in values:
        for report, instructions, asked in tracing.traces(m, value, runs=24):
            seen[tracing.public_part(m, report)].add((instructions, asked))
            reports.add(report)
    assert len(reports) > 1
    assert all(len(ways) == 1 for ways in seen.values()), "what is executed depends on the draw or on the answer"


def check_every_draw_of_a_column_gives_the_channel(m: Mechanism) -> None:
    """What `randomize_many` does to one answer, exactly. For mechanisms whose columns draw coins and numbers alone."""
    for code, label in m._codes():
        found: dict[Report, Fraction] = defaultdict(Fraction)
        for data, weight in every_draw(lambda source: column_of_one(m, code, source)):  # noqa: B023
            found[Reports(m, data, True)[0]] += weight
        assert found == m.channel()[label]


def column_of_one(m: Mechanism, code: int, source: Source) -> Any:
    column = m.shape.empty(1)
    m._perturb_into(np.array([code]), Columns(source, m.bits), column)
    return column


def check_bits_count_the_reports(m: Mechanism) -> None:
    reports = {report for law in m.channel().values() for report in law}
    assert len(reports) <= 2**m.bits
    assert isinstance(m.shape, Bits) or len(reports) > 2 ** (m.bits - 1), "fewer bits would do"
    assert m.bits == m.shape.bits
    assert all(m.shape.check(report) == report for report in reports)


def check_tally_counts_the_support(m: Pure) -> None:
    for report in {report for law in m.channel().values() for report in law}:
        support = m.tally().add(report).estimate().support
        assert set(np.flatnonzero(support)) == set(m.supports(report))
        assert support.max(initial=0) <= 1


def check_columns_have_the_same_law(m: Mechanism) -> None:
    """Chi-square of `randomize_many` against the channel, which `randomize` has exactly. False alarms: 1e-6."""
    n = 40_000
    laws = some(m.channel())
    for seed, (label, law) in enumerate(laws):
        observed = np.array([0] * len(law))
        place = {report: at for at, report in enumerate(law)}
        for report, count in _distinct(m.randomize_many([label] * n, seed=seed)):
            assert report in place, "a report that randomize cannot give"
            observed[place[report]] += count
        assert _chi_square_tail(observed, n * np.array([float(chance) for chance in law.values()])) > 1e-6 / len(laws)


def _distinct(reports: Reports) -> Iterator[tuple[Report, int]]:
    """Each report that occurs, and how often; rows of up to 8 bytes are told apart as numbers."""
    rows = reports.data.reshape(len(reports), -1).view(np.uint8)
    words = np.zeros((len(rows), 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    _, first, counts = np.unique(words.view(np.uint64).ravel(), return_index=True, return_counts=True)
    return zip(Reports(reports.mechanism, reports.data[first], reports.simulated), counts.tolist(), strict=True)


def _chi_square_tail(observed: np.ndarray, expected: np.ndarray) -> float:
    """The p-value; outcomes are pooled, rarest first, until each pool expects at least 10."""
    order = np.argsort(expected)
    pools = np.minimum(np.floor(np.cumsum(expected[order]) / 10), np.floor(expected.sum() / 10) - 1).astype(int)
    _, pools = np.unique(pools, return_inverse=True)
    seen, due = np.bincount(pools, observed[order]), np.bincount(pools, expected[order])
    return float(chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1))


def check_merges_are_exact(m: Mechanism) -> None:
    values = [m.domain.labels[i % m.domain.size] for i in range(999)]
    reports = m.randomize_many(values, seed=5)
    a, b, c = ([part[i] for i in range(len(part))] for part in (reports[:200], reports[200:201], reports[201:]))
    whole = m.tally().add_many(np.asarray(reports))

    def tally(part: list[Report]) -> sv.Tally[Any]:
        return m.tally().add_many(part)

    assert tally(a).merge(tally(b)).merge(tally(c)) == whole
    assert tally(a).merge(tally(b).merge(tally(c))) == whole
    assert tally(c).merge(tally(a)).merge(tally(b)) == whole
    assert m.tally().merge(whole).merge(m.tally()) == whole
    assert sv.Tally.from_dict(json.loads(json.dumps(whole.to_dict())), m) == whole
    for expected in (0, 64 * 2**16):  # Reports one by one, or how often each outcome occurs first.
        counting = Counting(m, expected)
        counting.add(np.asarray(reports))
        assert (counting.cells() == whole.cells).all()
    if m.marks is not None:
        assert whole.cells.sum() == m.marks * whole.n


def check_errors_are_as_declared(m: Pure) -> None:
    """Over 20,000 runs the mean error is zero and the mean squared error the closed form's, within 5%.

    The mean squared error of a run varies by a factor of at most sqrt(2), so its mean over the runs is known to 1%,
    and 5% is five standard deviations: false alarms below 1e-6. So is a mean error of five standard errors.
    """
    runs, n, D = 20_000, 50, m.domain.size
    codes = np.minimum(np.arange(n) % (2 * D), D - 1)
    truth = np.bincount(codes, minlength=D) / n
    values = [m.domain.labels[code] for code in codes] * runs
    data = m.randomize_many(values, seed=11).data
    estimates = np.array([m.tally().add_many(data[at : at + n]).estimate().frequency for at in range(0, n * runs, n)])
    errors = estimates - truth
    standard = errors.std(axis=0) / math.sqrt(runs)
    assert (abs(errors.mean(axis=0)) < 5 * standard).all(), "biased"
    assert abs((errors**2).mean() / (m.variance / n) - 1) < 0.05, "another variance than declared"


def check_round_trip(m: Mechanism) -> None:
    again = type(m).from_dict(json.loads(json.dumps(m.to_dict())))
    assert again == m
    assert hash(again) == hash(m)
    assert (again.epsilon, again.bits) == (m.epsilon, m.bits)


History = tuple[Any, ...]
"""The answers of a person, wave by wave."""
Pattern = tuple[int, ...]
"""For each wave of a history the first wave with the same answer. No mechanism has a say in what it is."""


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
        self.m, self.known = m, dict[tuple[Any, str, bool], list[tuple[Any, Fraction]]]()

    def __call__(self, value: Any, memory: str, last: bool) -> list[tuple[Any, Fraction]]:
        """What may be sent, kept and charged, with its probability. What is kept after the last wave is left out."""
        if (value, memory, last) not in self.known:
            law: dict[Any, Fraction] = defaultdict(Fraction)
            for step, weight in every_draw(lambda source: self._step(value, memory, last, source)):
                law[step] += weight
            self.known[value, memory, last] = list(law.items())
        return self.known[value, memory, last]

    def _step(self, value: Any, memory: str, last: bool, source: Source) -> Any:
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
        paths: dict[tuple[tuple[Report, ...], str, tuple[float, ...]], Fraction] = {((), str(memory), ()): weight}
        for wave, value in enumerate(history, 1):
            further: dict[Any, Fraction] = defaultdict(Fraction)
            for (reports, kept, costs), chance in paths.items():
                for (report, after, cost), each in moves(value, kept, wave == len(history)):
                    further[(*reports, report), after, (*costs, cost)] += chance * each
            paths = further
        for (reports, _, costs), chance in paths.items():
            law[Seen(public, reports)] += chance
            charges.add(float(sum(map(Fraction, costs))))
    return law, [min(charges), max(charges)]


def answers(m: Longitudinal) -> list[Any]:
    """All values; of texts, two whose places differ everywhere, and one that shares those of the first somewhere."""
    if not isinstance(m.domain, sv.Text):
        return list(m.domain.labels)
    assert isinstance(m, MemoizedTexts)
    codes: dict[Any, Any] = {text: code for code, text in m._codes()}
    places = {text: [as_set(m._place(code, cohort)) for cohort in range(m.cohorts)] for text, code in codes.items()}
    first = max(places, key=lambda text: len(places[text][0]))
    apart = (text for text in places if all(not a & b for a, b in zip(places[first], places[text], strict=True)))
    other = max(apart, key=lambda text: len(places[text][0]))
    return [first, other, next(text for text in places if text != first and places[text][0] == places[first][0])]


def as_set(place: Any) -> set[int]:
    return set(place) if isinstance(place, tuple) else {place}


def worst_ratio(laws: list[dict[Any, Fraction]]) -> Fraction | None:
    """The largest ratio of two laws; None if it is infinite."""
    seen = set().union(*laws)
    if any(len(law) < len(seen) for law in laws):
        return None
    return max((max(law[at] for law in laws) / min(law[at] for law in laws) for at in seen), default=Fraction(1))


MAX_REPORTS_OF_THREE_WAVES = 4


def waves_to_enumerate(m: Longitudinal) -> int:
    """All waves of a mechanism that counts them; otherwise three, or two where a cohort has many reports."""
    drawn = m._sets.count if isinstance(m, sv.DBitFlip) else getattr(m, "cohorts", 1)
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
        assert ratio is not None, "histories of one pattern can be told apart for certain"
        loss = log_above(ratio)
        assert loss <= min(laws[history][1][0] for history in members) + 1e-12, "the steps charge less than is lost"
        assert max(laws[history][1][1] for history in members) <= m.epsilon_after(changes), "more is charged than said"
        assert loss <= m.epsilon_over(waves, changes) <= m.epsilon_after(changes), "more is lost than declared"
        lost[changes] = max(lost[changes], loss)
    anything = worst_ratio([law for law, _ in laws.values()])
    everything = math.inf if anything is None else log_above(anything)
    assert everything <= m.epsilon_pattern(waves)
    _check_nothing_is_overstated(m, waves, lost, everything)


def _check_nothing_is_overstated(m: Longitudinal, waves: int, lost: dict[int, float], everything: float) -> None:
    """Some two histories lose just what is declared.

    Where one number is declared for all histories, two of all; otherwise two of one pattern for every number of
    changes. Of three hashed values two may share a bucket, so that the bound for all three need not be reached.
    """
    if m.epsilon_pattern(waves) == m.epsilon_over(waves):
        assert abs(everything - m.epsilon_pattern(waves)) < 1e-12, "more is declared than can be lost"
        return
    hashed = getattr(m, "cohorts", 1) > 1 or isinstance(m.domain, sv.Text)
    for changes, loss in lost.items():
        if not hashed or changes < 2:
            assert abs(loss - m.epsilon_over(waves, changes)) < 1e-12, "more is declared than can be lost"


def check_columns_over_time_have_the_same_law(m: Longitudinal) -> None:
    """Chi-square of `randomize_waves` against the law of the steps, for histories that do not change, that do, that
    return, and that go through three values; where a cohort has many reports, over two waves only. False alarms: 1e-6.
    """
    n, values, moves = 40_000, answers(m), Moves(m)
    a, b = values[0], values[-1] if len(values) < 3 or not isinstance(m.domain, sv.Text) else values[1]
    three = waves_to_enumerate(m) > 2
    histories: list[History] = [(b, b, b), (a, b, b), (b, a, b)] if three else [(b, b), (a, b)]
    histories += [tuple(values[:3])] if three and len(values) > 2 else []
    for seed, history in enumerate(histories):
        law: dict[Any, Fraction] = defaultdict(Fraction)
        for seen, chance in law_over_time(m, history, moves)[0].items():
            law[seen.reports] += chance
        place, observed = {reports: at for at, reports in enumerate(law)}, np.zeros(len(law), dtype=int)
        columns = m.randomize_waves([[value] * n for value in history], seed=seed)
        for reports in zip(*columns, strict=True):
            assert reports in place, "reports that the steps cannot give"
            observed[place[reports]] += 1
        assert _chi_square_tail(observed, n * np.array([float(chance) for chance in law.values()])) > 1e-6 / 4


def check_never_spends_more_than_asked(build: Callable[[float], Mechanism]) -> None:
    """And never much less: within 1e-9, or for a large epsilon within what the grid of 2^-53 can express."""
    for asked in (0.001, 0.1, 0.25, 0.5, 1 / 3, math.log(3), 1.0, 2.0, 3.7, 4.0, 8.0, 10.0, 15.0, 20.0, 30.0, 36.0):
        try:
            spent = build(asked).epsilon
        except sv.ParameterError:
            assert asked < 0.05, "only a very small epsilon may be refused"
            continue
        assert asked - max(1e-9, math.exp(asked) * 2**-52) <= spent <= asked


CHECKS: list[Callable[[Mechanism], None]] = [
    check_law_is_a_distribution,
    check_epsilon_is_the_worst_ratio,
    check_every_draw_gives_the_channel,
    check_time_tells_nothing,
    check_bits_count_the_reports,
    check_columns_have_the_same_law,
    check_merges_are_exact,
    check_round_trip,
]
PURE_CHECKS: list[Callable[[Pure], None]] = [
    check_supports_have_p_and_q,
    check_tally_counts_the_support,
    check_errors_are_as_declared,
]
LONGITUDINAL_CHECKS: list[Callable[[Longitudinal], None]] = [
    check_reports_over_time_cost_as_declared,
    check_columns_over_time_have_the_same_law,
]
