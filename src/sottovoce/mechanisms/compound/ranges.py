from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.domain.attributes import Codes
from sottovoce.core.errors import ParameterError
from sottovoce.core.geometry import NOT_SMALL
from sottovoce.core.privacy import check_epsilon
from sottovoce.estimates.tree import Tree
from sottovoce.mechanisms.compound.combine import Combined, Mixture, Part, better, check_parts

if TYPE_CHECKING:
    from sottovoce.estimates import Result
    from sottovoce.estimates.range_estimate import RangeEstimate
    from sottovoce.estimates.tally import Tally

MAX_FANOUT = 64


@dataclass(frozen=True, init=False, repr=False)
class Ranges(Combined):
    """Ranges and quantiles of an ordered domain: each device reports its node in one level of a tree.

    Neighbouring values are grouped by `fanout`, the groups again, up to a root. A device draws a level and tells its
    node there by the better of `KRR` and `LocalHash`. A range is the sum of a few nodes of each level, so that its
    error grows with the logarithm of the domain and not with the length of the range.

    >>> m = Ranges(1024, epsilon=1.0)
    >>> m.fanout, m.parts
    (4, (KRR(4 values, epsilon=1), LocalHash(16 values, epsilon=1), LocalHash(64 values, epsilon=1), \
LocalHash(256 values, epsilon=1), LocalHash(1024 values, epsilon=1)))
    >>> e = m.tally().add_many(m.randomize_many([300] * 5000 + [700] * 5000, seed=1)).estimate()
    >>> row = e.range(256, 511)
    >>> round(row.frequency, 2), round(row.stderr, 2), e.quantile(0.25).label
    (0.48, 0.03, 300)

    G. Cormode, T. Kulkarni, D. Srivastava, Answering Range Queries under Local Differential Privacy, VLDB 2019.
    """

    name: ClassVar[str] = "ranges"
    question_kinds: ClassVar[tuple[str, ...]] = ("ordered",)
    domain: Domain
    fanout: int
    parts: tuple[Part, ...]

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        fanout: int | None = None,
        *,
        parts: Sequence[Part] | None = None,
    ) -> None:
        domain = Domain.of(domain)
        fanout = best_fanout(domain.size) if fanout is None else fanout
        if type(fanout) is not int or not 2 <= fanout <= domain.size:
            raise ParameterError(f"fanout must be a whole number from 2 to the {domain.size} values, got {fanout!r}")
        if (epsilon is None) == (parts is None):
            raise ParameterError("give either epsilon or parts")
        sizes = Tree(domain.size, fanout).sizes
        if parts is None:
            parts = [better(size, check_epsilon(epsilon)) for size in sizes]
        self._freeze(domain=domain, fanout=fanout, parts=check_parts(parts, sizes))

    if TYPE_CHECKING:

        def tally(self) -> Tally[RangeEstimate]: ...

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.domain.size, self.fanout)

    @cached_property
    def _combination(self) -> Mixture:
        return Mixture(self.parts)

    def _questions(self, code: Codes) -> list[Codes]:
        return [code // width for width in self.tree.widths]

    def _questions_of_one(self, code: int) -> list[int]:
        longer = NOT_SMALL * max(self.tree.widths)  # The numbers divided are as long for all answers.
        return [(code + longer) // width - longer // width for width in self.tree.widths]

    def _estimate(self, tally: Tally[Result]) -> RangeEstimate:
        from sottovoce.estimates.part_evidence import Evidence
        from sottovoce.estimates.range_estimate import RangeEstimate

        cells = self._combination.slices(tally.cells)
        evidence = tuple(Evidence(part, own) for part, own in zip(self.parts, cells, strict=True))
        return RangeEstimate(self.domain, self.tree, evidence, tally.n, self.epsilon, tally.simulated)


def best_fanout(size: int) -> int:
    """The fanout b of least error: with h levels, that of a range is near h (b - 1) nodes, each from n / h reports.

    >>> [best_fanout(size) for size in (2, 10, 64, 100, 1000, 10**6)]
    [2, 10, 4, 5, 4, 4]
    """
    return min(range(2, min(size, MAX_FANOUT) + 1), key=lambda b: len(Tree(size, b).sizes) ** 2 * (b - 1))
