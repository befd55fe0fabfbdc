"""Broken twins of the mechanisms that ask one of several things: sets, key-value answers, ranges, attributes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import ReportArray
from sottovoce.mechanisms import KeyValue, Ranges, Sets, Several


class AsksWhatItHolds(Sets):
    """Asks only about options that the answer holds, if it holds any: that an option was asked about gives it away."""

    def _perturb(self, code: int, source: Source) -> int:
        D = self.domain.options.size
        held = [option for option in range(D) if code >> option & 1] or list(range(D))
        option = held[source.below(len(held))]
        return 2 * option + self._answer._perturb(code >> option & 1, source)

    def _encode_many(self, values: Column, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        rows = [sorted(map(self.domain.options.encode, to_list(row))) for row in values]
        draws = stream.below(2**30, len(rows)).tolist()
        pairs = zip(rows, draws, strict=True)
        return np.array([2 * row[at % len(row)] + 1 if row else at % self.cells & -2 for row, at in pairs])


class AbsenceNotRandomized(KeyValue):
    """Only values are randomized: who holds nothing for the key says so truly."""

    def _perturb(self, code: int, source: Source) -> int:
        key = source.below(self.domain.keys.size)
        symbol = code // 3**key % 3
        return 3 * key + (self._answer._perturb(symbol, source) if symbol else 0)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        super()._perturb_into(codes, stream, out)
        out[:] = np.where(codes % 3 > 0, out, codes)


class LevelByValue(Ranges):
    """The level is "spread evenly" by the value, not drawn: it tells the value's remainder, epsilon is infinite."""

    def _perturb(self, code: int, source: Source) -> int:
        at = code % len(self.parts)
        return self._combination.starts[at] + self.parts[at]._perturb(self._questions(code)[at], source)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        reports = [
            part._perturb_many(node, stream) for part, node in zip(self.parts, self._questions(codes), strict=True)
        ]
        at = codes % len(self.parts)
        out[:] = np.array(self._combination.starts)[at] + np.choose(at, reports)


class PartsNotAdded(Several):
    """Every attribute is answered, and the cost of one of them declared."""

    def __init__(self, domain: Mapping[str, int], epsilon: float) -> None:
        super().__init__(domain, epsilon, how="split")

    @property
    def epsilon(self) -> float:
        return max(part.epsilon for part in self.parts)
