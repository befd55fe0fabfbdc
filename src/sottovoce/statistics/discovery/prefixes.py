"""Frequent texts by their prefixes: from group to group one byte more.

In each group all continuations of the prefixes kept so far are scored, and the best are kept. A text whose end mark has
come is set aside; the groups that follow tell it as a whole, and have had no say in finding it. They will test it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.decoding import Sketch
from sottovoce.estimates.discovery_estimate import Counted
from sottovoce.statistics.discovery.candidates import TESTED_SCORE, Candidates, Kept, following, scored
from sottovoce.statistics.discovery.spelling import Grown, Spelling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

STRONG_SCORE, MIN_CHILDREN = 4.0, 4
"""Of a prefix with a higher score so many continuations are always kept: one of them must be frequent too."""

MAX_CONTINUATIONS = 2**24
"""At most so many continuations are looked through at a time."""

USUAL_RARITY, WEAK_SCORE, SCORE_PER_RARITY = 1.0, 3.0, 3.0
"""A prefix is continued by bytes whose weight is at most `USUAL_RARITY` below the greatest. If its score is high, rarer
bytes are tried too: up to (score - `WEAK_SCORE`) / `SCORE_PER_RARITY` below the greatest."""


def search(counted: Counted, spelling: Spelling, width: int) -> Candidates:
    """The texts that may be frequent, with some `width` prefixes kept at a time."""
    found, kept = Candidates(), Kept(spelling.start(), np.full(1, np.inf), np.zeros(256))
    for stop, groups in counted.levels():
        kept = _level(found, kept, stop, counted.sketch(groups), groups.stop, spelling, width)
    if kept.grown.rows.shape[1]:  # The longest prefixes may be whole texts: the groups that tell those will say.
        found.add(kept.grown.take(np.flatnonzero(kept.grown.complete)).texts(), counted.whole)
    found.left = kept
    return found


def _level(
    found: Candidates, kept: Kept, stop: int, sketch: Sketch, first: int, spelling: Spelling, width: int
) -> Kept:
    """The best prefixes of so many bytes; the texts that end on the way are tested by the groups from the first on."""
    before = kept.grown.rows.shape[1]
    grown, roots, ended = continued(kept, stop, spelling)
    likely = scored(sketch, ended) > TESTED_SCORE
    found.add([text[:-1] for text, good in zip(ended, likely.tolist(), strict=True) if good], first)
    scores = scored(sketch, grown.texts())
    found.looked += len(ended) + len(grown)
    follows = kept.follows if before else following(grown.rows, scores)
    weighed = scores + follows[grown.rows[:, before:]].sum(axis=1)
    best = _best(weighed, scores, roots, kept.strength, width)
    return Kept(grown.take(best), scores[best], follows, len(grown))


def continued(kept: Kept, stop: int, spelling: Spelling) -> tuple[Grown, Places, list[bytes]]:
    """The continuations up to so many bytes, the prefix that each has grown from, and the texts that end on the way."""
    grown, ended, roots = kept.grown, list[bytes](), np.arange(len(kept.grown))
    rarity, spare = (
        kept.follows.max() - kept.follows,
        np.maximum(USUAL_RARITY, (kept.strength - WEAK_SCORE) / SCORE_PER_RARITY),
    )
    while grown.rows.shape[1] < stop:
        if len(grown) * spelling.branches > MAX_CONTINUATIONS:
            before = kept.grown.rows.shape[1]
            raise ParameterError(f"prefixes of {stop} bytes are too many to look through after those of {before}: "
                                 "are the reports of the rounds before here?")  # fmt: skip
        grown = spelling.extend(grown)
        roots = roots[grown.parents]
        ended += grown.take(np.flatnonzero(grown.ended)).texts()
        going = np.flatnonzero(~grown.ended & (rarity[grown.rows[:, -1]] <= spare[roots]))
        grown, roots = grown.take(going), roots[going]
    return grown, roots, ended


def _best(weighed: Floats, scores: Floats, roots: Places, strength: Floats, width: int) -> Places:
    """The places of the best, and of the best continuations of each strong prefix."""
    if weighed.size <= width:
        return np.arange(weighed.size)
    kept = np.zeros(weighed.size, dtype=np.bool_)
    kept[np.argpartition(-weighed, width)[:width]] = True
    strong = np.flatnonzero(strength[roots] > STRONG_SCORE)
    order = strong[np.lexsort((-scores[strong], roots[strong]))]
    starts = np.flatnonzero(np.diff(roots[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    children = order[rank < MIN_CHILDREN]
    kept[children[np.argsort(-scores[children], kind="stable")[:width]]] = True
    return np.flatnonzero(kept)
