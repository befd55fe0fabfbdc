"""Frequent texts by their prefixes: from group to group one byte more.

In each group all continuations of the prefixes kept so far are scored, and the best are kept. A text whose end mark has
come is set aside; the groups that follow tell it as a whole, and have had no say in finding it. They will test it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.discovery.candidates import LIKELY, Candidates, following, scored
from sottovoce.discovery.spelling import Grown, Spelling
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms.discovery_estimate import Counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

STRONG, CHILDREN = 4.0, 4
"""Of a prefix with such a score this many continuations are kept in any case: one of them must be frequent too."""

WEAK, UNLIKELY = 3.0, 1.0
"""A prefix with less than such a score is not continued by bytes that would have to make up for as much."""


def search(counted: Counted, spelling: Spelling, width: int) -> Candidates:
    """The texts that may be frequent, with some `width` prefixes kept at a time."""
    m, found, grown = counted.mechanism, Candidates(), spelling.start()
    follows, strength = np.zeros(256), np.full(1, np.inf)
    for group, (_, stop) in enumerate(m.spans):
        if stop > m.domain.max_bytes:
            break
        before = grown.rows.shape[1]
        grown, roots, ended = _level(grown, stop, spelling, strength, follows)
        scores = scored(counted, group, ended)
        found.add([text[:-1] for text, score in zip(ended, scores.tolist(), strict=True) if score > LIKELY], group + 1)
        scores = scored(counted, group, grown.texts())
        found.looked += len(ended) + len(grown)
        follows = following(grown.rows, scores) if group == 0 else follows
        kept = _best(scores + follows[grown.rows[:, before:]].sum(axis=1), scores, roots, strength, width)
        grown, strength = grown.take(kept), scores[kept]
    if grown.rows.shape[1] == m.domain.max_bytes:  # Nothing is longer: what is complete has ended.
        whole = m.tested(m.domain.max_bytes)
        found.add(grown.take(np.flatnonzero(grown.complete)).texts(), whole)
    return found


def _level(
    grown: Grown, stop: int, spelling: Spelling, strength: Floats, follows: Floats
) -> tuple[Grown, Places, list[bytes]]:
    """The continuations up to so many bytes, the prefix that each has grown from, and the texts that end on the way."""
    ended: list[bytes] = []
    roots, likely = np.arange(len(grown)), follows > follows.max() - UNLIKELY
    while grown.rows.shape[1] < stop:
        grown = spelling.extend(grown)
        roots = roots[grown.parents]
        ended += grown.take(np.flatnonzero(grown.ended)).texts()
        going = np.flatnonzero(~grown.ended & (likely[grown.rows[:, -1]] | (strength[roots] > WEAK)))
        grown, roots = grown.take(going), roots[going]
    return grown, roots, ended


def _best(weighed: Floats, scores: Floats, roots: Places, strength: Floats, width: int) -> Places:
    """The places of the best, and of the best continuations of each strong prefix."""
    if weighed.size <= width:
        return np.arange(weighed.size)
    kept = np.zeros(weighed.size, dtype=np.bool_)
    kept[np.argpartition(-weighed, width)[:width]] = True
    strong = np.flatnonzero(strength[roots] > STRONG)
    order = strong[np.lexsort((-scores[strong], roots[strong]))]
    starts = np.flatnonzero(np.diff(roots[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    children = order[rank < CHILDREN]
    kept[children[np.argsort(-scores[children], kind="stable")[:width]]] = True
    return np.flatnonzero(kept)
