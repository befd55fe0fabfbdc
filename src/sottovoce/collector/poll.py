"""A live poll: one question that people answer on their phones, which randomize the answers.

A poll is a survey like any other, with one question. This module makes it and answers it as a class would;
`poll_result` writes down how it ended.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import secrets
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.privacy import check_epsilon, check_probability, log_above
from sottovoce.device import transport
from sottovoce.device.ledger import DEFAULT_BUDGET
from sottovoce.device.respondent import Respondent
from sottovoce.estimates.render import label_text, plural
from sottovoce.mechanisms import KRR, RandomizedResponse
from sottovoce.survey import Survey
from sottovoce.survey.words import in_words

QUESTION = "vote"
DEFAULT_TRUTH = Fraction(3, 4)
DEFAULT_MINIMUM = 5
"""Nothing is shown of the first four reports. That is not what protects them: they were randomized."""

YES_NO = ("no", "yes")
CONCURRENT_VOTERS = 8
"""Simulated voters that send at the same time."""

Answer = str | float
"""An option, or a number."""


def ballot(
    question: str,
    options: Sequence[str] = YES_NO,
    *,
    bounds: tuple[float, float] | None = None,
    truth: float | Fraction | None = None,
    epsilon: float | None = None,
    minimum: int = DEFAULT_MINIMUM,
    mark: str | None = None,
) -> Survey:
    """The survey of a poll: yes or no, one of several options, or a number within bounds.

    `truth` is the probability that a report is the answer itself (of a number: that its side is told right). With
    `epsilon` instead the mechanism is the best one. The `mark` ends the survey's id; without one it is random, since
    phones take two polls of one id for the same.

    >>> survey = ballot("Vanilla or chocolate?", ["vanilla", "chocolate"], truth=0.75, mark="monday")
    >>> survey.id, survey.question("vote").mechanism.p, round(survey.epsilon, 4)
    ('vanilla-or-chocolate-monday', 0.75, 1.0986)
    """
    if truth is not None and epsilon is not None:
        raise ParameterError("give either truth or epsilon, not both")
    exact = check_probability("truth", DEFAULT_TRUTH if truth is None else truth)
    epsilon = None if epsilon is None else check_epsilon(epsilon)
    asked = _number(bounds, exact, epsilon) if bounds is not None else _choice(options, exact, epsilon)
    document = {
        "sottovoce": 1,
        "id": f"{_slug(question)}-{mark or secrets.token_hex(3)}",
        "title": question,
        "minimum": minimum,
        "questions": [{"id": QUESTION, "text": question, **asked}],
    }
    return Survey.from_dict(document).publish()


def _choice(options: Sequence[str], truth: Fraction, epsilon: float | None) -> JsonObject:
    values = list(options)
    asked = {"kind": "yes_no" if len(values) == 2 else "choice", "values": values}
    if len(values) < 2:
        raise ParameterError(f"a poll must have at least 2 options, got {len(values)}")
    if epsilon is not None:
        return asked | {"epsilon": epsilon} | ({"mechanism": "rr"} if len(values) == 2 else {})
    if truth * len(values) <= 1:
        raise ParameterError(
            f"truth must be above 1/{len(values)}, what a blind guess would give, got {float(truth):g}"
        )
    m = RandomizedResponse(p=truth, domain=values) if len(values) == 2 else KRR(values, p=truth)
    return asked | {"mechanism": m.to_dict(), "epsilon": m.epsilon}


def _number(bounds: tuple[float, float], truth: Fraction, epsilon: float | None) -> JsonObject:
    """A number is rounded at random to one of the bounds, and that is told by randomized response."""
    low, high = bounds
    asked = {"kind": "number", "low": low, "high": high, "outside": "clip"}
    if epsilon is not None:
        return asked | {"epsilon": epsilon}
    if truth <= Fraction(1, 2):
        raise ParameterError(f"truth must be above 1/2, the chance of a blind guess, got {float(truth):g}")
    p = RandomizedResponse(p=truth).p
    domain = {"low": float(low), "high": float(high), "steps": 1, "outside": "clip"}
    none = dict.fromkeys(("share", "window", "inside"))
    cost = log_above(p / (1 - p))
    m = {"mechanism": "mean", "domain": domain, "kind": "rounding", "p": float(p), **none, "epsilon": cost}
    return asked | {"estimate": "mean", "mechanism": m, "epsilon": cost}


def _slug(text: str) -> str:
    """Words of a text for an address."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:24].strip("-") or "poll"


def mark_of(*said: object) -> str:
    """A few letters that are the same for the same words: a poll begun again in the same folder is the same poll."""
    return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:6]


