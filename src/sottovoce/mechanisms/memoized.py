from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.domain import Domain, Label
from sottovoce.errors import ParameterError
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms import chain
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.longitudinal import Longitudinal, Memory, Step, check_count
from sottovoce.mechanisms.pure import Pure
from sottovoce.mechanisms.randomized_response import RandomizedResponse
from sottovoce.mechanisms.unary import Unary
from sottovoce.privacy import Probability, check_probability, float_above, log_above
from sottovoce.randomness import SYSTEM, Keystream, Source
from sottovoce.reports import Bits, Index, Report

if TYPE_CHECKING:
    from numpy.typing import NDArray

Permanent = KRR | Unary | LocalHash
Instantaneous = KRR | Unary
KINDS: dict[str, type[Permanent]] = {kind.name: kind for kind in (RandomizedResponse, KRR, Unary, LocalHash)}


@dataclass(frozen=True, init=False, repr=False)
class Memoized(Longitudinal, Pure):
    """A permanent answer, drawn once for each value and remembered; every report is a fresh randomization of it.

    However often one value is reported, nobody learns more than the permanent answer, which costs `epsilon_forever`.
    One report costs `epsilon`, which is less. A value that comes back uses its old permanent answer again; a new value
    costs another `epsilon_forever`. When a value changes is *not* hidden: see `epsilon_pattern`.

    The permanent mechanism is `KRR`, `Unary` or `LocalHash`. The instantaneous one is `KRR` over the same values (for
    local hashing over the buckets; the cohort is drawn once, and the permanent answer is kept for each bucket), or for
    unary encoding `Unary`, whose p and q are then the probabilities that a bit which is 1 or 0 is sent as 1.

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
    permanent: Permanent
    instantaneous: Instantaneous

    def __init__(self, permanent: Permanent, instantaneous: Instantaneous) -> None:
        if not isinstance(permanent, Permanent):
            raise ParameterError(f"permanent must be one of {', '.join(KINDS)}, got {permanent!r:.60}")
        self._freeze(permanent=permanent, instantaneous=instantaneous)
        kind, values = (Unary, permanent.domain) if isinstance(permanent, Unary) else (KRR, self._inner.domain)
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
        domain: int | Iterable[Label] | Domain,
        *,
        permanent: float,
        first: float,
        buckets: int | None = None,
    ) -> Memoized:
        """What costs at most `permanent` for any number of reports of one value, and at most `first` for one of them.

        A single wave is then as accurate as the same kind of mechanism with epsilon = `first`: for unary encoding this
        is the best pair of all (L-OSUE), for the others the chain of the two is the mechanism itself.

        >>> m = Memoized.of("krr", ["a", "b", "c"], permanent=2.0, first=1.0)
        >>> m.epsilon <= 1.0, m.epsilon_forever <= 2.0, abs(m.p - KRR(3, 1.0).p) < 1e-15
        (True, True, True)
        """
        return cls(*chain.parts(kind, Domain.of(domain), permanent, first, buckets))

    @classmethod
    def rappor(
        cls, domain: int | Iterable[Label] | Domain, f: float | Fraction, p: float | Fraction, q: float | Fraction
    ) -> Memoized:
        """Basic RAPPOR by its own parameters: one bit for each value, no Bloom filter.

        A permanent bit is a fair coin with probability f and the truth otherwise. It is sent as 1 with probability q if
        it is 1 and with probability p if it is 0.

        >>> m = Memoized.rappor(8, f=0.5, p=0.5, q=0.75)
        >>> round(m.epsilon, 4), round(m.epsilon_forever, 4)  # The latter is 2 ln 3.
        (0.5371, 2.1972)
        """
        half = check_probability("f", f) / 2
        return cls(Unary(domain, p=1 - half, q=half), Unary(domain, p=q, q=p))

    @classmethod
    def loloha(
        cls, domain: int | Iterable[Label] | Domain, *, permanent: float, first: float, kind: str = "optimal"
    ) -> Memoized:
        """Longitudinal local hashing: at most as many permanent answers as there are buckets, however many values.

        The binary kind has 2 buckets, and so the least to lose; the optimal kind has the least error.

        >>> m = Memoized.loloha(1000, permanent=2.0, first=1.0, kind="binary")
        >>> m.epsilon_after(changes=500) == 2 * m.epsilon_forever
        True

        H. H. Arcolezi, C. Pinzón, C. Palamidessi, S. Gambs, Frequency Estimation of Evolving Data Under Local
        Differential Privacy, EDBT 2023.
        """
        domain = Domain.of(domain)
        buckets = chain.buckets(domain.size, first, kind)
        return cls.of(LocalHash.name, domain, permanent=permanent, first=first, buckets=buckets)

    # The chain of the two.

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return self.permanent.domain

    @cached_property
    def _inner(self) -> KRR | Unary:
        """What is memoized: the answer, or for local hashing its bucket."""
        return self.permanent._bucket_response if isinstance(self.permanent, LocalHash) else self.permanent

    @cached_property
    def p(self) -> Probability:
        return self._sent(self.permanent.p)

    @cached_property
    def q(self) -> Probability:
        return self._sent(self.permanent.q)

    def _sent(self, permanent: Fraction) -> Probability:
        """The probability of a support, if the permanent answer supports with this probability."""
        return Probability(permanent * self.instantaneous.p + (1 - permanent) * self.instantaneous.q)

    # What it costs.

    @cached_property
    def epsilon(self) -> float:
        return self.epsilon_over(1)

    def epsilon_after(self, changes: int) -> float:
        return float_above(self._answers(changes) * Fraction(self.permanent.epsilon))

    def epsilon_over(self, reports: int, changes: int = 0) -> float:
        """It is exact without a change. With changes it holds for the worst way to share out the reports."""
        reports = check_count("reports", reports, 1)
        answers = min(self._answers(changes), reports)
        if answers == 1:
            return self._loss(reports)
        return min(chain.worst_split(self._loss, reports, answers), self.epsilon_after(changes))

    def epsilon_pattern(self, reports: int) -> float:
        """The first report costs `epsilon`, and each further one at most what tells two permanent answers apart.

        More cannot be said by adding up: two reports of one permanent answer may cost more than twice `epsilon`.
        """
        reports = check_count("reports", reports, 1)
        one, zero, bits = self.instantaneous.p, self.instantaneous.q, 1
        apart = one / zero
        if isinstance(self.instantaneous, Unary):  # Two permanent answers may differ in every bit.
            apart, bits = max(apart, (1 - zero) / (1 - one)), self.domain.size
        return float_above(Fraction(self.epsilon) + (reports - 1) * bits * Fraction(log_above(apart)))

    def _answers(self, changes: int) -> int:
        """How many permanent answers so many changes may bring into play."""
        return min(check_count("changes", changes, 0) + 1, self._inner.domain.size)

    def _loss(self, reports: int) -> float:
        """The exact cost of so many reports of one permanent answer. See docs/mechanisms/memoized.md for the proof."""
        p, q, one, zero = self._inner.p, self._inner.q, self.instantaneous.p, self.instantaneous.q
        ratio = chain.odds(p, q, one / zero, reports)
        if isinstance(self._inner, Unary):
            ratio *= chain.odds(1 - q, 1 - p, (1 - zero) / (1 - one), reports)
        return min(log_above(ratio), self.permanent.epsilon)

    # Reports look as those of the permanent mechanism do.

    @property
    def shape(self) -> Index | Bits:
        return self.permanent.shape

    @property
    def cells(self) -> int:
        return self.permanent.cells

    @property
    def marks(self) -> int | None:
        return self.permanent.marks

    def supports(self, report: Report) -> Iterable[int]:
        return self.permanent.supports(report)

    def _count(self, data: NDArray[Any]) -> NDArray[np.int64]:
        return self.permanent._count(data)

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.permanent._support(cells)

    @cached_property
    def _cohorts(self) -> int:
        return self.permanent.cohorts if isinstance(self.permanent, LocalHash) else 1

    def _bucket(self, code: Any, cohort: Any) -> Any:
        return self.permanent.hash(cohort, code) if isinstance(self.permanent, LocalHash) else code

    def _law(self, code: int) -> dict[Report, Fraction]:
        if isinstance(self._inner, Unary):
            return Unary._law(self, code)  # type: ignore[arg-type]
        size, hit = self._inner.domain.size, self._sent(self._inner.p) / self._cohorts
        miss = self._sent(self._inner.q) / self._cohorts
        return {
            cohort * size + bucket: Fraction(hit if bucket == self._bucket(code, cohort) else miss)
            for cohort in range(self._cohorts)
            for bucket in range(size)
        }

    # What a device does.

    def begin(self, source: Source = SYSTEM) -> Memory:
        return {"cohort": source.below(self._cohorts), "answers": {}}

    def _key(self, code: int, memory: Memory) -> int:
        key: int = self._bucket(code, memory["cohort"])
        return key

    def _step(self, code: int, memory: Memory, source: Source) -> Step:
        key, answers = self._key(code, memory), memory["answers"]
        known = str(key) in answers
        kept = self._read(answers[str(key)]) if known else self._inner._perturb(key, source)
        sent = self._resend(kept, source)
        report = sent if isinstance(sent, bytes) else memory["cohort"] * self._inner.domain.size + sent
        answers = answers | {str(key): kept.hex() if isinstance(kept, bytes) else kept}
        return Step(report, memory | {"answers": answers}, 0.0 if known else self.permanent.epsilon)

    def _read(self, kept: object) -> Report:
        return self._inner.shape.check(bytes.fromhex(kept) if isinstance(kept, str) else kept)

    def _resend(self, kept: Report, source: Source) -> Report:
        if not isinstance(kept, bytes):
            return self.instantaneous._perturb(kept, source)
        chances = (self.instantaneous.q, self.instantaneous.p)
        bits = (kept[place >> 3] >> (place & 7) & 1 for place in range(self.domain.size))
        return Bits(self.domain.size).pack(place for place, bit in enumerate(bits) if source.bernoulli(chances[bit]))

    # What a simulation does.

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[NDArray[Any]]:
        people, waves = codes.shape
        size, cohorts = self._inner.domain.size, stream.below(self._cohorts, people)
        keys = self._bucket(codes.ravel(), cohorts.repeat(waves)).reshape(codes.shape)
        drawn, place = np.unique(np.arange(people)[:, None] * size + keys, return_inverse=True)
        kept = self._inner._perturb_many(drawn % size, stream)
        sent = (self._resend_many(kept[places], stream) for places in place.reshape(codes.shape).T)
        return [column if column.ndim > 1 else cohorts * size + column for column in sent]

    def _resend_many(self, kept: NDArray[Any], stream: Keystream) -> NDArray[Any]:
        if kept.ndim == 1:
            return self.instantaneous._perturb_many(kept, stream)
        ones, zeros = (chain.coins(kept, chance, stream) for chance in (self.instantaneous.p, self.instantaneous.q))
        sent: NDArray[Any] = kept & ones | ~kept & zeros
        sent[:, -1] &= np.uint8(0xFF ^ Bits(self.domain.size).spare)
        return sent

    # What travels.

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Mechanism:
        names = {"permanent", "instantaneous"} & set(data)
        return super().from_dict(data | {name: _part(name, data[name]) for name in names})

    def __repr__(self) -> str:
        kind = f"{self.permanent.name}, {self.domain.size} values"
        return f"Memoized({kind}, epsilon={self.epsilon:.6g} once, {self.epsilon_forever:.6g} forever)"


def _part(name: str, data: object) -> Mechanism:
    kind = data.get("mechanism") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or kind not in KINDS:
        raise ParameterError(f"{name} must be one of {', '.join(KINDS)}, got {data!r:.80}")
    return KINDS[kind].from_dict(dict(data))
