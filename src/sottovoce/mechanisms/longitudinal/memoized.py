"""Memoization: a permanent answer, drawn once for each value and remembered, of which every report tells a little.

`Memoized` is what listed values and texts have in common, and its constructors make one of the two classes of
`memoized_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, Unpack

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Label, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_probability
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash
from sottovoce.mechanisms.frequency.randomized_response import RandomizedResponse
from sottovoce.mechanisms.frequency.unary import Unary
from sottovoce.mechanisms.longitudinal.base import check_count
from sottovoce.mechanisms.longitudinal.memoized_design import (
    FilterOptions,
    HashingOptions,
    Instantaneous,
    Permanent,
    few_buckets,
    pair_costing,
)
from sottovoce.mechanisms.longitudinal.permanent_answers import PermanentAnswers
from sottovoce.mechanisms.text.bloom import Bloom
from sottovoce.mechanisms.text.cohorts import Cohorts
from sottovoce.mechanisms.text.hashed import Hashed

Values = int | Iterable[Label] | Domain | Text | None
MAX_CHANGES = 2**20
KINDS: dict[str, type[Mechanism]] = {
    kind.name: kind for kind in (RandomizedResponse, KRR, Unary, LocalHash, Hashed, Bloom)
}


@dataclass(frozen=True, init=False, repr=False)
class Memoized(PermanentAnswers):
    """A permanent answer, drawn once for each value and remembered; every report is a fresh randomization of it.

    However often one value is reported, nobody learns more than the permanent answer, which costs `epsilon_forever`.
    One report costs `epsilon`, which is less. A value that comes back uses its old permanent answer again; a new value
    costs another `epsilon_forever`. When a value changes is *not* hidden: see `epsilon_pattern`.

    With a bound on `changes`, a device draws at most `changes` + 1 permanent answers. For any further value it sends
    the last one that it drew, which costs nothing, and which is about an earlier value: estimates are then biased.

    The permanent mechanism is `KRR`, `Unary` or `LocalHash` over listed values, or for texts `Hashed` over one of the
    first two or `Bloom`. The instantaneous one is `KRR` over the same values or buckets; or, where the permanent answer
    has a bit for each of them, `Unary`, whose p and q are then the probabilities that a bit which is 1 or 0 is sent as
    1. Where values are hashed, the device draws its cohort once. An answer is kept for each value all the same: values
    that share a bucket have independent answers.

    >>> m = Memoized.of(10, "unary", permanent=3.0, first=1.0)
    >>> [round(e, 3) for e in (m.epsilon, m.epsilon_over(3), m.epsilon_forever, m.epsilon_after(changes=2))]
    [1.0, 2.481, 3.0, 9.0]
    >>> memory = m.begin()
    >>> step = m.step(7, memory)
    >>> again = m.step(7, step.memory)
    >>> again.memory == step.memory, again.epsilon
    (True, 0.0)

    Ú. Erlingsson, V. Pihur, A. Korolova, RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response, CCS 2014.
    H. H. Arcolezi, J.-F. Couchot, B. Al Bouna, X. Xiao, Improving the Utility of Locally Differentially Private
    Protocols for Longitudinal and Multidimensional Frequency Estimates, Digital Communications and Networks 2022.
    """

    name: ClassVar[str] = "memoized"
    permanent: Permanent
    instantaneous: Instantaneous
    changes: int | None

    permanents: ClassVar[tuple[type[Mechanism], ...]]
    """The classes that its permanent mechanism may have."""

    def __init__(self, permanent: Permanent, instantaneous: Instantaneous, changes: int | None = None) -> None:
        if not isinstance(permanent, self.permanents):
            raise ParameterError(f"permanent must be one of {', '.join(KINDS)}, got {permanent!r:.60}")
        if changes is not None and check_count("changes", changes, 0) > MAX_CHANGES:
            raise ParameterError(f"changes must be at most {MAX_CHANGES:,}, got {changes}")
        self._freeze(permanent=permanent, instantaneous=instantaneous, changes=changes)
        kind, values = Unary if self._chain.in_bits else KRR, self._where.inner.domain
        if not isinstance(instantaneous, kind) or instantaneous.domain != values:
            raise ParameterError(f"instantaneous must be {kind.name} over {values.size} values, got {instantaneous!r}")
        for part in (self._where.inner, instantaneous):
            if part.p <= part.q:
                raise ParameterError(f"p must be greater than q in both parts, got {part.p} and {part.q}")

    # Constructors.

    @classmethod
    def pair(cls, permanent: Permanent, instantaneous: Instantaneous, changes: int | None = None) -> Self:
        """From two mechanisms: a `MemoizedTexts` if the permanent one is over texts, else a `MemoizedValues`.

        They differ in type: one has `Cohorts` over `Text`, the other is a `Pure` frequency mechanism over a `Domain`.

        >>> Memoized.pair(KRR(3, 2.0), KRR(3, 2.0))
        Memoized(krr, 3 values, epsilon=1.27735 once, 2 forever)
        """
        from sottovoce.mechanisms.longitudinal.memoized_kinds import MemoizedTexts, MemoizedValues

        kinds: Any = {True: MemoizedTexts, False: MemoizedValues}
        kind = kinds[isinstance(permanent, Cohorts)] if cls is Memoized else cls
        made: Self = kind(permanent, instantaneous, changes)
        return made

    @classmethod
    def of(
        cls,
        domain: Values,
        kind: str,
        *,
        permanent: float,
        first: float,
        buckets: int | None = None,
        changes: int | None = None,
        **hashing: Unpack[HashingOptions],
    ) -> Self:
        """What costs at most `permanent` for any number of reports of one value, and at most `first` for one of them.

        A single wave is then as accurate as the same kind of mechanism with epsilon = `first`: for unary encoding this
        is the best pair of all (L-OSUE), for the others the chain of the two is the mechanism itself. Texts are of the
        kinds hashed (k-ary over a few buckets) and bloom; `hashing` is their `cohorts`, `salt` and `hashes`.

        >>> m = Memoized.of(["a", "b", "c"], "krr", permanent=2.0, first=1.0)
        >>> m.epsilon <= 1.0, m.epsilon_forever <= 2.0, abs(m.p - KRR(3, 1.0).p) < 1e-15
        (True, True, True)
        """
        return cls.pair(*pair_costing(kind, domain, permanent, first, buckets, **hashing), changes)

    @classmethod
    def rappor(
        cls,
        domain: Values = None,
        *,
        f: float | Fraction,
        p: float | Fraction,
        q: float | Fraction,
        changes: int | None = None,
        **filters: Unpack[FilterOptions],
    ) -> Self:
        """RAPPOR by its own parameters: a Bloom filter of a text, or with a list of values one bit for each of them.

        A permanent bit is a fair coin with probability f and the truth otherwise. It is sent as 1 with probability q if
        it is 1 and with probability p if it is 0. Filters have `bits`, `hashes`, `cohorts` and a `salt`.

        >>> m = Memoized.rappor(f=0.5, p=0.5, q=0.75, bits=128, hashes=2, cohorts=8)
        >>> round(m.epsilon, 4), round(m.epsilon_forever, 4)  # as published; the latter is 4 ln 3
        (1.0743, 4.3944)
        >>> m = Memoized.rappor(8, f=0.5, p=0.5, q=0.75)
        >>> round(m.epsilon, 4), round(m.epsilon_forever, 4)
        (0.5371, 2.1972)
        """
        half = check_probability("f", f) / 2
        if domain is None or isinstance(domain, Text):
            kept = Bloom.rappor(f=f, domain=domain, **filters)
            return cls.pair(kept, Unary(kept.buckets, p=q, q=p), changes)
        if filters:
            raise ParameterError(f"{min(filters)} is for texts; listed values have a bit each")
        return cls.pair(Unary(domain, p=1 - half, q=half), Unary(domain, p=q, q=p), changes)

    @classmethod
    def loloha(
        cls,
        domain: int | Iterable[Label] | Domain,
        *,
        permanent: float,
        first: float,
        kind: str = "optimal",
        changes: int | None = None,
    ) -> Self:
        """Longitudinal local hashing: short reports, however many values there are.

        The binary kind has 2 buckets and the shortest reports; the optimal kind has the least error. The paper keeps
        an answer for each bucket and charges at most as many as there are. That does not bound what is lost: in a
        public cohort, whether two values share a bucket shows. So here an answer is kept, and charged, for each value.

        >>> m = Memoized.loloha(1000, permanent=2.0, first=1.0, kind="binary")
        >>> m.epsilon_after(changes=500) == 501 * m.epsilon_forever
        True
        >>> m = Memoized.loloha(1000, permanent=2.0, first=1.0, kind="binary", changes=1)
        >>> m.epsilon_after(changes=500) == 2 * m.epsilon_forever
        True

        H. H. Arcolezi, C. Pinzón, C. Palamidessi, S. Gambs, Frequency Estimation of Evolving Data Under Local
        Differential Privacy, EDBT 2023.
        """
        domain = Domain.of(domain)
        buckets = few_buckets(domain.size, first, kind)
        return cls.of(domain, LocalHash.name, permanent=permanent, first=first, buckets=buckets, changes=changes)

    # What travels.

    def to_dict(self) -> JsonObject:
        """Without a bound on changes there is no such field: what was written before there was one stays as it is."""
        return {name: value for name, value in super().to_dict().items() if value is not None}

    @classmethod
    def from_dict(cls, data: JsonObject) -> Mechanism:
        if data.get("changes", 0) is None:
            raise ParameterError("changes must be a whole number, or left out, got None")
        names = {"permanent", "instantaneous"} & set(data)
        return super().from_dict({"changes": None} | data | {name: _part(name, data[name]) for name in names})

    @classmethod
    def _assemble(cls, **parameters: Any) -> Mechanism:
        return cls.pair(**parameters)

    def __repr__(self) -> str:
        over = "texts" if isinstance(self.domain, Text) else f"{self.domain.size} values"
        costs = f"epsilon={self.epsilon:.6g} once, {self.epsilon_forever:.6g} forever"
        bound = "" if self.changes is None else f", changes={self.changes}"
        return f"Memoized({self.permanent.name}, {over}, {costs}{bound})"


def _part(name: str, data: object) -> Mechanism:
    kind = data.get("mechanism") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or kind not in KINDS:
        raise ParameterError(f"{name} must be one of {', '.join(KINDS)}, got {data!r:.80}")
    part: Mechanism = KINDS[kind].from_dict(dict(data))
    return part
