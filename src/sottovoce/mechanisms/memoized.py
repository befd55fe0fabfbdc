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
from sottovoce.mechanisms.chain import few_buckets, numbered, parts
from sottovoce.mechanisms.chained import Chained
from sottovoce.mechanisms.cohorts import Cohorts
from sottovoce.mechanisms.hashed import Hashed
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.longitudinal import Memory, Step
from sottovoce.mechanisms.randomized_response import RandomizedResponse
from sottovoce.mechanisms.unary import Unary
from sottovoce.privacy import check_probability
from sottovoce.randomness import SYSTEM, Keystream, Source
from sottovoce.reports import Bits, Report

if TYPE_CHECKING:
    from numpy.typing import NDArray


Permanent = KRR | Unary | LocalHash | Hashed | Bloom
Instantaneous = KRR | Unary
KINDS: dict[str, Any] = {kind.name: kind for kind in (RandomizedResponse, KRR, Unary, LocalHash, Hashed, Bloom)}


@dataclass(frozen=True, init=False, repr=False)
class Memoized(Chained):
    """A permanent answer, drawn once for each value and remembered; every report is a fresh randomization of it.

    However often one value is reported, nobody learns more than the permanent answer, which costs `epsilon_forever`.
    One report costs `epsilon`, which is less. A value that comes back uses its old permanent answer again; a new value
    costs another `epsilon_forever`. When a value changes is *not* hidden: see `epsilon_pattern`.

    The permanent mechanism is `KRR`, `Unary` or `LocalHash` over listed values, or for texts `Hashed` over one of the
    first two or `Bloom`. The instantaneous one is `KRR` over the same values or buckets; or, where the permanent answer
    has a bit for each of them, `Unary`, whose p and q are then the probabilities that a bit which is 1 or 0 is sent as
    1. Where values are hashed, the device draws its cohort once, and an answer is kept for each bucket or set of bits.

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
    remembers: ClassVar[tuple[str, ...]] = ("cohort", "answers")
    permanent: Any
    instantaneous: Instantaneous

    def __new__(cls, permanent: object = None, instantaneous: object = None) -> Self:
        """Over listed values it is a frequency mechanism; over texts, estimates are for values that are named later."""
        from sottovoce.mechanisms.memoized_kinds import MemoizedTexts, MemoizedValues

        kind: Any = cls
        if cls is Memoized:
            kind = MemoizedTexts if isinstance(permanent, Cohorts) else MemoizedValues
        made: Self = object.__new__(kind)
        return made

    def __init__(self, permanent: Permanent, instantaneous: Instantaneous) -> None:
        if not isinstance(permanent, self._permanents):
            raise ParameterError(f"permanent must be one of {', '.join(KINDS)}, got {permanent!r:.60}")
        self._freeze(permanent=permanent, instantaneous=instantaneous)
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
        return cls(*parts(kind, domain, permanent, first, buckets, **hashing))

    @classmethod
    def rappor(
        cls,
        domain: int | Iterable[Label] | Domain | Text | None = None,
        *,
        f: float | Fraction,
        p: float | Fraction,
        q: float | Fraction,
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
            return cls(kept, Unary(kept.buckets, p=q, q=p))
        if filters:
            raise ParameterError(f"{min(filters)} is for texts; listed values have a bit each")
        return cls(Unary(domain, p=1 - half, q=half), Unary(domain, p=q, q=p))

    @classmethod
    def loloha(
        cls, domain: int | Iterable[Label] | Domain, *, permanent: float, first: float, kind: str = "optimal"
    ) -> Self:
        """Longitudinal local hashing: at most as many permanent answers as there are buckets, however many values.

        The binary kind has 2 buckets, and so the least to lose; the optimal kind has the least error.

        >>> m = Memoized.loloha(1000, permanent=2.0, first=1.0, kind="binary")
        >>> m.epsilon_after(changes=500) == 2 * m.epsilon_forever
        True

        H. H. Arcolezi, C. Pinzón, C. Palamidessi, S. Gambs, Frequency Estimation of Evolving Data Under Local
        Differential Privacy, EDBT 2023.
        """
        domain = Domain.of(domain)
        buckets = few_buckets(domain.size, first, kind)
        return cls.of(LocalHash.name, domain, permanent=permanent, first=first, buckets=buckets)

    # What a device does.

    def begin(self, source: Source = SYSTEM) -> Memory:
        return {"cohort": source.below(self.cohorts), "answers": {}}

    def _key(self, code: int, memory: Memory) -> str:
        """A value or a bucket; or the places of the bits that are set, in ascending order."""
        place = self._place(code, memory["cohort"])
        return ",".join(map(str, sorted(set(place)))) if isinstance(place, tuple) else str(place)

    def _step(self, code: int, memory: Memory, source: Source) -> Step:
        key, answers = self._key(code, memory), memory["answers"]
        known = key in answers
        place = self._place(code, memory["cohort"])
        kept = self._read(answers[key]) if known else self._inner._perturb(place, source)
        report = self._join(memory["cohort"], self._resend(kept, source))
        answers = answers | {key: kept.hex() if isinstance(kept, bytes) else kept}
        return Step(report, memory | {"answers": answers}, 0.0 if known else self.permanent.epsilon)

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
        places = self._place_many(codes.ravel(), cohorts.repeat(waves))
        numbers = numbered(places)
        each = np.arange(people).repeat(waves) * (int(numbers.max()) + 1) + numbers
        _, first, answer = np.unique(each, return_index=True, return_inverse=True)
        kept = self._inner._perturb_many(places[first], stream)
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

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Mechanism:
        names = {"permanent", "instantaneous"} & set(data)
        return super().from_dict(data | {name: _part(name, data[name]) for name in names})

    def __repr__(self) -> str:
        over = "texts" if isinstance(self.domain, Text) else f"{self.domain.size} values"
        costs = f"epsilon={self.epsilon:.6g} once, {self.epsilon_forever:.6g} forever"
        return f"Memoized({self.permanent.name}, {over}, {costs})"


def _part(name: str, data: object) -> Mechanism:
    kind = data.get("mechanism") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or kind not in KINDS:
        raise ParameterError(f"{name} must be one of {', '.join(KINDS)}, got {data!r:.80}")
    part: Mechanism = KINDS[kind].from_dict(dict(data))
    return part
