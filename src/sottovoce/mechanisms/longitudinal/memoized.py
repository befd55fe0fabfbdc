from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sottovoce.domain import Domain, Label, Text
from sottovoce.errors import ParameterError
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.bloom import Bloom, Filter
from sottovoce.mechanisms.chain import answers_sent, few_buckets, parts
from sottovoce.mechanisms.chained import Chained
from sottovoce.mechanisms.cohorts import Cohorts
from sottovoce.mechanisms.hashed import Hashed
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.longitudinal import Hide, Memory, Step, check_count
from sottovoce.mechanisms.randomized_response import RandomizedResponse
from sottovoce.mechanisms.unary import Unary
from sottovoce.privacy import check_probability
from sottovoce.randomness import SYSTEM, Keystream, Source
from sottovoce.reports import Bits, Report

if TYPE_CHECKING:
    from numpy.typing import NDArray


Permanent = KRR | Unary | LocalHash | Hashed | Bloom
Instantaneous = KRR | Unary
VERSION = 2
"""That of a memory. In the first version, which had no number, answers were kept for buckets."""
MAX_CHANGES = 2**20
KINDS: dict[str, Any] = {kind.name: kind for kind in (RandomizedResponse, KRR, Unary, LocalHash, Hashed, Bloom)}


@dataclass(frozen=True, init=False, repr=False)
class Memoized(Chained):
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

    >>> m = Memoized.of("unary", 10, permanent=3.0, first=1.0)
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
    remembers: ClassVar[tuple[str, ...]] = ("cohort", "answers", "last", "version")
    permanent: Any
    instantaneous: Instantaneous
    changes: int | None

    def __new__(cls, permanent: object = None, instantaneous: object = None, changes: int | None = None) -> Self:
        """Over listed values it is a frequency mechanism; over texts, estimates are for values that are named later."""
        from sottovoce.mechanisms.memoized_kinds import MemoizedTexts, MemoizedValues

        kind: Any = cls
        if cls is Memoized:
            kind = MemoizedTexts if isinstance(permanent, Cohorts) else MemoizedValues
        made: Self = object.__new__(kind)
        return made

    def __init__(self, permanent: Permanent, instantaneous: Instantaneous, changes: int | None = None) -> None:
        if not isinstance(permanent, self._permanents):
            raise ParameterError(f"permanent must be one of {', '.join(KINDS)}, got {permanent!r:.60}")
        if changes is not None and check_count("changes", changes, 0) > MAX_CHANGES:
            raise ParameterError(f"changes must be at most {MAX_CHANGES:,}, got {changes}")
        self._freeze(permanent=permanent, instantaneous=instantaneous, changes=changes)
        if not isinstance(self._inner, KRR | Unary | Filter):
            raise ParameterError(f"permanent must be hashed over krr or unary, got {permanent!r:.80}")
        kind, values = Unary if self._in_bits else KRR, self._inner.domain
        if not isinstance(instantaneous, kind) or instantaneous.domain != values:
            raise ParameterError(f"instantaneous must be {kind.name} over {values.size} values, got {instantaneous!r}")
        for part in (self._inner, instantaneous):
            if part.p <= part.q:
                raise ParameterError(f"p must be greater than q in both parts, got {part.p} and {part.q}")

    # Constructors.

    @classmethod
    def of(
        cls,
        kind: str,
        domain: int | Iterable[Label] | Domain | Text,
        *,
        permanent: float,
        first: float,
        buckets: int | None = None,
        changes: int | None = None,
        **hashing: Any,
    ) -> Self:
        """What costs at most `permanent` for any number of reports of one value, and at most `first` for one of them.

        A single wave is then as accurate as the same kind of mechanism with epsilon = `first`: for unary encoding this
        is the best pair of all (L-OSUE), for the others the chain of the two is the mechanism itself. Texts are of the
        kinds hashed (k-ary over a few buckets) and bloom; `hashing` is their `cohorts`, `salt` and `hashes`.

        >>> m = Memoized.of("krr", ["a", "b", "c"], permanent=2.0, first=1.0)
        >>> m.epsilon <= 1.0, m.epsilon_forever <= 2.0, abs(m.p - KRR(3, 1.0).p) < 1e-15
        (True, True, True)
        """
        return cls(*parts(kind, domain, permanent, first, buckets, **hashing), changes)

    @classmethod
    def rappor(
        cls,
        domain: int | Iterable[Label] | Domain | Text | None = None,
        *,
        f: float | Fraction,
        p: float | Fraction,
        q: float | Fraction,
        changes: int | None = None,
        **filters: Any,
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
            return cls(kept, Unary(kept.buckets, p=q, q=p), changes)
        if filters:
            raise ParameterError(f"{min(filters)} is for texts; listed values have a bit each")
        return cls(Unary(domain, p=1 - half, q=half), Unary(domain, p=q, q=p), changes)

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
        return cls.of(LocalHash.name, domain, permanent=permanent, first=first, buckets=buckets, changes=changes)

    # What a device does.

    def begin(self, source: Source = SYSTEM) -> Memory:
        return {"cohort": source.role("cohort").below(self.cohorts), "answers": {}, "last": None, "version": VERSION}

    def _checked(self, memory: object) -> Memory:
        """Until version 2, what was kept for a value stood under its place: for a hashed value, its bucket."""
        if isinstance(memory, dict) and set(memory) == {"cohort", "answers"}:
            if self._hashes_values or self.changes is not None:
                raise ParameterError(f"a memory of {self.name} must be of version {VERSION}, got one without a version")
            memory = memory | {"last": None, "version": VERSION}
        memory = super()._checked(memory)
        if memory["version"] != VERSION:
            raise ParameterError(
                f"a memory of {self.name} must be of version {VERSION}, got version {memory['version']!r:.40}"
            )
        answers, last = memory["answers"], memory["last"]
        if not isinstance(answers, dict) or (self.changes is not None and answers and last not in answers):
            raise ParameterError(f"a memory of {self.name} must say which of its answers is the last, got {last!r:.40}")
        return memory

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        """An answer is drawn in every wave and kept for a new value only, so that the work tells nothing of the value.

        What is sent is that of the value, if it has one or may have one; else it is the last one that was drawn.
        """
        name, answers, cohort = self._name(code), memory["answers"], memory["cohort"]
        key = hide(name)
        drawn = self._written(self._inner._perturb(self._place(code, cohort), source.role("permanent", name)))
        full = self.changes is not None and len(answers) > self.changes
        new, frozen = (key not in answers) & (not full), (key not in answers) & full
        kept = (answers | {key: answers.get(key, drawn)}, answers)[frozen]
        sent = self._read(kept[(key, memory["last"])[frozen]])
        report = self._join(cohort, self._resend(sent, source.role("instantaneous", name)))
        last, cost = (memory["last"], key)[new], (0.0, self.permanent.epsilon)[new]
        return Step(report, memory | {"answers": kept, "last": last}, cost)

    def _written(self, kept: Report) -> object:
        return kept.hex() if isinstance(kept, bytes) else kept

    def _read(self, kept: object) -> Report:
        report: Report = self._inner.shape.check(bytes.fromhex(kept) if isinstance(kept, str) else kept)
        return report

    def _resend(self, kept: Report, source: Source) -> Report:
        if not isinstance(kept, bytes):
            return self.instantaneous._perturb(kept, source)
        chances = (self.instantaneous.q, self.instantaneous.p)
        bits = (kept[place >> 3] >> (place & 7) & 1 for place in range(self._size))
        return Bits(self._size).of_bits(source.coins([chances[bit] for bit in bits]))

    # What a simulation does.

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[NDArray[Any]]:
        people, waves = codes.shape
        cohorts = stream.below(self.cohorts, people)
        first, answer = answers_sent(codes, self.changes)
        kept = self._inner._perturb_many(self._place_many(codes.ravel()[first], cohorts[first // waves]), stream)
        sent = (self._resend_many(kept[column], stream) for column in answer.reshape(codes.shape).T)
        return [self._join_many(cohorts, column) for column in sent]

    def _resend_many(self, kept: NDArray[Any], stream: Keystream) -> NDArray[Any]:
        if kept.ndim == 1:
            return self.instantaneous._perturb_many(kept, stream)
        chances = (self.instantaneous.p, self.instantaneous.q)
        ones, zeros = (stream.coin_rows(chance, np.empty_like(kept)) for chance in chances)
        sent: NDArray[Any] = kept & ones | ~kept & zeros
        Bits(self._size).trim(sent)
        return sent

    # What travels.

    def to_dict(self) -> dict[str, Any]:
        """Without a bound on changes there is no such field: what was written before there was one stays as it is."""
        return {name: value for name, value in super().to_dict().items() if value is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Mechanism:
        if data.get("changes", 0) is None:
            raise ParameterError("changes must be a whole number, or left out, got None")
        names = {"permanent", "instantaneous"} & set(data)
        return super().from_dict({"changes": None} | data | {name: _part(name, data[name]) for name in names})

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
