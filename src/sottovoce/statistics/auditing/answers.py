"""Which answers of a mechanism an audit takes, if none are named."""

from __future__ import annotations

from sottovoce.core.domain import Attributes
from sottovoce.core.randomness import Keystream
from sottovoce.mechanisms import Mechanism

MAX_ANSWERS = 8
"""If a domain has no more answers, an audit takes them all; otherwise so many: both ends and a sample."""

SAMPLE_SEED = 1
"""The sample is the same every time, unless a seed is given."""


def ends(m: Mechanism) -> tuple[object, object]:
    """The first and the last answer of a domain: they differ in every respect."""
    return answer_at(m, 0), answer_at(m, m.domain.size - 1)


def all_or_some(m: Mechanism, seed: int | None = None) -> tuple[object, ...]:
    """Every answer of a small domain. Of a large one both ends, and others drawn by the seed, in their order."""
    size = m.domain.size
    if size <= MAX_ANSWERS:
        return tuple(answer_at(m, code) for code in range(size))
    stream, codes = Keystream(SAMPLE_SEED if seed is None else seed), {0, size - 1}
    words = size.bit_length() // 64 + 2
    while len(codes) < MAX_ANSWERS:
        codes.add(int.from_bytes(stream.words(words).tobytes(), "little") % size)
    return tuple(answer_at(m, code) for code in sorted(codes))


def answer_at(m: Mechanism, code: int) -> object:
    """The answer that a code stands for."""
    domain = m.domain
    if hasattr(domain, "decode"):
        return domain.decode(code)
    if isinstance(domain, Attributes):
        codes = domain.split(code)
        return tuple(own.labels[at] for (_, own), at in zip(domain.domains, codes, strict=True))
    return domain.labels[code]
