"""How a survey stands, from the counts in the store: for pages of results, as often as that changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sottovoce.collector.records import StoredSurvey
from sottovoce.core.canonical import JsonObject
from sottovoce.core.lazy import numpy as np
from sottovoce.survey.overview import question_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.collector.tallies import Vectors
    from sottovoce.survey import Question

MAX_WAVES = 100
"""At most this many waves, the last ones, are listed with their numbers of reports."""


class Overview:
    """How a survey stands. A question whose counts are as they were is not estimated again."""

    def __init__(self, to: StoredSurvey, wave: int | None = None) -> None:
        self.to, self.wave = to, wave
        self._done: dict[str, tuple[bytes, JsonObject]] = {}

    def state(self, vectors: Vectors) -> JsonObject:
        """The questions of a wave, by default of the last that has reports, and the number of reports in each."""
        waves: dict[int, NDArray[np.int64]] = {}
        for (wave, _), vector in vectors.items():
            waves[wave] = waves[wave] + vector if wave in waves else vector
        shown = self.wave if self.wave is not None else max(waves, default=0)
        vector = waves.get(shown, np.zeros(self.to.layout.size, dtype=np.int64))
        count = len(self.to.survey.questions)
        return {
            "wave": shown,
            "reports": int(vector[:count].max()),
            "waves": [[wave, int(waves[wave][:count].max())] for wave in sorted(waves)[-MAX_WAVES:]],
            "questions": [self._question(item, vector) for item in self.to.survey.questions],
        }

    def _question(self, item: Question, vector: NDArray[np.int64]) -> JsonObject:
        tally = self.to.layout.tally(item.id, vector)
        counts = tally.n.to_bytes(8, "big") + tally.cells.tobytes()
        known = self._done.get(item.id)
        if known is None or known[0] != counts:
            known = self._done[item.id] = counts, question_numbers(item, tally, self.to.survey.minimum)
        return known[1]


def covariate_values(vectors: Vectors, name: str) -> dict[str, NDArray[np.int64]]:
    """The counts for each value of a covariate, over all others."""
    merged: dict[str, NDArray[np.int64]] = {}
    for (_, covariates), vector in vectors.items():
        value = json.loads(covariates)[name]
        merged[value] = merged[value] + vector if value in merged else vector
    return merged
