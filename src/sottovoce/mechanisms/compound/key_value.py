from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.domain import AnswerDomain, Domain, Keyed, Label
from sottovoce.core.domain.columns import Column
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability
from sottovoce.core.randomness import SYSTEM, Keystream, Source
from sottovoce.core.reports import Report
from sottovoce.mechanisms.compound.sampled_attribute import SampledTopic
from sottovoce.mechanisms.frequency.krr import KRR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import KeyMeans, Result
    from sottovoce.estimates.tally import Tally


@dataclass(frozen=True, init=False, repr=False)
class KeyValue(SampledTopic):
    """A number for some of many keys: one key is drawn, and absent, low or high is told by randomized response.

    The key is drawn without a look at the answer and stands in the report. A number between low and high is first
    rounded to one of them at random so that its mean stays what it is. Report 3 j + s says s (0 absent, 1 low, 2 high)
    about key j.

    >>> m = KeyValue(["film", "book"], 1, 5, epsilon=1.0)
    >>> m.epsilon == KRR(3, epsilon=1.0).epsilon, m.bits
    (True, 3)
    >>> list(KeyValue(2, 1, 5, p=0.5).channel()[((1, 5.0),)].values())[3:]
    [Fraction(1, 8), Fraction(1, 8), Fraction(1, 4)]

    X. Gu, M. Li, Y. Cheng, L. Xiong, Y. Cao, PCKV: Locally Differentially Private Correlated Key-Value Data Collection
    with Optimized Utility, USENIX Security 2020 (there with padding and sampling in the place of the public key).
    """

    name: ClassVar[str] = "key_value"
    symbols: ClassVar[int] = 3
    domain_type: ClassVar[type[AnswerDomain]] = Keyed
    domain: Keyed
    p: Probability

    if TYPE_CHECKING:

        def tally(self) -> Tally[KeyMeans]: ...

    def __init__(
        self,
        keys: int | Iterable[Label] | Domain,
        low: float,
        high: float,
        epsilon: float | None = None,
        *,
        outside: str = "refuse",
        p: float | Fraction | None = None,
    ) -> None:
        self._freeze(domain=Keyed(keys, low, high, outside), p=KRR(3, epsilon, p=p).p)

    @classmethod
    def _assemble(cls, **parameters: Any) -> KeyValue:
        domain: Keyed = parameters["domain"]
        return cls(domain.keys, domain.low, domain.high, outside=domain.outside, p=parameters["p"])

    @property
    def topics(self) -> Domain:
        return self.domain.keys

    def _law_of(self, value: object) -> dict[Report, Fraction]:
        places = self.domain.encode(value)
        return self._law(sum((1 + SYSTEM.rounded(int(place * GRID))) * 3**key for key, place in places.items()))

    # A device draws the key first and rounds the number of this key alone. Its code is the report without noise, as in
    # a column, and not the answer's.

    def _encode(self, value: object, source: Source) -> int:
        places, key = self.domain.encode_padded(value), source.below(self.domain.keys.size)
        symbol = source.rounded(int(places.get(key, 0.0) * GRID) + GRID)
        return 3 * key + (0, symbol)[key in places]

    def _perturb(self, code: int, source: Source) -> int:
        key, symbol = divmod(code, 3)
        return 3 * key + self._answer._perturb(symbol, source)

    def _encode_many(self, values: Column, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        rows = self.domain.encode_many(values, first_row)
        key = stream.below(self.domain.keys.size, len(rows))
        if isinstance(rows, list):
            places = np.array([row.get(at, np.nan) for row, at in zip(rows, key.tolist(), strict=True)])
        else:
            places = rows[np.arange(len(rows)), key]
        up = stream.draws(len(rows)) < (np.nan_to_num(places) * GRID).astype(np.uint64)
        return 3 * key + np.where(np.isnan(places), 0, 1 + up)

    def _estimate(self, tally: Tally[Result]) -> KeyMeans:
        from sottovoce.estimates import KeyMeans

        bounds, symbols = (self.domain.low, self.domain.high), tally.cells.reshape(-1, 3)
        return KeyMeans(self.domain.keys, bounds, tally.n, symbols, self.p, self.q, self.epsilon, tally.simulated)

    def __repr__(self) -> str:
        return f"KeyValue({self.domain.keys.size} keys, epsilon={self.epsilon:.6g})"
