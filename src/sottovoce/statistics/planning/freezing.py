"""What a bound on changes does to the estimates: some reports are about a value that is held no more.

A device with a bound of c changes draws c + 1 permanent answers at most. Who comes to hold yet another value goes on
sending the last answer: the report is *frozen*. It counts for the value of that answer, so that the estimate of a value
is off by the share of frozen reports that count for it, less the share of frozen people who hold it. No frequency is
therefore off by more than the share of frozen reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.mechanisms.longitudinal.chain import answers_sent
from sottovoce.statistics.planning.terms import number, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column

MAX_WAVES = 10_000


def expected_frozen(waves: int, changes: int, rate: float) -> list[float]:
    """The share of frozen reports in each wave, if the value of a person changes with probability `rate` a wave.

    Every change is taken to bring a value that was not held before. Who returns to an earlier value is not frozen, so
    that the true share is at most this one.

    >>> [round(share, 3) for share in expected_frozen(waves=5, changes=1, rate=0.1)]
    [0.0, 0.0, 0.01, 0.028, 0.052]
    """
    waves, rate = whole("waves", waves), number("rate", rate, 0, 1)
    if waves > MAX_WAVES:
        raise ParameterError(f"waves must be at most {MAX_WAVES:,}, got {waves:,}")
    if type(changes) is not int or changes < 0:
        raise ParameterError(f"changes must be a whole number, at least 0, got {changes!r:.40}")
    followed = np.zeros(min(changes, waves) + 1)  # The share of people after so many changes; the rest is frozen.
    followed[0] = 1.0
    shares = []
    for _ in range(waves):
        shares.append(max(0.0, 1.0 - float(followed.sum())))
        changed = rate * followed
        followed -= changed
        followed[1:] += changed[:-1]
    return shares


@dataclass(frozen=True)
class Frozen:
    """One wave: the share of frozen reports, and by how much they move the expected frequency of each value."""

    share: float
    bias: dict[Label, float]


def frozen_bias(domain: int | Iterable[Label] | Domain, waves: Sequence[Column], changes: int) -> list[Frozen]:
    """The bias of each wave, exactly, for people whose answers are known. A wave is a column of answers, as simulated.

    >>> before, after = ["no"] * 8 + ["yes"] * 2, ["no"] * 5 + ["yes"] * 5
    >>> first, second = frozen_bias(["no", "yes"], [before, after], changes=0)
    >>> second.share, {value: round(bias, 3) for value, bias in second.bias.items()}
    (0.3, {'no': 0.3, 'yes': -0.3})
    """
    domain = Domain.of(domain)
    codes = np.stack([domain.encode_many(wave) for wave in waves], axis=1)
    first, sent = answers_sent(codes, changes)
    reported = codes.ravel()[first][sent].reshape(codes.shape)
    return [_wave(domain, held, counted) for held, counted in zip(codes.T, reported.T, strict=True)]


def _wave(domain: Domain, held: NDArray[np.int64], counted: NDArray[np.int64]) -> Frozen:
    shares = [np.bincount(column, minlength=domain.size) / len(held) for column in (held, counted)]
    bias = dict(zip(domain.labels, (shares[1] - shares[0]).tolist(), strict=True))
    return Frozen(float((held != counted).mean()), bias)