# Simulated voters.


def shares_of(options: int, shares: Sequence[float | Fraction] | None) -> list[float]:
    """The shares of simulated voters for each option: as given, or drawn at random."""
    if shares is None:
        weights = [random.expovariate(1.0) for _ in range(options)]
        return [weight / math.fsum(weights) for weight in weights]
    given = [float(share) for share in shares]
    if len(given) != options or not all(share >= 0 for share in given) or abs(math.fsum(given) - 1) > 1e-9:
        got = ", ".join(f"{share:g}" for share in given)
        raise ParameterError(f"shares must be {options} numbers from 0 to 1 that add up to 1, got {got:.60}")
    return given


def electorate(survey: Survey, voters: int, shares: Sequence[float | Fraction] | None = None) -> list[Answer]:
    """The true answers of simulated voters: options in some shares, or numbers around a common one."""
    item = survey.question(QUESTION)
    if item.low is not None and item.high is not None:
        if shares is not None:
            raise ParameterError("shares are for options, not for numbers")
        middle, width = random.uniform(1, 9), item.high - item.low
        return [item.low + width * random.betavariate(middle, 10 - middle) for _ in range(voters)]
    labels: list[Answer] = list(item.mechanism.domain.labels)
    return random.choices(labels, shares_of(len(labels), shares), k=voters)


def vote(url: str, answers: Sequence[Answer], seconds: float, ended: threading.Event) -> int:
    """Answer a poll as people would, spread over some seconds: each answer on a device of its own, by HTTP.

    Returns how many reports were acknowledged; it stops early when `ended` is set.
    """
    survey = Survey.loads(transport.fetch(url))
    budget = max(DEFAULT_BUDGET, survey.epsilon)
    with (
        tempfile.TemporaryDirectory(prefix="sottovoce-voters-") as folder,
        ThreadPoolExecutor(CONCURRENT_VOTERS) as pool,
    ):

        def pause(wait: float) -> None:
            ended.wait(wait)

        def one(at: int) -> int:
            if ended.is_set():
                return 0
            device = Path(folder, f"{at}.sqlite")
            body = Respondent(device, budget).answer(survey, {QUESTION: answers[at]})
            device.unlink()
            try:
                return transport.send(url, body, attempts=3, sleep=pause)["accepted"]
            except (transport.Rejected, transport.Undelivered):
                return 0

        coming = []
        for at in range(len(answers)):
            if ended.wait(random.uniform(0, 2 * seconds / len(answers))):
                break
            coming.append(pool.submit(one, at))
        return sum(vote.result() for vote in coming)


def truth_of(survey: Survey, answers: Sequence[Answer]) -> JsonObject:
    """What simulated voters really answered."""
    if survey.question(QUESTION).kind == "number":
        return {"mean": math.fsum(map(float, answers)) / len(answers)}
    counts = Counter(answers)
    labels = survey.question(QUESTION).mechanism.domain.labels
    return {"frequency": {str(label): counts[label] / len(answers) for label in labels}}


def truth_in_words(survey: Survey, answers: Sequence[Answer]) -> str:
    """The same in a line."""
    truth = truth_of(survey, answers)
    if "mean" in truth:
        return f"mean {truth['mean']:.4g}"
    return ", ".join(f"{label_text(label)} {share:.4g}" for label, share in truth["frequency"].items())


# Where it is.


def lan_address() -> str:
    """The address that other machines know this one by, as far as it can tell. No packet is sent."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def qr(text: str) -> str:
    """A QR code in characters, dark on light, for a terminal that prints black on white.

    >>> len(qr("http://192.168.1.20:8000/s/vanilla-or-chocolate-3fa2c1").splitlines())
    19
    """
    code = load("segno").make(text, error="m", micro=False)
    rows = [[bool(dark) for dark in row] for row in code.matrix_iter(border=2)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    blocks = {(False, False): " ", (False, True): "▄", (True, False): "▀", (True, True): "█"}
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return "\n".join("".join(blocks[pair] for pair in zip(upper, lower, strict=True)) for upper, lower in pairs)


def heading(survey: Survey) -> str:
    """One line for the terminal: the odds and the cost, and whether phones will take it."""
    words = in_words(survey.question(QUESTION))
    if survey.epsilon > DEFAULT_BUDGET:
        words = f"phones refuse what costs more than {DEFAULT_BUDGET:g}, unless their owners say otherwise; {words}"
    return f"{words} (epsilon = {survey.epsilon:.6g}); shown from {plural(survey.minimum, 'report')} on"
