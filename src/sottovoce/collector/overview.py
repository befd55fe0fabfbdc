"""All that a page of results shows of a survey: what it is, once, and how it stands, as often as that changes.

An estimate has up to three intervals, at 95%: about the respondents, about the population they were drawn from, and
about the population at every peek at once. Nothing is shown from fewer reports than the survey's minimum.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sottovoce import __version__
from sottovoce.collector.figures import figures
from sottovoce.collector.records import Published
from sottovoce.errors import SottovoceError
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms import Longitudinal, Mean, Sets
from sottovoce.mechanisms.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.survey import Item

    Vectors = Mapping[tuple[int, str], NDArray[np.int64]]

LEVEL = 0.95
WAVES = 100
"""The last so many waves are listed with their numbers of reports."""


def describe(to: Published) -> dict[str, Any]:
    """What never changes: the survey in words and numbers."""
    survey = to.survey
    return {
        "id": survey.id,
        "title": survey.title,
        "description": survey.description,
        "contact": survey.contact,
        "digest": survey.digest,
        "trust": survey.trust,
        "budget": survey.budget,
        "epsilon": survey.epsilon,
        "guarantee": survey.guarantee.to_dict() if survey.guarantee else None,
        "minimum": survey.minimum,
        "waves": survey.waves,
        "every": survey.every,
        "expires": None if survey.expires is None else f"{survey.expires:%Y-%m-%dT%H:%M:%SZ}",
        "level": LEVEL,
        "version": __version__,
        "covariates": [one.to_dict() for one in survey.covariates],
        "questions": [_describe(item, survey.costs[item.id]) for item in survey.questions],
    }


def _describe(item: Item, cost: float) -> dict[str, Any]:
    m: Any = item.mechanism
    odds = isinstance(m, Pure | Sets)
    return {
        "id": item.id,
        "text": item.text,
        "kind": item.kind,
        "estimate": item.estimate,
        "mechanism": m.name,
        "epsilon": m.epsilon,
        "cost": cost,
        "p": float(m.p) if odds else None,
        "q": float(m.q) if odds else None,
        "low": item.low,
        "high": item.high,
        "size": None if item.kind in ("number", "text") else m.domain.size,
        "remembers": isinstance(m, Longitudinal),
        "rounds": isinstance(m, Mean) and m.kind == "rounding",
    }


class Overview:
    """How a survey stands. A question whose counts are as they were is not estimated again."""

    def __init__(self, to: Published, wave: int | None = None) -> None:
        self.to, self.wave = to, wave
        self._done: dict[str, tuple[bytes, dict[str, Any]]] = {}

    def state(self, vectors: Vectors) -> dict[str, Any]:
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
            "waves": [[wave, int(waves[wave][:count].max())] for wave in sorted(waves)[-WAVES:]],
            "questions": [self._question(item, vector) for item in self.to.survey.questions],
        }

    def _question(self, item: Item, vector: NDArray[np.int64]) -> dict[str, Any]:
        tally = self.to.layout.tally(item.id, vector)
        counts = tally.n.to_bytes(8, "big") + tally.cells.tobytes()
        known = self._done.get(item.id)
        if known is None or known[0] != counts:
            known = self._done[item.id] = counts, question(item, tally, self.to.survey.minimum)
        return known[1]


def question(item: Item, tally: Any, minimum: int) -> dict[str, Any]:
    """One question from its tally, or why it is not shown: too few reports, values to be named, or what was wrong."""
    shown: dict[str, Any] = {"id": item.id, "n": tally.n}
    if tally.n < minimum:
        return shown | {"withheld": "minimum"}
    if item.kind == "text":
        return shown | {"withheld": "values"}
    try:
        return shown | figures(tally, LEVEL)
    except SottovoceError as error:
        return shown | {"withheld": str(error)}


def covariate_values(vectors: Vectors, name: str) -> dict[str, NDArray[np.int64]]:
    """The counts for each value of a covariate, over all others."""
    merged: dict[str, NDArray[np.int64]] = {}
    for (_, covariates), vector in vectors.items():
        value = json.loads(covariates)[name]
        merged[value] = merged[value] + vector if value in merged else vector
    return merged
