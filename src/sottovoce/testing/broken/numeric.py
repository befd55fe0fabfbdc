"""Broken twins of the mechanisms for numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import Probability
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import ReportArray
from sottovoce.mechanisms import Mean, SquareWave


class WindowStillDrawn(Mean):
    """What should lie outside the window is drawn from all outcomes: the window is hit more often than declared."""

    def _perturb(self, code: int, source: Source) -> int:
        if self.inside is None or self.window is None:
            raise ParameterError("kind must be piecewise: no other has a window alone")
        if source.bernoulli(self.inside):
            return code + source.below(self.window)
        return source.below(self.shape.outcomes)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        elsewhere = stream.below(self.shape.outcomes, codes.size)
        super()._perturb_into(codes, stream, out)
        out[:] = np.where(stream.bernoulli(self.inside or Probability(0), codes.size), out, elsewhere)


class EndsTellTheirKind(Mean):
    """Answers at an end always take the coin, "since it is exact there": a window then rules the ends out."""

    def _perturb(self, code: int, source: Source) -> int:
        end = code in (0, self.domain.steps)
        return self._parts[0][1].perturb(code, source) if end else super()._perturb(code, source)


class WindowCutAtTheEnds(SquareWave):
    """Reports beyond the range of the answers are moved to its ends, where they pile up."""

    def _perturb(self, code: int, source: Source) -> int:
        half = self.window // 2
        return min(max(super()._perturb(code, source), half), self.shape.outcomes - 1 - half)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        half = self.window // 2
        super()._perturb_into(codes, stream, out)
        out[:] = out.clip(half, self.shape.outcomes - 1 - half)
