from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from sottovoce.core.domain import Domain, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID
from sottovoce.core.reports import Index
from sottovoce.mechanisms.frequency.choose import choose
from sottovoce.mechanisms.frequency.hadamard import Hadamard
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash
from sottovoce.mechanisms.frequency.projective import Projective
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.frequency.subset import Subset
from sottovoce.mechanisms.frequency.unary import Unary
from sottovoce.mechanisms.text.bloom import Bloom
from sottovoce.mechanisms.text.bucket_mechanism import BucketMechanism
from sottovoce.mechanisms.text.cohorts import check_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.mechanisms.base import Mechanism
    from sottovoce.mechanisms.text.hashed_plan import HashedPlanOptions

KINDS: dict[str, type[Pure]] = {kind.name: kind for kind in (KRR, Unary, Subset, Hadamard, Projective, LocalHash)}


@dataclass(frozen=True, init=False, repr=False)
class Hashed(BucketMechanism):
    """Texts that nobody listed: a public hash to a few buckets, then any frequency mechanism over the buckets.

    Every cohort has a hash function of its own, so that values which share a bucket in one cohort are apart in others.
    Estimates are for any values that are asked about afterwards; collisions are taken off in expectation and are in the
    errors.

    >>> m = Hashed("auto", buckets=1024, cohorts=64, epsilon=2.0)
    >>> m.base, m.epsilon == m.base.epsilon, m.bits
    (Projective(1024 values, epsilon=2), True, 19)
    >>> t = m.tally().add_many(m.randomize_many(["tea"] * 6000 + ["coffee"] * 4000, seed=1))
    >>> print(t.estimate(values=["coffee", "milk", "tea"]))
    value   count  frequency  std. error       95% interval
    coffee  4,019     0.4019      0.0108   0.3803 .. 0.4232
    milk       86     0.0086      0.0090  -0.0096 .. 0.0265
    tea     5,944     0.5944      0.0114   0.5714 .. 0.6170
    n = 10,000; epsilon = 2; SIMULATED with a seed: not private
    """

    name: ClassVar[str] = "hashed"
    question_kinds: ClassVar[tuple[str, ...]] = ("text",)
    domain: Text
    cohorts: int
    salt: str
    base: Pure

    def __init__(
        self,
        base: str | Pure,
        buckets: int | None = None,
        cohorts: int = 64,
        epsilon: float | None = None,
        *,
        salt: str = "",
        domain: Text | None = None,
    ) -> None:
        if isinstance(base, Pure):
            if buckets not in (None, base.domain.size) or epsilon is not None:
                raise ParameterError(f"{base!r} has its own buckets and epsilon, got more")
        else:
            base = _build(base, 1024 if buckets is None else buckets, cohorts, epsilon)
        if type(base) not in KINDS.values() or base.domain != Domain(base.domain.size):
            raise ParameterError(f"base must be one of {', '.join(KINDS)} over a number of values, got {base!r:.80}")
        self._freeze(domain=check_text(domain), cohorts=cohorts, salt=salt, base=base)
        _ = self.hashing, self.shape  # They check the numbers.

    @classmethod
    def count_mean_sketch(
        cls, epsilon: float, buckets: int = 1024, cohorts: int = 64, *, salt: str = "", domain: Text | None = None
    ) -> Hashed:
        """Apple's count-mean sketch: one bit for each bucket, each flipped alike."""
        return cls(Unary(buckets, epsilon, kind="symmetric"), cohorts=cohorts, salt=salt, domain=domain)

    @classmethod
    def hadamard_sketch(
        cls, epsilon: float, buckets: int = 1024, cohorts: int = 64, *, salt: str = "", domain: Text | None = None
    ) -> Hashed:
        """Apple's Hadamard count-mean sketch: one random entry of the bucket's column of a Hadamard matrix.

        Apple sends one of m rows and a sign. `Hadamard` sends one of 2m rows, of which a bit is the sign.
        """
        return cls(Hadamard(buckets, epsilon), cohorts=cohorts, salt=salt, domain=domain)

    rappor = staticmethod(Bloom.rappor)

    @staticmethod
    def plan(n: int, epsilon: float, candidates: int, **options: Unpack[HashedPlanOptions]) -> Hashed:
        """The buckets and cohorts of least error: see `hashed_plan.plan`."""
        from sottovoce.mechanisms.text.hashed_plan import plan

        return plan(n, epsilon, candidates, **options)

    def _place(self, code: int, cohort: int) -> int:
        return self.hashing.bucket(code, cohort)

    def _place_many(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.hashing.spread(codes, cohorts)

    @property
    def full_collision(self) -> float:
        """The probability that two values share their buckets in all cohorts, so that nothing tells them apart."""
        return float(self.buckets) ** -self.cohorts + 2.0**-62

    @classmethod
    def _assemble(cls, **parameters: Any) -> Hashed:
        return cls(**parameters | {"base": read_base(parameters["base"])})

    def __repr__(self) -> str:
        return f"Hashed({self.buckets} buckets, {self.cohorts} cohorts, {self.base.name}, epsilon={self.epsilon:.6g})"


def read_base(data: object) -> Mechanism:
    """A mechanism over the buckets that was written down."""
    name = data.get("mechanism") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or name not in KINDS:
        raise ParameterError(f"base must be one of {', '.join(KINDS)}, got {data!r:.80}")
    return KINDS[name].from_dict(dict(data))


def _build(kind: object, buckets: int, cohorts: int, epsilon: float | None) -> Pure:
    """A frequency mechanism over the buckets by its name, in its optimal kind."""
    if epsilon is None:
        raise ParameterError("give epsilon, or a mechanism over the buckets")
    if kind == "auto":
        best = choose(buckets, epsilon)
        if not isinstance(best.shape, Index) or best.shape.outcomes * cohorts <= GRID:
            return best
        return choose(buckets, epsilon, max_bits=53 - (cohorts - 1).bit_length())
    if not isinstance(kind, str) or kind not in KINDS:
        raise ParameterError(f"base must be auto, one of {', '.join(KINDS)}, or such a mechanism, got {kind!r:.80}")
    make: Callable[..., Pure] = KINDS[kind]
    return make(buckets, epsilon)
