from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import AnswerDomain, Scale
from sottovoce.core.domain.columns import Column
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Index
from sottovoce.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Numeric(Mechanism):
    """A mechanism for numbers: an answer is first rounded at random to its scale, and a report is one of few outcomes.

    A tally counts the outcomes.
    """

    domain_type: ClassVar[type[AnswerDomain]] = Scale
    domain: Scale

    if TYPE_CHECKING:

        @property
        def shape(self) -> Index: ...

    @property
    def cells(self) -> int:
        return self.shape.outcomes

    def _encode(self, value: object, source: Source) -> int:
        return self.domain.encode(value, source)

    def _encode_many(self, values: Column, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        return self.domain.encode_many(values, stream, first_row)

    def __repr__(self) -> str:
        low, high = self.domain.low, self.domain.high
        return f"{type(self).__name__}({low:g} to {high:g}, epsilon={self.epsilon:.6g})"
