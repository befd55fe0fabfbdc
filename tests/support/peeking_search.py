"""A search for texts that is wrong on purpose: those who test have a say in what is tested."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.statistics.discovery import candidates


def peeking(search: Any) -> Any:
    """A search that hands on the five texts which look the most frequent to the groups that will test them."""

    def search_and_peek(told: Any, *rest: Any) -> Any:
        found = search(told, *rest)
        scores = candidates.scored(told.sketch(slice(told.whole, None)), told.told(found.texts))
        best = np.argsort(-scores)[:5].tolist()
        found.texts, found.firsts = [found.texts[at] for at in best], [told.whole] * len(best)
        return found

    return search_and_peek
