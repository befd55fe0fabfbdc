from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, log_above
from sottovoce.core.randomness import SYSTEM, Keystream, Source
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.randomized_response import TRUTH_VALUES
from sottovoce.mechanisms.longitudinal.base import Hide, Longitudinal, Memory, Step, check_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import EventShares, Result

COIN = Probability(1, 2)
MAX_WAVES = 2**20


@dataclass(frozen=True, init=False, repr=False)
class Changes(Longitudinal):
    """Yes or no over many waves, for answers that seldom change: when they change is hidden as well.

    Before the first wave everybody counts as holding the first of the two values. A device draws an order h in public,
    and in secret one of the `changes` that its value may make. At the end of every run of 2^h waves it says whether the
    value went up or down: truly with probability p if the drawn change fell into the run, otherwise by a fair coin. All
    reports of a device together cost `epsilon_forever`, whatever two histories are compared. Changes beyond the bound
    are not told. In the other waves a device sends a coin that nobody counts; report 2 h + s says up (s = 1) or down.

    One wave's tally estimates the net change over the last 1, 2, 4, ... waves, where its number is a multiple of those;
    `over_time` puts the tallies of all waves together.

    >>> m = Changes(waves=8, changes=2, epsilon=1.0)
    >>> round(m.epsilon_forever, 3), m.epsilon_forever == m.epsilon_pattern(8), round(m.epsilon, 3)
    (1.0, True, 0.263)

    Ú. Erlingsson, V. Feldman, I. Mironov, A. Raghunathan, K. Talwar, A. Thakurta, Amplification by Shuffling: From
    Local to Central Differential Privacy via Anonymity, SODA 2019.
    """

    name: ClassVar[str] = "changes"
    remembers: ClassVar[tuple[str, ...]] = ("order", "kept", "wave", "value", "changes", "sign")
    domain: Domain
    waves: int
    changes: int
    p: Probability

    if TYPE_CHECKING:

        def tally(self) -> Tally[EventShares]: ...

    def __init__(
        self,
        waves: int,
        changes: int = 1,
        epsilon: float | None = None,
        *,
        p: float | Fraction | None = None,
        domain: Iterable[Label] | Domain = TRUTH_VALUES,
    ) -> None:
        domain = Domain.of(domain)
        if domain.size != 2:
            raise ParameterError(f"changes are told of 2 values, got {domain.size}")
        if check_count("waves", waves, 2) > MAX_WAVES:
            raise ParameterError(f"waves must be at most 2^20, got {waves}")
        if check_count("changes", changes, 1) > waves:
            raise ParameterError(f"changes must be at most the number of waves, {waves}, got {changes}")
        self._freeze(domain=domain, waves=waves, changes=changes, p=KRR(2, epsilon, p=p).p)
        if self.p < COIN:
            raise ParameterError(f"p must be greater than 1/2, got {self.p}")

    @property
    def orders(self) -> int:
        """How many orders there are: runs of 1, 2, 4, ... waves, up to the longest that fits."""
        return self.waves.bit_length()

    # What it costs.

    @cached_property
    def epsilon(self) -> float:
        """That of the first report: it tells of a change only if the order is 0 and the drawn change is the first."""
        return log_above(COIN / (1 - self._up))

    @property
    def _up(self) -> Fraction:
        """The probability that the first report says up, if the value changed at once and the order is 0."""
        return (self.p - COIN) / self.changes + COIN

    @cached_property
    def epsilon_forever(self) -> float:
        return log_above(self.p / (1 - self.p))

    def epsilon_after(self, changes: int) -> float:
        """The same for any number of changes: what is beyond the bound is not told."""
        check_count("changes", changes, 0)
        return self.epsilon_forever

    def epsilon_over(self, reports: int, changes: int = 0) -> float:
        return self.epsilon_after(changes) if check_count("reports", reports, 1) > 1 else self.epsilon

    def epsilon_pattern(self, reports: int) -> float:
        return self.epsilon_over(reports)

    # What a device does.

    @property
    def shape(self) -> Index:
        return Index(2 * self.orders)

    def _law(self, code: int) -> dict[Report, Fraction]:
        up = self._up if code else Fraction(COIN)
        law: dict[Report, Fraction] = {0: (1 - up) / self.orders, 1: up / self.orders}
        return law | {report: Fraction(1, 2 * self.orders) for report in range(2, 2 * self.orders)}

    def begin(self, source: Source = SYSTEM) -> Memory:
        source = source.role("cohort")
        drawn = {"order": source.below(self.orders), "kept": 1 + source.below(self.changes)}
        return drawn | {"wave": 0, "value": 0, "changes": 0, "sign": 0}

    def step(
        self,
        value: object,
        memory: Memory,
        source: Source = SYSTEM,
        wave: int | None = None,
        hide: Hide | None = None,
    ) -> Step:
        """One wave; those that were skipped before it count as waves in which nothing changed and nothing was sent.

        No answer is kept under the name of a value, so that there is nothing to hide.
        """
        made = super().step(value, self._caught_up(self._checked(memory), wave), source)
        return made if memory["wave"] else replace(made, epsilon=self.epsilon_forever)

    def _caught_up(self, memory: Memory, wave: int | None) -> Memory:
        """The memory at the beginning of a wave. A change whose run ended meanwhile is not told any more."""
        over = memory["wave"]
        if wave is None or check_count("wave", wave, 0) == over:
            return memory
        if wave < over:
            raise ParameterError(f"waves must come in their order: {over} are over, got wave {wave} (from 0 on)")
        missed = wave >> memory["order"] > over >> memory["order"]
        return memory | {"wave": wave, "sign": 0 if missed else memory["sign"]}

    @cached_property
    def _chances(self) -> tuple[Probability, Probability, Probability]:
        """How often "up" is said: of no change, of a change up, and of one down, which is the last."""
        return COIN, self.p, Probability(1 - self.p)

    def _step(self, code: int, memory: Memory, source: Source, hide: Hide) -> Step:
        wave, changed = memory["wave"] + 1, code - memory["value"]
        if wave > self.waves:
            raise ParameterError(f"the mechanism is for {self.waves} waves, and all of them are over")
        changes = memory["changes"] + abs(changed)
        sign = (memory["sign"], changed)[(changed != 0) & (changes == memory["kept"])]
        ends = wave % (1 << memory["order"]) == 0
        up = source.role("instantaneous", code).bernoulli(self._chances[sign * ends])
        kept = {"wave": wave, "value": code, "changes": changes, "sign": (sign, 0)[ends]}
        cost = self.epsilon_forever if wave == 1 else 0.0
        return Step(2 * memory["order"] + up, memory | kept, cost)

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        people, waves = codes.shape
        if waves > self.waves:
            raise ParameterError(f"the mechanism is for {self.waves} waves, got {waves}")
        order, kept = stream.below(self.orders, people), 1 + stream.below(self.changes, people)
        changed = np.diff(codes, axis=1, prepend=0)
        told = changed * (np.cumsum(changed != 0, axis=1) == kept[:, None])
        level = np.concatenate([np.zeros((people, 1), dtype=np.int64), np.cumsum(told, axis=1)], axis=1)
        reports: list[ReportArray] = []
        for wave in range(1, waves + 1):
            start = np.maximum(wave - (1 << order), 0)
            sign = (level[:, wave] - level[np.arange(people), start]) * (wave % (1 << order) == 0)
            truth, coin = stream.bernoulli(self.p, people), stream.bernoulli(COIN, people)
            reports.append(2 * order + np.where(sign != 0, (sign > 0) == truth, coin))
        return reports

    # What a collector does.

    @property
    def cells(self) -> int:
        return 2 * self.orders

    @property
    def _shrinkage(self) -> float:
        """What is left of a change in the mean of the signs: (2p - 1) / changes."""
        return float((2 * self.p - 1) / self.changes)

    def _net(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each order the net change over a run that ends now, and its variance about the population.

        What nobody has told is taken as no change, give or take one.
        """
        counts = cells.reshape(-1, 2)
        told = counts.sum(axis=1)
        mean = (counts[:, 1] - counts[:, 0]) / np.maximum(told, 1)
        change, most = mean / self._shrinkage, np.minimum(np.abs(mean), self._shrinkage)
        variance = (1 - most**2) / (np.maximum(told, 1) * self._shrinkage**2)
        return np.where(told > 0, change, 0.0), np.where(told > 0, variance, 1.0)

    def _estimate(self, tally: Tally[Result]) -> EventShares:
        from sottovoce.estimates import EventShares
        from sottovoce.estimates.render import plural

        change, variance = self._net(tally.cells)
        labels = [f"change over {plural(1 << order, 'wave')}" for order in range(self.orders)]
        least = np.abs(change.clip(-1, 1)) * (1 - np.abs(change.clip(-1, 1))) / tally.n
        return EventShares(labels, change, variance, least, tally.n, self.epsilon_forever, tally.simulated)

    def over_time(self, tallies: Sequence[Tally[EventShares]]) -> EventShares:
        """The share of the second value in each wave, from the tallies of all waves up to then, in their order."""
        from sottovoce.estimates import EventShares

        if not tallies or len(tallies) > self.waves or any(tally.mechanism != self for tally in tallies):
            raise ParameterError(f"over_time needs a tally of this mechanism for each wave, at most {self.waves}")
        told = [self._net(tally.cells) for tally in tallies]
        sums = np.array([[sum(told[end - 1][part][order] for order, end in _runs(wave)) for part in (0, 1)]
                         for wave in range(1, len(tallies) + 1)])  # fmt: skip
        share, n = sums[:, 0].clip(0, 1), np.array([max(tally.n, 1) for tally in tallies])
        labels, simulated = list(range(1, len(tallies) + 1)), any(tally.simulated for tally in tallies)
        sampling = share * (1 - share) / n
        return EventShares(labels, sums[:, 0], sums[:, 1], sampling, int(n.max()), self.epsilon_forever, simulated)

    def __repr__(self) -> str:
        return f"Changes({self.waves} waves, {self.changes} changes, epsilon={self.epsilon_forever:.6g} forever)"


def _runs(wave: int) -> list[tuple[int, int]]:
    """The runs that make up the waves up to this one, by its binary digits: the order of each, and where it ends."""
    runs = []
    while wave:
        order = (wave & -wave).bit_length() - 1
        runs.append((order, wave))
        wave -= 1 << order
    return runs
