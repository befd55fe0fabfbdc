"""The contract of a mechanism, as checks that take one and raise `BrokenRule`, an AssertionError.

What can be proved is proved, in Fractions, over every report and every draw of a small instance. What cannot is
tested statistically, with seeds; each such check states its false-alarm rate. `sottovoce.testing.broken` holds a twin
that fails for each of them. What a mechanism declares over time is checked in `over_time.py`.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from sottovoce.core.domain import Keyed, Options, Scale, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import log_above
from sottovoce.core.reports import Bits, Report, ReportArray, Reports
from sottovoce.estimates import Result
from sottovoce.estimates.tally import Counting, Tally
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.testing.draws import column_of_one, every_draw
from sottovoce.testing.execution_trace import Instructions, public_part, traces
from sottovoce.testing.rules import require

Value = TypeVar("Value")
Law = TypeVar("Law")

SURVEYS_COMPARED = 100
"""Surveys that are estimated as a whole as well as report by report."""


def check_law_is_a_distribution(m: Mechanism) -> None:
    for law in m.channel().values():
        require(all(probability > 0 for probability in law.values()), "every probability in the channel is positive")
        require(sum(law.values()) == 1, "the probabilities of an answer's reports add up to one")


def check_epsilon_is_the_worst_ratio(m: Mechanism) -> None:
    laws = list(m.channel().values())
    reports = {report for law in laws for report in law}
    shared = all(report in law for report in reports for law in laws)
    require(shared, "every report can come from every answer (it cannot here: epsilon is infinite)")
    worst = max(max(law[r] for law in laws) / min(law[r] for law in laws) for r in reports)
    spent = log_above(worst)
    require(m.epsilon == spent, f"epsilon is the log of the worst ratio, {spent!r} (it declares {m.epsilon!r})")


def check_supports_have_p_and_q(m: Pure) -> None:
    supported = {report: set(m.supports(report)) for law in m.channel().values() for report in law}
    for code, law in enumerate(m.channel().values()):
        for other in range(m.domain.size):
            agreed = all(m.is_supported(other, report) == (other in supported[report]) for report in law)
            require(agreed, "`is_supported` and `supports` agree")
            probability = sum(chance for report, chance in law.items() if other in supported[report])
            declared = m.p if other == code else m.q
            require(probability == declared, "a report supports the true value with probability p, any other with q")


def some(laws: dict[Value, Law]) -> list[tuple[Value, Law]]:
    """All values with their laws; of more than 32, every fourth."""
    return list(laws.items())[:: 4 if len(laws) > 32 else 1]


def check_every_draw_gives_the_channel(m: Mechanism) -> None:
    for label, law in some(m.channel()) if isinstance(m, Longitudinal) else m.channel().items():
        found: dict[Report, Fraction] = defaultdict(Fraction)
        for report, weight in every_draw(lambda source: m._perturb(m._encode(label, source), source)):  # noqa: B023
            found[report] += weight
        require(found == law, f"the draws of randomize give the channel it declares (not for {label!r})")


def check_time_tells_nothing(m: Mechanism) -> None:
    """The same instructions and the same calls of the operating system, whatever is drawn and whatever the answer is.

    What a report names in public, such as the part that was drawn, may take its own time.
    """
    labels = [label for _, label in islice(m._codes(), 64)]
    values = [labels[0], labels[len(labels) // 2], labels[-1]]
    for _ in range(40):
        for value in values:
            m.randomize(value)  # What is worked out once is worked out now.
    seen: dict[int, set[tuple[Instructions, tuple[int, ...]]]] = defaultdict(set)
    reports: set[Report] = set()
    for value in values:
        for report, instructions, asked in traces(m, value, runs=24):
            seen[public_part(m, report)].add((instructions, asked))
            reports.add(report)
    require(len(reports) > 1, "reports of three answers differ")
    equal = all(len(ways) == 1 for ways in seen.values())
    require(equal, "what is executed depends neither on the draw nor on the answer")


def check_all_answers_take_the_same_way(m: Mechanism) -> None:
    """With the same draws, every answer leads to the same instructions: also an unusual one, and of another type."""
    taken = unusual_answers(m)
    for _ in range(20):
        for value in taken:
            m.randomize(value)  # What is worked out once is worked out now.
    for runs in zip(*(traces(m, value, runs=6) for value in taken), strict=True):
        ways = {(instructions, asked) for _, instructions, asked in runs}
        require(len(ways) == 1, "with the same draws, every answer leads to the same instructions")


def unusual_answers(m: Mechanism) -> list[object]:
    """Both ends and others; empty, full and missing answers, in all plain types."""
    domain = m.domain
    if isinstance(domain, Text):
        texts = ["a", "é", "日本", "\U0001f600", "a" * domain.max_bytes, "é" * (domain.max_bytes // 2)]
        longer = [*texts, "é" * domain.max_bytes, "日" * domain.max_bytes] if domain.longer == "cut" else texts
        fitting = [text for text in longer if domain.longer == "cut" or 0 < len(text.encode()) <= domain.max_bytes]
        return [*fitting, *([None, ""] if domain.missing == "category" else [])]
    if isinstance(domain, Scale):
        low, high = domain.low, domain.high
        numbers = [low, high, (low + high) / 2, low / 3 + high / 1.5, 0, 0.0, 1, 1e-300, -1e-300, math.floor(high)]
        return [number for number in numbers if low <= number <= high]
    if isinstance(domain, Options):
        options = list(domain.options.labels)
        return [kind(held) for kind in (list, tuple, set) for held in ([], options[:1], options[-1:], options)]
    if isinstance(domain, Keyed):
        keys, some = list(domain.keys.labels), [domain.low, domain.high, int(domain.high)]
        pairs = [[], *[[(key, number)] for key in keys for number in some], [(key, domain.low) for key in keys]]
        return [*pairs, *[[list(pair) for pair in held] for held in pairs]]
    labels = [label for _, label in islice(m._codes(), 64)] if domain.size < 2**12 else [0, 1, 256, 257, 2**12]
    return [*labels[:4], labels[len(labels) // 2], *labels[-2:]]


def check_every_draw_of_a_column_gives_the_channel(m: Mechanism) -> None:
    """What `randomize_many` does to one answer, exactly. For mechanisms whose columns draw coins and numbers alone."""
    for code, label in m._codes():
        found: dict[Report, Fraction] = defaultdict(Fraction)
        for data, weight in every_draw(lambda source: column_of_one(m, code, source)):  # noqa: B023
            found[Reports(m, data, True)[0]] += weight
        require(found == m.channel()[label], f"the draws of randomize_many give the channel (not for {label!r})")


def check_bits_count_the_reports(m: Mechanism) -> None:
    reports = {report for law in m.channel().values() for report in law}
    require(len(reports) <= 2**m.bits, "the declared bits hold every report")
    require(isinstance(m.shape, Bits) or len(reports) > 2 ** (m.bits - 1), "fewer bits would not do")
    require(m.bits == m.shape.bits, "the mechanism and the shape of its reports declare the same bits")
    require(all(m.shape.check(report) == report for report in reports), "the collector accepts every report")


def check_tally_counts_the_support(m: Pure) -> None:
    for report in {report for law in m.channel().values() for report in law}:
        support = m.tally().add(report).estimate().support
        require(set(np.flatnonzero(support)) == set(m.supports(report)), "a tally counts the values a report supports")
        require(support.max(initial=0) <= 1, "a tally counts a report once for each value it supports")


def check_columns_have_the_same_law(m: Mechanism) -> None:
    """Chi-square of `randomize_many` against the channel, which `randomize` has exactly. False alarms: 1e-6."""
    n = 40_000
    laws = some(m.channel())
    for seed, (label, law) in enumerate(laws):
        observed = np.array([0] * len(law))
        place = {report: at for at, report in enumerate(law)}
        for report, count in _distinct(m.randomize_many([label] * n, seed=seed)):
            require(report in place, "randomize_many gives only reports that randomize can give")
            observed[place[report]] += count
        tail = chi_square_tail(observed, n * np.array([float(chance) for chance in law.values()]))
        require(tail > 1e-6 / len(laws), f"randomize_many has the law of randomize (not for {label!r}: {tail:.1e})")


def _distinct(reports: Reports) -> Iterator[tuple[Report, int]]:
    """Each report that occurs, and how often."""
    _, first, counts = np.unique(_words(reports), return_index=True, return_counts=True)
    return zip(Reports(reports.mechanism, reports.data[first], reports.simulated), counts.tolist(), strict=True)


def _words(reports: Reports) -> NDArray[np.uint64]:
    """Reports as numbers that tell them apart. A small instance has at most 8 bytes in a report."""
    rows = reports.data.reshape(len(reports), -1).view(np.uint8)
    words = np.zeros((len(rows), 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    return words.view(np.uint64).ravel()


def chi_square_tail(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """The p-value; outcomes are pooled, rarest first, until each pool expects at least 10."""
    order = np.argsort(expected)
    pools = np.minimum(np.floor(np.cumsum(expected[order]) / 10), np.floor(expected.sum() / 10) - 1).astype(int)
    _, pools = np.unique(pools, return_inverse=True)
    seen, due = np.bincount(pools, observed[order]), np.bincount(pools, expected[order])
    return float(chdtrc(len(due) - 1, ((seen - due) ** 2 / due).sum()))


def check_merges_are_exact(m: Mechanism) -> None:
    values = [m.domain.labels[i % m.domain.size] for i in range(999)]
    reports = m.randomize_many(values, seed=5)
    a, b, c = ([part[i] for i in range(len(part))] for part in (reports[:200], reports[200:201], reports[201:]))
    whole = m.tally().add_many(np.asarray(reports))

    def tally(part: list[Report]) -> Tally[Result]:
        return m.tally().add_many(part)

    require(tally(a).merge(tally(b)).merge(tally(c)) == whole, "parts of a column merge to the whole")
    require(tally(a).merge(tally(b).merge(tally(c))) == whole, "merging is associative")
    require(tally(c).merge(tally(a)).merge(tally(b)) == whole, "merging is commutative")
    require(m.tally().merge(whole).merge(m.tally()) == whole, "merging an empty tally changes nothing")
    require(Tally.from_dict(json.loads(json.dumps(whole.to_dict())), m) == whole, "a tally survives JSON")
    for expected in (0, 64 * 2**16):  # Reports one by one, or how often each outcome occurs first.
        counting = Counting(m, expected)
        counting.add(np.asarray(reports))
        require((counting.cells() == whole.cells).all(), "reports count the same one by one and outcome by outcome")
    if m.marks is not None:
        require(whole.cells.sum() == m.marks * whole.n, "a report adds one to as many cells as `marks` says")


def check_errors_are_as_declared(m: Pure) -> None:
    """Over 20,000 runs the mean error is zero and the mean squared error the closed form's, within 5%.

    The mean squared error of a run varies by a factor of at most sqrt(2), so its mean over the runs is known to 1%,
    and 5% is five standard deviations: false alarms below 1e-6. So is a mean error of five standard errors.
    """
    runs, n, D = 20_000, 50, m.domain.size
    codes = np.minimum(np.arange(n) % (2 * D), D - 1)
    truth = np.bincount(codes, minlength=D) / n
    values = [m.domain.labels[code] for code in codes] * runs
    errors = _survey_estimates(m, m.randomize_many(values, seed=11), n) - truth
    standard = errors.std(axis=0) / math.sqrt(runs)
    require((abs(errors.mean(axis=0)) < 5 * standard).all(), "estimates are unbiased")
    require(abs((errors**2).mean() / (m.variance / n) - 1) < 0.05, "errors have the declared variance")


def _survey_estimates(m: Pure, reports: Reports, n: int) -> NDArray[np.float64]:
    """The frequencies that each n reports in a row tell.

    They are the average of what the reports tell one by one, so that each different report is estimated once; unless
    the first surveys show that they are not.
    """
    data, first_surveys = reports.data, SURVEYS_COMPARED * n

    def estimated(part: ReportArray) -> NDArray[np.float64]:
        return m.tally().add_many(part).estimate().frequency

    words = _words(reports)
    whole = np.array([estimated(data[at : at + n]) for at in range(0, first_surveys, n)])
    _, first, where = np.unique(words, return_index=True, return_inverse=True)
    alone = np.array([estimated(data[at : at + 1]) for at in first])
    parts = where.reshape(-1, SURVEYS_COMPARED, n)
    averages = np.concatenate([alone[part].mean(axis=1) for part in parts])
    if np.allclose(averages[:SURVEYS_COMPARED], whole, rtol=1e-9, atol=1e-9):
        return averages
    rest = [estimated(data[at : at + n]) for at in range(first_surveys, len(data), n)]
    return np.concatenate([whole, rest])


def check_round_trip(m: Mechanism) -> None:
    again = type(m).from_dict(json.loads(json.dumps(m.to_dict())))
    require(again == m, "a mechanism survives JSON")
    require(hash(again) == hash(m), "equal mechanisms have equal hashes")
    require((again.epsilon, again.bits) == (m.epsilon, m.bits), "its copy declares the same epsilon and bits")


def check_never_spends_more_than_asked(build: Callable[[float], Mechanism]) -> None:
    """And never much less: within 1e-9, or for a large epsilon within what the grid of 2^-53 can express."""
    for asked in (0.001, 0.1, 0.25, 0.5, 1 / 3, math.log(3), 1.0, 2.0, 3.7, 4.0, 8.0, 10.0, 15.0, 20.0, 30.0, 36.0):
        try:
            spent = build(asked).epsilon
        except ParameterError:
            require(asked < 0.05, f"only a very small epsilon is refused (not {asked})")
            continue
        require(spent <= asked, f"no more is spent than asked ({spent!r} of {asked!r})")
        slack = max(1e-9, math.exp(asked) * 2**-52)
        require(asked - slack <= spent, f"not much less is spent than asked ({spent!r} of {asked!r})")
