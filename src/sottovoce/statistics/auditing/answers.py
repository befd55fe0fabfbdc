"""Which answers of a mechanism an audit takes, if none are named."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Attributes
from sottovoce.core.randomness import Keystream
from sottovoce.mechanisms import Mechanism

MOST_ANSWERS = 8
"""Up to so many answers of a domain are all taken; of more, the ends and a sample."""

SAMPLE_SEED = 1
"""The sample is the same every time, unless a seed is given."""


def ends(m: Mechanism) -> tuple[Any, Any]:
    """The first and the last answer of a domain: they differ in every respect."""
    return answer_at(m, 0), answer_at(m, m.domain.size - 1)


def all_or_some(m: Mechanism, seed: int | None = None) -> tuple[Any, ...]:
    """Every answer of a small domain. Of a large one both ends, and others drawn by the seed, in their order."""
    size = m.domain.size
    if size <= MOST_ANSWERS:
        return tuple(answer_at(m, code) for code in range(size))
    stream, codes = Keystream(SAMPLE_SEED if seed is None else seed), {0, size - 1}
    words = size.bit_length() // 64 + 2
    while len(codes) < MOST_ANSWERS:
        codes.add(int.from_bytes(stream.words(words).tobytes(), "little") % size)
    return tuple(answer_at(m, code) for code in sorted(codes))


def answer_at(m: Mechanism, code: int) -> Any:
    """The answer that a code stands for."""
    domain = m.domain
    if hasattr(domain, "decode"):
        return domain.decode(code)
    if isinstance(domain, Attributes):
        codes = domain.split(code)
        return tuple(own.labels[at] for (_, own), at in zip(domain.domains, codes, strict=True))
    return domain.labels[code]
