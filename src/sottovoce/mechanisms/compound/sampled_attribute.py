from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.krr import KRR

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SampledTopic(Mechanism):
    """An answer has one of a few symbols for each of many topics; a device is asked about one topic at random.

    The topic is drawn without a look at the answer and stands in the report, so that the whole epsilon goes into one
    symbol, told by k-ary randomized response. The code of an answer has a symbol for each digit. Report s j + y says y
    about topic j.
    """

    symbols: ClassVar[int]
    p: Probability

    @property
    @abstractmethod
    def topics(self) -> Domain:
        """What may be asked about."""

    @cached_property
    def _answer(self) -> KRR:
        return KRR(self.symbols, p=self.p)

    @cached_property
    def q(self) -> Probability:
        """The probability of any one symbol other than the true one."""
        return self._answer.q

    @cached_property
    def epsilon(self) -> float:
        return self._answer.epsilon

    @cached_property
    def shape(self) -> Index:
        return Index(self.symbols * self.topics.size)

    @property
    def cells(self) -> int:
        return self.shape.outcomes

    def _law(self, code: int) -> dict[Report, Fraction]:
        return {
            self.symbols * topic + said: chance / self.topics.size
            for topic in range(self.topics.size)
            for said, chance in self._answer._law(self._symbol(code, topic)).items()
            if isinstance(said, int)
        }

    def _symbol(self, code: int, topic: int) -> int:
        return int(code // self.symbols**topic % self.symbols)

    def _perturb(self, code: int, source: Source) -> int:
        topic = source.below(self.topics.size)
        return self.symbols * topic + self._answer._perturb(self._symbol(code, topic), source)

    # Codes of a column would not fit into integers: there a topic is drawn first, and a code is a report without noise.

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        said = codes % self.symbols
        out[:] = codes - said + self._answer._perturb_many(said, stream)
