"""Each kernel by itself, on one core, beside what the machine allows: the cipher's keystream, or memory.

A kernel that draws is measured against the keystream that it draws; one that is given what was drawn against reading
the answers and writing the reports; one that counts against reading what it counts; and one that works on a table
against reading the table and writing it once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from sottovoce import Hadamard, Hashed, LocalHash, Projective, Unary
from sottovoce.core import kernels
from sottovoce.core.kernels import rows
from sottovoce.core.privacy import Probability
from sottovoce.core.randomness import COIN_BLOCK_WORDS, Keystream, last_fair
from sottovoce.estimates.render import text_table

MANY, REPEATS, ROUNDS = 2**20, 3, 4
HEADER = ["kernel", "what", "a second", "bytes", "of", "limit", "of it"]


@dataclass
class Kernel:
    """A job for so many things at once, each of which takes so many bytes of keystream or of memory."""

    name: str
    what: str
    job: Callable[[], object]
    count: int
    bytes: float
    of: str
    rate: float = 0.0
    limit: float = 0.0

    def measure(self) -> None:
        self.rate = max(self.rate, self.count / min(spent(self.job) for _ in range(REPEATS)))

    def record(self) -> dict[str, Any]:
        return {
            "kernel": self.name, "what": self.what, "rate": self.rate, "bytes": self.bytes, "of": self.of,
            "limit": self.limit,
        }  # fmt: skip


def spent(job: Callable[[], object]) -> float:
    start = process_time()
    job()
    return process_time() - start


class Counted(Keystream):
    """A keystream that counts its bytes."""

    drawn = 0

    def _into(self, out: Any, count: int) -> Any:
        self.drawn += 8 * count
        return super()._into(out, count)


def per_coin(p: Probability, words: int) -> float:
    """Bytes of keystream for one coin."""
    stream = Counted(1)
    stream.coins(p, words)
    return stream.drawn / (64 * words)


def all_kernels() -> list[Kernel]:
    generator, stream = np.random.default_rng(1), Keystream()
    q, domain = Unary(1024, epsilon=1.0).q, 1024
    codes = generator.integers(0, domain, MANY)
    words, narrow = stream.words(2 * MANY), np.empty(MANY, dtype=np.uint16)
    packed = stream.words(2**22).view(np.uint8).reshape(-1, domain // 8)
    reports = codes.astype(np.uint16)
    compiled = kernels.loops()
    assert compiled is not None
    respond = (codes, 2**62, domain - 1, last_fair(domain - 1), narrow, words[:MANY], words[MANY:])
    reflect = (codes, 2**62, domain - 1, narrow, words[:MANY], words[MANY:])
    local, plane, transform = LocalHash(MANY, epsilon=1.0), Projective(MANY, epsilon=1.0), Hadamard(MANY, epsilon=1.0)
    cells = [generator.integers(0, 1000, m.cells) for m in (local, plane, transform)]
    tables = [16 * size / MANY for size in (local._space.size, plane._space.size, transform.cells)]
    hashes = Hashed("krr", buckets=1024, cohorts=64, epsilon=2.0).hashing
    texts, buckets = generator.integers(0, 2**62, MANY), generator.integers(0, 1000, (64, 1024))
    cohorts = generator.integers(0, local.cohorts, MANY)
    walsh = cells[2][:MANY]

    def draw() -> None:
        with stream.settled():
            for _ in range(16):
                stream.lent(4 * COIN_BLOCK_WORDS)

    def toss() -> None:
        with stream.settled():
            stream.coins(q, 4 * COIN_BLOCK_WORDS)

    def resize(draws: Keystream) -> None:
        with draws.settled():
            rows.resize(draws.lent, some.copy(), codes[: len(some)], sizes, domain)

    some, counted = packed[: 2**14], Counted(1)
    rows.put(some, codes[: len(some)], np.zeros(len(some), dtype=np.bool_))
    sizes = np.full(len(some), domain // 2 + 8)
    resize(counted)
    return [
        Kernel("keystream", "bytes", draw, 16 * 4 * COIN_BLOCK_WORDS * 8, 1, "keystream"),
        Kernel("below", "coins", toss, 64 * 4 * COIN_BLOCK_WORDS, per_coin(q, 4 * COIN_BLOCK_WORDS), "keystream"),
        Kernel("remainders", "numbers", lambda: stream.below(domain - 1, MANY), MANY, 8, "keystream"),
        Kernel("respond", "people", lambda: compiled.respond(*respond), MANY, 8 + 2, "memory"),
        Kernel("reflect", "people", lambda: compiled.reflect(*reflect), MANY, 8 + 2, "memory"),
        Kernel("resize", "sets", lambda: resize(stream), len(some), counted.drawn / len(some), "keystream"),
        Kernel("inner", "hashes", lambda: local._space.inner_many(cohorts, codes), MANY, 3 * 8, "memory"),
        Kernel("planes", "people", lambda: plane._perturb_many(codes, stream), MANY, 3 * 8, "keystream"),
        Kernel("column_sums", "bytes", lambda: rows.column_sums(packed), packed.nbytes, 1, "memory"),
        Kernel("occurrences", "reports", lambda: kernels.occurrences(reports, domain), MANY, 2, "memory"),
        Kernel("walsh_hadamard", "numbers", lambda: kernels.walsh_hadamard(walsh), MANY, 8 + 8, "memory"),
        Kernel("decode local hashing", "values", lambda: local._support(cells[0]), MANY, tables[0], "memory"),
        Kernel("decode projective", "values", lambda: plane._support(cells[1]), MANY, tables[1], "memory"),
        Kernel("decode Hadamard", "values", lambda: transform._support(cells[2]), MANY, tables[2], "memory"),
        Kernel("look_up", "look-ups", lambda: hashes.look_up(buckets, texts), 64 * MANY, 8, "memory"),
    ]


def measured(speed: dict[str, float] | None = None) -> list[Kernel]:
    """All kernels in turns, the best of each. `speed` has bytes a second of keystream and of memory, if known."""
    os.environ["SOTTO_THREADS"] = "1"
    if kernels.loops() is None:
        return []
    found, big = all_kernels(), np.ones(2**24, dtype=np.int64)
    speed = dict(speed or {})
    for kernel in found:
        kernel.job()
    for _ in range(ROUNDS):
        for kernel in found:
            kernel.measure()
        speed["memory"] = max(speed.get("memory", 0.0), big.nbytes / spent(lambda: np.add.reduce(big)))
        speed["keystream"] = max(speed.get("keystream", 0.0), found[0].rate)
    for kernel in found:
        kernel.limit = speed[kernel.of] / kernel.bytes
    return found


def shown(found: list[Kernel], number: Callable[[float], str]) -> str:
    lines = [
        [each.name, each.what, number(each.rate), f"{each.bytes:.3g}", each.of, number(each.limit),
         f"{100 * each.rate / each.limit:.0f}%"]
        for each in found
    ]  # fmt: skip
    return text_table(HEADER, lines)
