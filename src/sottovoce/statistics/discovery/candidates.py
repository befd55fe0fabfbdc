"""What both ways to search have in common: scores, what is to be tested, and what may follow what.

Which bytes may follow is learned from the first group, which tests nothing. If the frequent beginnings are all of small
Latin letters, a letter of another script needs a better score to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.decoding import Sketch, means
from sottovoce.statistics.discovery.spelling import Grown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TESTED_SCORE = 0.0
"""The score, in standard errors, from which a text that has ended is tested. Many are, so that few are missed."""

SURE_SCORE = 4.5
"""The score from which a beginning of the first group counts for what may follow."""

FINDABLE_SCORE = 3.0
"""The score of what is just worth finding. It converts odds to scores."""

UNSEEN_CLASS_SHARE = 0.001
"""The share of each class of bytes of which none was seen."""


@dataclass(frozen=True, eq=False)
class Kept:
    """Beginnings of texts that may go on, their scores, and what each byte adds to the score of what ends in it."""

    grown: Grown
    strength: Floats
    follows: Floats
    looked: int = 1
    """How many were looked at to find these."""


@dataclass
class Candidates:
    """Texts to be tested, each from a group on, and how many views were looked at to find them.

    A search by prefixes also leaves behind how it could go on.
    """

    texts: list[bytes] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    looked: int = 0
    left: Kept | None = None

    def add(self, texts: list[bytes], first: int) -> None:
        self.texts += texts
        self.firsts += [first] * len(texts)


def scored(sketch: Sketch, views: list[bytes] | NDArray[np.int64]) -> Floats:
    """How frequent views, or their fingerprints, are in some groups: in standard errors of what nobody tells."""
    if not len(views) or not sketch.n:
        return np.zeros(len(views))
    codes = sketch.hashes.fingerprints(views) if isinstance(views, list) else views
    scores: Floats = means(sketch, codes) / sketch.spread**0.5
    return scores


def following(rows: NDArray[np.uint8], scores: Floats) -> Floats:
    """For each byte, what is added to the score of what ends in it."""
    sure = np.flatnonzero(scores > SURE_SCORE)
    if not sure.size:
        return np.zeros(256)
    seen = np.bincount(rows[sure].ravel(), np.repeat(scores[sure], rows.shape[1]), minlength=256)
    classes, sizes = np.array(CLASSES), np.bincount(CLASSES)
    shares = np.bincount(classes, seen, minlength=sizes.size) / seen.sum() + UNSEEN_CLASS_SHARE
    added: Floats = np.log(shares / sizes)[classes] / FINDABLE_SCORE
    return added


def _classes() -> list[int]:
    """Bytes that go together: signs, digits, large and small letters, and each lead byte by itself."""
    names = []
    for byte in range(256):
        letter = chr(byte) if byte < 0x80 else ""
        kind = "lower" if letter.islower() else "upper" if letter.isupper() else "digit" if letter.isdigit() else "sign"
        names.append(kind if letter else "inner" if byte < 0xC0 else f"lead {byte}")
    places = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return [places[name] for name in names]


CLASSES = _classes()
"""The class of each byte."""
