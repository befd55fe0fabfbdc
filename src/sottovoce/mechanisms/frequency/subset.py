from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels.rows import put, resize
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability, check_epsilon, check_probability, exp_below, log_above, round_down
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Bits, Index, Report, ReportArray
from sottovoce.mechanisms.frequency.combinations import Combinations, sample, sample_many
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LISTED_ENTRIES = 2**20
"""Values times sets, up to which columns draw a set by its place in a list of all of them."""


@dataclass(frozen=True, init=False, repr=False)
class Subset(Pure):
    """Subset selection: a random set of `size` values, more likely one that holds the true value.

    With about D / (e^epsilon + 1) values in a set its variance is the least possible. A report is the number of a set,
    or a bit for each value where there are too many sets to number.

    >>> m = Subset(16, epsilon=1.0)
    >>> m.size, m.bits, round(m.variance, 3)
    (4, 11, 3.186)

    M. Ye, A. Barg, Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy, IEEE
    Transactions on Information Theory 2018.
    """

    name: ClassVar[str] = "subset"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no", "choice")
    domain: Domain
    size: int
    p: Probability

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        *,
        size: int | None = None,
        p: float | Fraction | None = None,
    ) -> None:
        domain = Domain.of(domain)
        if (epsilon is None) == (p is None) or (p is not None and size is None):
            raise ParameterError("give either epsilon or both size and p")
        if size is None:
            size = _best_size(domain.size, check_epsilon(epsilon))
        if type(size) is not int or not 1 <= size < domain.size:
            raise ParameterError(f"size must be a whole number from 1 to {domain.size - 1}, got {size!r}")
        odds = exp_below(check_epsilon(epsilon)) * size if epsilon is not None else Fraction(0)
        truth = odds / (odds + domain.size - size) if p is None else check_probability("p", p)
        self._freeze(domain=domain, size=size, p=round_down(truth))
        if self.p <= self.q:
            raise ParameterError(f"p must be greater than q, got p = {self.p} and q = {self.q}")

    @cached_property
    def q(self) -> Probability:
        return Probability((self.size - self.p) / (self.domain.size - 1))

    @cached_property
    def epsilon(self) -> float:
        return log_above(self.p * (self.domain.size - self.size) / ((1 - self.p) * self.size))

    @cached_property
    def shape(self) -> Index | Bits:
        """A set's number among all sets of its size, where it has at most 53 bits; otherwise a bit for each value."""
        D, k = self.domain.size, self.size
        if 2 * k <= D and k * math.log2(D / k) <= 53 and math.comb(D, k) <= GRID:  # There are at least (D/k)^k sets.
            return Index(math.comb(D, k))
        return Bits(D)

    @property
    def cells(self) -> int:
        return self.domain.size

    @property
    def marks(self) -> int:
        return self.size

    def supports(self, report: Report) -> Iterable[int]:
        if isinstance(self.shape, Index):
            return self._sets.members(self.shape.check(report))
        bits = int.from_bytes(self.shape.check(report), "little")
        return tuple(code for code in range(self.domain.size) if bits >> code & 1)

    def _law(self, code: int) -> dict[Report, Fraction]:
        D, k = self.domain.size, self.size
        with_it, without = self.p / math.comb(D - 1, k - 1), (1 - self.p) / math.comb(D - 1, k)
        return {self._pack(held): with_it if code in held else without for held in combinations(range(D), k)}

    @cached_property
    def _sets(self) -> Combinations:
        return Combinations(self.domain.size, self.size)

    def _pack(self, held: Iterable[int]) -> Report:
        if isinstance(self.shape, Index):
            return self._sets.number(held)
        return self.shape.pack(held)

    def _perturb(self, code: int, source: Source) -> Report:
        # A set of others, one of which makes room for the true value or not. The others come in random order, and the
        # place is random: so the order of the members, on which the time to sort them depends, says nothing.
        truth, others = source.bernoulli(self.p), sample(self.domain.size - 1, self.size, source)
        held, place = [other + (other >= code) for other in others], source.below(self.size)
        held[place] = (held[place], code)[truth]
        return self._pack(held)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        truth = stream.bernoulli(self.p, codes.size)
        if isinstance(self.shape, Bits):
            _bit_sets(self.shape, codes, self.size - truth, truth, stream, out.view(np.uint8))
        elif self._sets.count * self.domain.size <= MAX_LISTED_ENTRIES:
            held = math.comb(self.domain.size - 1, self.size - 1)
            with_it, without = stream.below(held, codes.size), stream.below(self._sets.count - held, codes.size)
            out[:] = self._listed[codes, np.where(truth, with_it, held + without)]
        else:
            out[:] = self._sets.number_many(self._members(codes, truth, stream))

    def _members(self, codes: NDArray[np.int64], truth: NDArray[np.bool_], stream: Keystream) -> NDArray[np.int64]:
        """Rows of members, in ascending order."""
        members = np.empty((codes.size, self.size), dtype=np.int64)
        for holds in (True, False):
            each = np.flatnonzero(truth == holds)
            others = sample_many(self.domain.size - 1, self.size - holds, each.size, stream)
            members[each, : self.size - holds] = others + (others >= codes[each, None])
            members[each, self.size - holds :] = codes[each, None]
        members.sort(axis=1)
        return members

    @cached_property
    def _listed(self) -> NDArray[np.int64]:
        """For each value the numbers of all sets, those that hold it first."""
        holds = np.zeros((self.domain.size, self._sets.count), dtype=np.bool_)
        for member in self._sets.members_many(np.arange(self._sets.count)):
            holds[member, np.arange(self._sets.count)] = True
        return np.argsort(~holds, axis=1, kind="stable")

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        return self.shape.sums(data) if isinstance(self.shape, Bits) else super()._count(data)

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        return self._sets.members_many(data.astype(np.int64))

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return cells


def _bit_sets(
    shape: Bits, codes: NDArray[np.int64], others: NDArray[np.int64], truth: NDArray[np.bool_],
    stream: Keystream, rows: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Rows of bits: so many other values come into each, and the true one or not.

    Toss a coin for each value, then toggle random values until the set has its size. Coins of one probability favour no
    value over another, nor does the toggling, so that every set of the right size is as likely as any other.
    """
    stream.coin_rows(round_down(Fraction(int(others.max()), shape.length)), rows)
    shape.trim(rows)
    put(rows, codes, np.zeros(codes.size, dtype=bool))
    resize(stream.lent, rows, codes, others, shape.length)
    put(rows, codes, truth)


def _best_size(values: int, epsilon: float) -> int:
    """The better of the two sizes next to D / (e^epsilon + 1)."""
    ideal = values / (math.exp(epsilon) + 1)
    return min({max(1, math.floor(ideal)), max(1, math.ceil(ideal))}, key=lambda k: least_variance(values, epsilon, k))


def least_variance(values: int, epsilon: float, size: int | None = None) -> float:
    """The closed form of the variance, times n: the least possible, for the best size."""
    k = size or _best_size(values, epsilon)
    p = k * math.exp(epsilon) / (k * math.exp(epsilon) + values - k)
    q = (k - p) / (values - 1)
    if p <= q:
        return math.inf
    return (q * (1 - q) + (p * (1 - p) - q * (1 - q)) / values) / (p - q) ** 2
