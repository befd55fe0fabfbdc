"""Frequent texts from their fragments: bytes that share a tag are put together.

A frequent text is as frequent in every group, as its tag and one byte. So the scores of its bytes must agree, and add
up from group to group: the beginnings with the best sums are kept. A text that has ended must have the tag that it was
found under.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.domain.text import END_MARK
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.decoding import Sketch
from sottovoce.estimates.discovery_estimate import Counted
from sottovoce.statistics.discovery.candidates import TESTED_SCORE, Candidates, following, scored
from sottovoce.statistics.discovery.spelling import Spelling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTH_FACTOR = 4
"""A beginning costs only a sum here, and so many times more of them can be kept."""

MIN_TAGS = 16
"""The places are shared by so many tags at least: one tag takes up a sixteenth of them at most."""

MAX_SCORE_DROP = 3.3
"""By how many standard errors a byte's score may fall below the mean of those before.

Without a limit, the continuations of a very frequent text, none of which is one, would crowd out all others."""


def search(counted: Counted, spelling: Spelling, width: int) -> Candidates:
    """The texts that may be frequent."""
    m, found, grown = counted.mechanism, Candidates(), spelling.start()
    tags, sums, follows = np.arange(2**m.tag), np.zeros(2**m.tag), np.zeros(256)
    grown = grown.take(np.zeros(2**m.tag, dtype=np.int64))
    views = _views(counted, spelling)
    for group in range(counted.whole):
        sketch = counted.sketch(slice(group, group + 1))
        scores = np.full((2**m.tag, 256), -np.inf)
        scores[:, spelling.bytes] = scored(sketch, views).reshape(2**m.tag, -1)
        grown = spelling.extend(grown)
        found.looked += len(grown)
        own = scores[tags[grown.parents], grown.rows[:, -1]]
        follows = following(grown.rows, own) if group == 0 else follows
        tags, sums = tags[grown.parents], sums[grown.parents]
        agree = _agree(own, sums / max(group, 1), group, _steep(sketch))
        sums = sums + own
        ended = np.flatnonzero(grown.ended & agree & (sums > TESTED_SCORE * (group + 1) ** 0.5))
        _add(found, counted, grown.take(ended).texts(), tags[ended])
        weighed = np.where(~grown.ended & agree, sums + follows[grown.rows[:, -1]], -np.inf)
        kept = _best(weighed, tags, WIDTH_FACTOR * width)
        grown, tags, sums = grown.take(kept), tags[kept], sums[kept]
    if grown.rows.shape[1] == m.domain.max_bytes:  # Nothing is longer: what is complete has ended.
        complete = np.flatnonzero(grown.complete)
        _add(found, counted, [text + END_MARK for text in grown.take(complete).texts()], tags[complete])
    return found


def _agree(own: Floats, mean: Floats, before: int, steep: float) -> NDArray[np.bool_]:
    """Whether a score is high enough for a text that is as frequent as the mean of its scores before says.

    It may be higher: another text with the same tag may have the same byte there.
    """
    if not before:
        return np.ones(own.size, dtype=np.bool_)
    variance = (1 + steep * mean.clip(0)) * (1 + 1 / before)
    agree: NDArray[np.bool_] = own >= mean - MAX_SCORE_DROP * np.sqrt(variance)
    return agree


def _steep(sketch: Sketch) -> float:
    """How much the variance of a score grows with it: who holds a text has noise too, and is in a group by chance."""
    if not sketch.n:
        return 0.0
    other, holder = sketch.noise
    return float(max(holder - other + 1, 0.0) / sketch.n / sketch.spread**0.5)


def _best(weighed: Floats, tags: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The places of the best, but not too many of one tag: frequent texts that share it can be mixed in many ways."""
    going = np.flatnonzero(np.isfinite(weighed))
    if going.size > MIN_TAGS * width:
        going = going[np.argpartition(-weighed[going], MIN_TAGS * width)[: MIN_TAGS * width]]
    order = going[np.lexsort((-weighed[going], tags[going]))]
    starts = np.flatnonzero(np.diff(tags[order], prepend=-1))
    order = order[np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size)) < width // MIN_TAGS]
    if order.size <= width:
        return order
    best: NDArray[np.int64] = order[np.argpartition(-weighed[order], width)[:width]]
    return best


def _views(counted: Counted, spelling: Spelling) -> NDArray[np.int64]:
    """The fingerprints of all tags with all bytes."""
    tags = [tag.to_bytes(3, "big") for tag in range(2**counted.mechanism.tag)]
    letters = [bytes([byte]) for byte in spelling.bytes.tolist()]
    return counted.mechanism.hashing.fingerprints([tag + letter for tag in tags for letter in letters])


def _add(found: Candidates, counted: Counted, ended: list[bytes], tags: NDArray[np.int64]) -> None:
    texts = [text[:-1] for text in ended]
    labels = [int.from_bytes(label, "big") for label in counted.mechanism.labels(texts)]
    found.add(
        [text for text, label, tag in zip(texts, labels, tags.tolist(), strict=True) if label == tag], counted.whole
    )
