"""Audits: what a randomizer really spends, found out by an attacker.

Differential privacy bounds every attacker who must guess from a report which of two answers it came from: with a
share a of false alarms and a share b of misses, `a + e^epsilon b >= 1` and `e^epsilon a + b >= 1`. So an attacker who
does better proves that more is spent than was claimed. `audit` plays the attacker against any black box and certifies
what it finds, or follows every draw of a mechanism that is small enough and finds its epsilon exactly.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Literal, overload

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_probability, compose, to_float
from sottovoce.mechanisms import Mechanism
from sottovoce.statistics.auditing.answers import all_or_some, ends
from sottovoce.statistics.auditing.attacks import Score
from sottovoce.statistics.auditing.audit_result import AuditResult
from sottovoce.statistics.auditing.bench import Progress
from sottovoce.statistics.auditing.exact import ExactAudit, enumerate_draws
from sottovoce.statistics.auditing.sampled import Audit, Event, sample
from sottovoce.statistics.auditing.sources import Command, Endpoint, Randomizer
from sottovoce.statistics.auditing.timing import CALLS, TimeAudit, audit_time
from sottovoce.statistics.checks import check_whole

__all__ = ["Audit", "AuditResult", "Command", "Endpoint", "Event", "ExactAudit", "TimeAudit", "audit", "ends"]

SAMPLES = 100_000
MIN_SAMPLES = 50
"""With fewer samples there is nothing to learn from."""


class _Ungiven:
    """No answer, where None would be one: it stands for a missing answer."""

    def __repr__(self) -> str:
        return "not given"


UNGIVEN = _Ungiven()


@overload
def audit(randomizer: Mechanism, *, delta: float = 0, claimed: float | None = None) -> ExactAudit: ...
@overload
def audit(
    randomizer: Mechanism,
    x0: object = ...,
    x1: object = ...,
    *,
    exact: Literal[True],
    delta: float = 0,
    claimed: float | None = None,
) -> ExactAudit: ...
@overload
def audit(
    randomizer: Randomizer,
    x0: object = ...,
    x1: object = ...,
    samples: int = ...,
    *,
    seed: int | None = None,
    time: Literal[True],
    progress: Progress | None = None,
) -> TimeAudit: ...
@overload
def audit(
    randomizer: Randomizer,
    x0: object,
    x1: object,
    samples: int = 100_000,
    level: float = 0.99,
    seed: int | None = None,
    delta: float = 0,
    *,
    claimed: float | None = None,
    repeats: int = 1,
    fresh: bool = False,
    score: Score | None = None,
    exact: Literal[False] = False,
    time: Literal[False] = False,
    progress: Progress | None = None,
) -> Audit: ...
def audit(
    randomizer: Randomizer,
    x0: object = UNGIVEN,
    x1: object = UNGIVEN,
    samples: int | None = None,
    level: float = 0.99,
    seed: int | None = None,
    delta: float = 0,
    *,
    claimed: float | None = None,
    repeats: int = 1,
    fresh: bool = False,
    score: Score | None = None,
    exact: bool = False,
    time: bool = False,
    progress: Progress | None = None,
) -> AuditResult | TimeAudit:
    """What a randomizer spends at least on telling x0 from x1; without the two, what a mechanism spends exactly.

    The randomizer is a mechanism, a function from an answer to a report, an object with a `randomize` method, a
    `Command` or an `Endpoint`. `samples` observations are made of each answer; an observation is `repeats` reports of a
    person who is asked again and again. If a randomizer remembers what it said, give a function that makes one, and
    `fresh`: it is called for each person. `claimed` is the epsilon to compare with, a mechanism's own by default. The
    bound holds with the probability of the `level`. A `score` is for those who know of a better attack: a number that
    is higher if an observation speaks for x1.

    With `time` the attacker has a clock and no epsilon is found: so many calls, 60,000 by default, are timed, and what
    that tells of a truth or a lie and of the two answers is a `TimeAudit`. Without the two, it is of every two answers
    of a mechanism with up to 8 of them; of more, 8 are taken: both ends, and others drawn by the seed.

    >>> import sottovoce as sv
    >>> print(audit(sv.RandomizedResponse(epsilon=1.0), False, True, seed=1))
    epsilon >= 0.9854 with 99% confidence, by 100,000 samples of False and as many of True
    event: the report is 0: 44,059 times for False, 16,138 times for True, of 60,000 each
    consistent with epsilon = 1
    >>> print(audit(sv.KRR(["a", "b", "c"], epsilon=1.0)))
    epsilon = 0.9999999999999997, by every draw of randomize
    worst: report 0 is 2.71828 times as likely for a as for b
    consistent with epsilon = 1
    """
    values = _check_answers(x0, x1)
    if time:
        if exact or fresh or repeats != 1 or score is not None or delta or claimed is not None:
            raise ParameterError("an audit of time takes answers, samples and a seed: nothing else goes with it")
        count = check_whole(CALLS if samples is None else samples, "samples", MIN_SAMPLES)
        return _time(randomizer, values, count, seed, progress)
    samples = check_whole(SAMPLES if samples is None else samples, "samples", MIN_SAMPLES)
    repeats = check_whole(repeats, "repeats", 1)
    _check(level, delta, score)
    if claimed is not None:
        claimed = _check_claim(claimed)
    elif isinstance(randomizer, Mechanism):
        claimed = compose([randomizer.epsilon] * repeats)
    if exact or values is None:
        if not isinstance(randomizer, Mechanism):
            raise ParameterError(f"two answers, x0 and x1, are needed to sample {randomizer!r:.60}")
        if repeats != 1 or fresh or score is not None:
            raise ParameterError("an exact audit is of one report: repeats, fresh and score are for samples")
        return enumerate_draws(randomizer, values, delta, claimed)
    return sample(
        randomizer,
        values,
        samples=samples,
        level=level,
        delta=float(delta),
        claimed=claimed,
        repeats=repeats,
        fresh=fresh,
        score=score,
        seed=seed,
        progress=progress,
    )


def _check_answers(x0: object, x1: object) -> tuple[object, object] | None:
    if (x0 is UNGIVEN) != (x1 is UNGIVEN):
        raise ParameterError("give both answers, x0 and x1, or neither")
    if x0 is UNGIVEN:
        return None
    if type(x0) is type(x1) and _written(x0) == _written(x1):
        raise ParameterError(f"x0 and x1 must differ, got {x0!r:.60} twice")
    return x0, x1


def _time(
    randomizer: Randomizer,
    values: tuple[object, object] | None,
    pair_calls: int,
    seed: int | None,
    progress: Progress | None,
) -> TimeAudit:
    if values is not None:
        return audit_time(randomizer, values, pair_calls, seed, progress)
    if not isinstance(randomizer, Mechanism):
        raise ParameterError(f"two answers, x0 and x1, are needed to time {randomizer!r:.60}")
    return audit_time(randomizer, all_or_some(randomizer, seed), pair_calls, seed, progress, randomizer.domain.size)


def _written(answer: object) -> str:
    """An answer in full: the text of a long array would leave out its middle."""
    return repr(answer.tolist() if hasattr(answer, "tolist") else answer)


def _check(level: object, delta: object, score: object) -> None:
    check_probability("level", level)
    if score is not None and not callable(score):
        raise ParameterError(f"a score must be a function of an observation, got {score!r:.40}")
    if delta != 0 or isinstance(delta, bool):
        check_probability("delta", delta)


def _check_claim(claimed: object) -> float:
    """The claimed epsilon. A claim of zero says that reports tell nothing."""
    number = to_float(claimed) if isinstance(claimed, Real) and not isinstance(claimed, bool) else math.nan
    if not 0 <= number < math.inf:
        raise ParameterError(f"claimed must be a number, zero or more, got {claimed!r:.40}")
    return number
