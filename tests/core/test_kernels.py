"""The hot loops: compiled or not, on one thread or several, the same integers from the same draws."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import math
import random
import shutil
import sys
import threading
import weakref
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_loops import compiled_loops
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core import kernels
from sottovoce.core.field import Field
from sottovoce.core.geometry import Space
from sottovoce.core.hashing import Hashes
from sottovoce.core.kernels import rows as rows_of_bits
from sottovoce.core.kernels.threads import side_by_side
from sottovoce.core.privacy import GRID, Probability
from sottovoce.core.randomness import Keystream, _simulation_key, last_fair
from sottovoce.mechanisms.base import Mechanism
from sottovoce.testing import broken, contract

BOUNDS = [1, 2, 2**46, 2**47, 3 * 2**49, 2**52 - 1, 2**52, 2**52 + 1, GRID - 1, 0x0123456789ABCD]


def coins(bound: int, count: int, seed: int) -> tuple[list[int], list[int]]:
    """The coins, and what the stream gives next: it shows how many draws were taken."""
    stream = Keystream(seed)
    out = stream.coins(Probability(bound, GRID), count)
    return out.tolist(), stream.words(2).tolist()


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_coin_is_a_comparison_of_53_bits(way: str, bound: int) -> None:
    """The loop is fed the bits of 64 chosen numbers, close to the bound for the most part, from the top."""
    chosen = random.Random(bound)
    numbers = [bound, bound - 1, 0, GRID - 1] + [
        min(max(bound + chosen.choice([-1, 1]) * chosen.getrandbits(size % 53), 0), GRID - 1) for size in range(60)
    ]
    planes = iter(
        [sum((number >> shift & 1) << lane for lane, number in enumerate(numbers)) for shift in range(52, -1, -1)]
    )
    word = np.empty(1, dtype=np.uint64)  # More words may be drawn than are needed.
    kernels.below(lambda count: np.array([next(planes, 0) for _ in range(count)], dtype=np.uint64), bound, word)
    assert [int(word[0]) >> lane & 1 for lane in range(64)] == [number < bound for number in numbers]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("count", [1, 2, 63, 64, 1000, 2**15 + 1])
def test_compiled_coins_are_the_same_and_take_the_same_draws(
    bound: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compiled_loops()
    monkeypatch.setattr(kernels.loops, "found", None)
    plain = coins(bound, count, 7)
    monkeypatch.setattr(kernels.loops, "found", compiled)
    assert coins(bound, count, 7) == plain


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 12, 16, 33])
@pytest.mark.parametrize("count", [0, 1, 7, 15, 16, 17, 255, 1000])
def test_column_sums(way: str, width: int, count: int) -> None:
    rows = np.frombuffer(random.Random(width).randbytes(2 * count * width), dtype=np.uint8).reshape(2 * count, width)
    for given_rows in (
        rows[:count],
        rows[:count].copy(),
        rows[::2],
        rows[:, ::-1],
        np.full((count, width), 255, dtype=np.uint8),
    ):
        expected = np.unpackbits(given_rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        assert rows_of_bits.column_sums(given_rows).tolist() == expected.tolist()


def test_column_sums_of_many_rows(way: str) -> None:
    """More than bytes can count before they are unloaded, and some rows that fill no round."""
    rows = np.full((3 * 255 * 16 + 11, 64), 255, dtype=np.uint8)
    rows[::3, 5] = 0b10
    rows[:, 63] = np.arange(len(rows)) & 0xFF
    expected = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    assert rows_of_bits.column_sums(rows).tolist() == expected.tolist()


@pytest.mark.parametrize("width", [3, 65, 128])
def test_column_sums_of_a_large_table(way: str, width: int) -> None:
    """Large enough to be read page by page, and some rows that fill none."""
    count = rows_of_bits.LARGE_BYTES // width + 77
    rows = np.random.default_rng(width).integers(0, 256, (count, width), dtype=np.uint8)
    bits = [(rows >> np.uint8(bit) & np.uint8(1)).sum(axis=0, dtype=np.int64) for bit in range(8)]
    assert rows_of_bits.column_sums(rows).tolist() == np.stack(bits, axis=1).ravel().tolist()


def test_a_broken_adder_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @staticmethod
        def column_sums(rows: NDArray[np.uint64], total: NDArray[np.int64]) -> None:
            total += 1

    monkeypatch.setattr(kernels.loops, "found", Broken)
    with pytest.raises(AssertionError):
        test_column_sums("broken", 3, 17)


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (lambda: sv.KRR(5, 1.0), 2 * kernels.PART_ROWS + 3),
        (lambda: sv.Unary(11, epsilon=1.0), 2 * kernels.PART_ROWS + 3),
        (lambda: sv.Subset(70, 0.5), 2 * kernels.PART_ROWS + 3),
        (lambda: sv.Unary(1000, epsilon=1.0), kernels.PART_ROWS + 40_000),
    ],
)
def test_threads_change_nothing(make: Any, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = make()
    codes = np.arange(n) % mechanism.domain.size
    outcomes = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SOTTO_THREADS", threads)
        reports = mechanism.randomize_many(codes, seed=3)
        outcomes.append((reports.data.tobytes(), mechanism.tally().add_many(reports).cells.tolist()))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("domain", [5, 1000, 1024, 100_000])
def test_every_report_is_drawn_once(domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of a report: two threads that fill the same rows would draw neither by its law."""
    m, n, filled = sv.Unary(domain, epsilon=1.0), kernels.PART_ROWS + 40_001, list[tuple[int, int]]()
    column = np.empty((n if domain < 10_000 else kernels.PART_ROWS + 101, m.shape.width), dtype=np.uint8)

    def fill(self: Any, codes: Any, stream: Any, out: Any) -> None:
        start = (out.ctypes.data - column.ctypes.data) // m.shape.width
        filled.append((start, start + len(codes)))
        assert len(codes) == len(out) > 0

    monkeypatch.setattr(sv.Unary, "_perturb_into", fill)
    monkeypatch.setattr(type(m.shape), "empty", lambda self, count: column)
    m.randomize_many(np.zeros(len(column), dtype=np.int64))
    filled.sort()
    assert [start for start, _ in filled] == [0, *(stop for _, stop in filled[:-1])]
    assert filled[-1][1] == len(column)


def test_the_first_part_to_fail_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """On threads or not, and nothing hangs: a column whose last rows are not in the domain."""
    column = np.zeros(3 * kernels.PART_ROWS, dtype=np.int32)
    column[kernels.PART_ROWS + 7], column[-1] = 5, -3
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SOTTO_THREADS", threads)
        with pytest.raises(sv.SottovoceError, match=rf"^row {kernels.PART_ROWS + 8 + 100}: .* got 5$"):
            sv.KRR(5, 1.0).randomize_many(column, first_row=101)
        with pytest.raises(sv.SottovoceError, match="from 0 to 4, got 5"):
            sv.KRR(5, 1.0).tally().add_many(column.clip(0))


def test_an_interruption_ends_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTO_THREADS", "2")
    main, waiting, done = threading.current_thread(), threading.Event(), list[int]()

    def part(at: int) -> None:
        if threading.current_thread() is main:
            raise KeyboardInterrupt
        waiting.wait(0.01)
        done.append(at)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(part, range(1000))
    ended = len(done)
    waiting.wait(0.05)
    assert len(done) == ended < 1000, "nobody goes on"


@pytest.mark.parametrize("m", [sv.KRR(9, 1.0), sv.Hadamard(9, 1.0), sv.Unary(9, 1.0), sv.LocalHash(9, 1.0)], ids=repr)
def test_answers_stay_as_they_are(way: str, m: Mechanism) -> None:
    """A column of the right numbers is not copied, so that nothing may write to it."""
    answers = np.arange(1000) % 9
    m.randomize_many(answers)
    assert (answers == np.arange(1000) % 9).all()
    codes = m.domain.encode_many(answers)
    assert np.shares_memory(codes, answers)
    assert not codes.flags.writeable


def test_a_system_without_threads_to_give_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("SOTTO_THREADS", "4")
    monkeypatch.setattr("sottovoce.core.kernels.threads.start_new_thread", refuse)
    assert side_by_side(abs, range(-9, 0)) == list(range(9, 0, -1))


def test_a_failure_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that held on to its column would keep it in memory until the garbage collector runs."""
    monkeypatch.setenv("SOTTO_THREADS", "2")

    class Column:
        """What is worked on."""

    column = Column()
    seen = weakref.ref(column)

    def part(_: int, column: Column = column) -> None:
        raise ValueError

    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            side_by_side(part, range(4))
        del part, column
        assert seen() is None
    finally:
        gc.enable()


def test_answers_that_change_meanwhile_break_nothing(way: str) -> None:
    rows = np.zeros((2, 3), dtype=np.uint8)
    with contextlib.suppress(IndexError):  # NumPy looks for itself.
        rows_of_bits.put(rows, np.array([2**40, -(2**40)]), np.array([True, True]))


def test_parts_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTO_THREADS", "3")
    assert side_by_side(lambda a, b: a - b, range(100), range(100, 0, -1)) == list(range(-100, 100, 2))
    assert side_by_side(abs, []) == []


def test_threads_have_parts_that_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those that are left when a thread has done its own: it takes the last ones of another."""
    monkeypatch.setenv("SOTTO_THREADS", "2")
    both, helped, taken = threading.Barrier(2, timeout=10), threading.Event(), dict[int, list[int]]()

    def part(at: int) -> None:
        taken.setdefault(threading.get_ident(), []).append(at)
        if at in (0, 20):
            both.wait()
        if at == 0:
            assert helped.wait(10)
        if at == 1:
            helped.set()

    side_by_side(part, range(40))
    assert sorted(taken.values()) == [[0], [*range(20, 40), *range(19, 0, -1)]]


def test_the_first_failure_is_told_though_a_later_one_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts behind a failure are not done any more; those before it are."""
    monkeypatch.setenv("SOTTO_THREADS", "2")
    failed, done = threading.Event(), set[int]()

    def part(at: int) -> None:
        if at == 4:
            assert failed.wait(10), "the other thread fails first"
        if at in (4, 6):
            failed.set()
            raise ValueError(at)
        done.add(at)

    with pytest.raises(ValueError, match=r"^4$"):
        side_by_side(part, range(12))
    assert {0, 1, 2, 3} <= done and not done & {7, 8, 9, 10, 11}


def test_every_part_of_a_long_column_is_randomized(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate of each part is within 6 standard errors: false alarms once in 10^8."""
    monkeypatch.setenv("SOTTO_THREADS", "2")
    mechanism, n = sv.KRR(4, 2.0), 3 * kernels.PART_ROWS + 1
    data = mechanism.randomize_many(np.full(n, 1)).data
    for at in range(0, n - 1, kernels.PART_ROWS):
        kept = (data[at : at + kernels.PART_ROWS] == 1).mean()
        assert abs(kept - mechanism.p) < 6 * 0.5 / kernels.PART_ROWS**0.5


@given(st.integers(1, GRID - 1), st.integers(1, 300))
def test_shares_of_coins(bound: int, count: int) -> None:
    """Heads are within 6 standard deviations and 9 of their mean: false alarms about once in 10^8."""
    tossed = Keystream(1).coins(Probability(bound, GRID), count)
    heads, mean = int(np.bitwise_count(tossed).sum()), 64 * count * bound / GRID
    assert abs(heads - mean) <= 6 * (mean * (1 - bound / GRID)) ** 0.5 + 9


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 49, 1023, 2**20, 2**26 + 1, 2**32 - 5, 2**52 + 1, GRID - 1, GRID])
def test_remainders(way: str, divisor: int) -> None:
    """Numbers next to multiples of the divisor, where a quotient by floats would be off by one, and any others."""
    chosen = random.Random(divisor)
    near = [divisor * chosen.randrange(GRID // divisor + 1) + step for step in (-1, 0, 1) for _ in range(300)]
    numbers = [0, GRID - 1, *(n for n in near if 0 <= n < GRID), *(chosen.randrange(GRID) for _ in range(99))]
    words = np.array([number << kernels.UNUSED_BITS | chosen.getrandbits(11) for number in numbers], dtype=np.uint64)
    highest, before = int(words.max()), words.tolist()
    assert not kernels.remainders(words, highest - 1, divisor) and words.tolist() == before, "one is beyond the last"
    assert kernels.remainders(words, highest, divisor)
    assert words.tolist() == [number % divisor for number in numbers]


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize(("count", "cells"), [(0, 3), (1, 3), (23, 3), (4001, 200), (4002, 2**15)])
def test_occurrences(way: str, kind: str, count: int, cells: int) -> None:
    numbers = np.random.default_rng(count).integers(0, min(cells, 256), 2 * count).astype(kind)
    for given_numbers in (numbers, numbers[::2], numbers[::-1]):
        given_numbers.flags.writeable = False
        expected = [int((given_numbers == cell).sum()) for cell in range(min(cells, 256))]
        assert kernels.occurrences(given_numbers, cells).tolist() == expected + [0] * (cells - len(expected))


def test_the_environment_decides_whether_loops_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTO_COMPILED", "0")
    assert kernels.Loops()() is None
    missing = {"sottovoce.core.kernels.compiled": None}
    monkeypatch.setitem(sys.modules, *missing.popitem())
    monkeypatch.delattr(kernels, "compiled", raising=False)
    monkeypatch.setenv("SOTTO_COMPILED", "1")
    with pytest.raises(sv.SottovoceError, match="SOTTO_COMPILED=1 asks for compiled loops"):
        kernels.Loops()()
    monkeypatch.delenv("SOTTO_COMPILED")
    assert kernels.Loops()() is None


# The keystream.


def counter_mode(first_block: int, count: int) -> bytes:
    mode = modes.CTR(first_block.to_bytes(16, "big"))
    return Cipher(algorithms.AES(_simulation_key(5)), mode).encryptor().update(bytes(8 * count))


def test_the_keystream_is_counter_mode() -> None:
    """In pieces of any size, whichever mode of the cipher they come from."""
    sizes = (1, 2, 1, 3, 5, 100, 7, 2**15 + 3)
    stream = Keystream(5)
    assert b"".join(stream.words(size).tobytes() for size in sizes) == counter_mode(0, sum(sizes))


def test_the_keystream_goes_on_beyond_four_bytes_of_counter() -> None:
    stream = Keystream(5)
    stream.words(5)
    assert stream._left == 16 * (2**32 - 2) - 8, "two blocks of counter mode, then as many as GCM can number"
    stream._left = 0  # As after 64 GB.
    assert stream.words(9).tobytes() == counter_mode(2**32, 9)


# The contract's proof by every draw, of columns.

COLUMNS: list[Mechanism] = [
    sv.RandomizedResponse(epsilon=1.0),
    sv.KRR(["a", "b", "c"], epsilon=1.0),
    sv.KRR(9, p=0.05),
    sv.Unary(5, epsilon=1.0),
    sv.Unary(9, epsilon=3.0),
    sv.Subset(6, epsilon=1.0, size=3),
    sv.Hadamard(7, epsilon=2.0),
    sv.Projective(2, epsilon=1.0),
    sv.Projective(7, epsilon=0.5, order=2),
    sv.Projective(13, epsilon=1.0, order=3),
    sv.Projective(17, epsilon=2.0, order=4),
    sv.Projective(6, epsilon=2.0, order=5),
    sv.LocalHash(6, epsilon=1.0),
    sv.LocalHash(7, epsilon=2.0, buckets=3),
    sv.LocalHash(9, epsilon=2.0, buckets=8),
]


@pytest.mark.parametrize("m", COLUMNS, ids=repr)
def test_every_draw_of_a_column(way: str, m: Mechanism) -> None:
    contract.check_every_draw_of_a_column_gives_the_channel(m)


def unfair(m: Mechanism, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the compiled loop says of words that are all fair, then of one in each column that is beyond the last."""
    compiled = compiled_loops()
    monkeypatch.setattr(kernels.loops, "found", compiled)
    said = []

    class Words(Keystream):
        def feed(self, loop: Any, count: int, *needs: Any) -> None:
            columns = [np.zeros(count, dtype=np.uint64) for _ in needs]
            said.append(loop(*columns))
            for words, need in zip(columns, needs, strict=True):
                for word in (last_fair(need), last_fair(need) + 1) if isinstance(need, int) else (2**64 - 1,):
                    words[-1] = word
                    said.append(loop(*columns))
                words[-1] = 0

    m._perturb_into(np.arange(1500) % m.domain.size, Words(1), m.shape.empty(1500))
    return said


def test_loops_say_which_words_are_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a coin all are; of one of k numbers, those up to the last; of the later people too."""
    assert unfair(sv.KRR(13, 1.0), monkeypatch) == [True, True, True, False]
    assert unfair(sv.LocalHash(100, 1.0, buckets=7), monkeypatch) == [True, True, False, True, True, False]
    assert unfair(sv.Projective(100, 1.0, order=7), monkeypatch) == [True, True, True, False, True, False]


@pytest.mark.parametrize(
    "m",
    [
        broken.SetBitNeverCleared(3, 1.0),
        broken.SwappedProbabilities(3, 1.0),
        broken.LastBitNotRandomized(9, 1.0),
        broken.ExcludedValueStillDrawn(3, 1.0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_broken_column_is_caught(m: Mechanism) -> None:
    with pytest.raises(AssertionError):
        contract.check_every_draw_of_a_column_gives_the_channel(m)


@pytest.mark.parametrize("count", [0, 1, 63, 65, 1001, 2**13 + 1])
@pytest.mark.parametrize(
    "m",
    [*COLUMNS, sv.Unary(1024, 1.0), sv.Unary(77, 0.5), sv.Subset(9, 0.5, size=5), sv.Subset(1000, 1.0),
     sv.Subset(128, 1.0), sv.Subset(129, 1.0), sv.Projective(1000, 1.0), sv.LocalHash(1000, 3.0), sv.KRR(2**20, 2.0),
     sv.Hadamard(2**20, 1.0), *(sv.Projective(10**5, 1.0, order=g) for g in (2, 3, 4, 8, 16, 32)),
     *(sv.LocalHash(10**5, 2.0, buckets=g) for g in (2, 4, 8, 16, 32))],
    ids=repr,
)  # fmt: skip
def test_compiled_columns_are_the_same(m: Mechanism, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports and their counts, for numbers of answers that fill no word."""
    compiled = compiled_loops()
    values = [m.domain.labels[i % m.domain.size] for i in range(count)]
    found = []
    for loops in (None, compiled):
        monkeypatch.setattr(kernels.loops, "found", loops)
        reports = m.randomize_many(values, seed=count)
        found.append((reports.data.tobytes(), m.tally().add_many(reports).cells.tolist()))
    assert found[0] == found[1]


WIDE = [
    sv.KRR(2**20, 2.0), sv.Unary(77, 0.5), sv.Unary(1024, 1.0), sv.Subset(129, 1.0), sv.Hadamard(2**20, 1.0),
    *(sv.Projective(10**5, 1.0, order=g) for g in (2, 3, 4, 8, 16, 32)),
    *(sv.LocalHash(10**5, 2.0, buckets=g) for g in (2, 4, 5, 8, 16, 32, 64, 128, 4096)),
]  # fmt: skip


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(4, marks=pytest.mark.slow)])
def level(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The loops as processors of some level run them: in a folder with the library of that level alone."""
    compiled = compiled_loops()
    if request.param > compiled._library.processor_level() or not compiled.library(request.param).exists():
        pytest.skip(f"this processor is not of level {request.param}")
    shutil.copy(compiled.__file__, tmp_path / "compiled.py")
    shutil.copy(compiled.library(request.param), tmp_path / compiled.library(1).name)
    spec = spec_from_file_location("compiled", tmp_path / "compiled.py")
    assert spec is not None and spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_libraries_of_all_levels_give_the_same(level: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    column = np.random.default_rng(1).integers(0, 2**16, 2**15)
    rows = np.frombuffer(random.Random(1).randbytes(5000 * 24), dtype=np.uint8).reshape(5000, 24)
    hashes, table = Hashes("salt", 64, 32, 2), np.arange(64 * 32).reshape(32, 64)
    found = []
    for loops in (None, level):
        monkeypatch.setattr(kernels.loops, "found", loops)
        results = [kernels.walsh_hadamard(column), rows_of_bits.column_sums(rows), rows_of_bits.row_sums(rows),
                   hashes.look_up(table, column), hashes.look_up(table / 3, column),
                   kernels.occurrences(column.astype(np.uint16), 2**16),
                   kernels.occurrences(column % 99, 99)]  # fmt: skip
        for m in [*COLUMNS, *WIDE]:
            reports = m.randomize_many([m.domain.labels[i % m.domain.size] for i in range(3001)], seed=1)
            results += [reports.data, m.tally().add_many(reports).cells]
        found.append([result.tolist() for result in results])
    assert found[0] == found[1]


def test_libraries_are_of_these_sources() -> None:
    """After a change of the C files, `make` compiles them anew."""
    compiled = compiled_loops()
    whole = hashlib.sha256()
    for path in sorted([*compiled.FOLDER.glob("*.c"), *compiled.FOLDER.glob("*.h")]):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for path in compiled.FOLDER.glob(f"loops_*{compiled.SUFFIX}"):
        sources = ctypes.CDLL(str(path)).sources
        sources.restype = ctypes.c_char_p
        assert sources().decode() == whole.hexdigest()


@pytest.mark.parametrize("kind", ["<i4", ">i8", "f8"])
def test_a_loop_takes_no_other_numbers(kind: str) -> None:
    """A pointer to other numbers would read and write beside them."""
    compiled = compiled_loops()
    words, codes = np.zeros(9, dtype=np.uint64), np.zeros(9, dtype=np.int64)
    assert compiled.respond(codes, 1, 3, 2**64 - 1, np.empty(9, dtype=np.uint8), words, words)
    for wrong in (codes.astype(kind), np.zeros(18, dtype=np.int64)[::2]):
        with pytest.raises((ctypes.ArgumentError, TypeError)):
            compiled.respond(wrong, 1, 3, 2**64 - 1, np.empty(9, dtype=np.uint8), words, words)
    for out in (np.empty(9, dtype=kind if kind != "<i4" else "f4"), np.empty(18, dtype=np.uint8)[::2], codes):
        out.flags.writeable = out is not codes
        with pytest.raises(TypeError):
            compiled.respond(codes, 1, 3, 2**64 - 1, out, words, words)
    with pytest.raises(ValueError, match="columns must have 9 entries"):
        compiled.respond(codes, 1, 3, 2**64 - 1, np.empty(8, dtype=np.uint8), words, words)


def test_answers_that_change_meanwhile_are_read_beside_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiled_loops()
    monkeypatch.setattr(kernels.loops, "found", compiled)
    for m in (sv.Projective(100, 1.0, order=7), sv.Projective(100, 1.0, order=8), sv.LocalHash(100, 1.0)):
        out = m.shape.empty(4)
        m._perturb_into(np.array([2**62, -1, -(2**63), 2**40]), Keystream(1), out)
        assert (out < m.shape.outcomes).all()


@pytest.mark.parametrize("m", COLUMNS, ids=repr)
def test_columns_may_begin_anywhere_in_memory(way: str, m: Mechanism) -> None:
    """Answers and reports that lie beside the borders of words, as in a slice of a file."""
    codes = np.arange(1000) % m.domain.size
    answers = np.frombuffer(b"?" + codes.tobytes(), dtype=np.int64, offset=1)
    plain = m.shape.empty(codes.size)
    m._perturb_into(codes, Keystream(1), plain)
    moved = m.shape.empty(codes.size)
    m._perturb_into(answers, Keystream(1), moved)
    assert (moved == plain).all()
    shifted = np.frombuffer(b"?" + plain.tobytes(), dtype=plain.dtype, offset=1).reshape(plain.shape)
    assert m.tally().add_many(shifted).cells.tolist() == m.tally().add_many(plain).cells.tolist()


# Vectors.


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 16, 31, 64, 251, 256, 1021, 2048, 4093, 4096])
@pytest.mark.parametrize("size", [3, 52])
def test_columns_of_vectors(way: str, order: int, size: int) -> None:
    """The arithmetic of columns is that of numbers; some vectors are zero, some have a digit alone, some 52 bits."""
    space = Space(order, 3 if size == 3 else int(52 / math.log2(order)))
    chosen = random.Random(order)
    a, b = ([0, 1, order, space.size - 1] + [chosen.randrange(space.size) for _ in range(60)] for _ in range(2))
    chosen.shuffle(b)
    one, other = np.array(a), np.array(b)
    assert space.inner_many(one, other).tolist() == [space.inner(i, j) for i, j in zip(a, b, strict=True)]
    factors, lines = space.normalise_many(one)
    expected = [space.normalise(i) if i else (0, -1) for i in a]
    assert list(zip(factors.tolist(), lines.tolist(), strict=True)) == expected
    assert Field(order).degree == 0 or Field(order).modulus.bit_length() == Field(order).degree + 1


# Transforms.


def signs(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Entries of the matrix that the transform multiplies by."""
    entries: NDArray[np.int64] = 1 - 2 * (np.bitwise_count(rows[:, None] & columns) & 1).astype(np.int64)
    return entries


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 5, 6, 7, 13])
def test_walsh_hadamard(way: str, bits: int) -> None:
    """A column, and a table of some; what is given stays as it is."""
    table = np.random.default_rng(bits).integers(-(10**6), 10**6, (3, 2**bits))
    places, before = np.arange(2**bits), table.copy()
    matrix = signs(places, places).astype(np.float64)  # All sums are below 2^53, and floats are multiplied faster.
    assert (kernels.walsh_hadamard(table[0]) == matrix @ table[0]).all()
    assert (kernels.walsh_hadamard(table) == table @ matrix).all()
    assert (kernels.walsh_hadamard(table[:, ::-1]) == table[:, ::-1] @ matrix).all()
    assert (table == before).all()


@pytest.mark.parametrize("bits", [15, 16, 17, 18])
def test_a_large_transform(way: str, bits: int) -> None:
    """Too large for the first cache: some entries by their definition, and all of them by going back."""
    column = np.random.default_rng(bits).integers(0, 2**16, 2**bits)
    found = kernels.walsh_hadamard(column)
    places = np.unique(np.concatenate([2 ** np.arange(bits), 2**bits - 1 - 2 ** np.arange(bits), [0, 12345]]))
    assert (found[places] == signs(places, np.arange(2**bits)) @ column).all()
    assert (kernels.walsh_hadamard(found) == column * 2**bits).all()


# Rows of a fixed number of ones.

LENGTH, CODE = 6, 2
OTHERS = [place for place in range(LENGTH) if place != CODE]
LIMIT = 2**32 - 2**32 % len(OTHERS)


def toggled(held: frozenset[int], draw: int, size: int) -> frozenset[int]:
    """What one draw does to a set: all others that the loop is given are beyond the limit, and must be ignored."""
    rows = np.array([[sum(1 << place for place in held)]], dtype=np.uint8)
    drawn = np.full((1, rows_of_bits.PLACES_AT_ONCE), 2**32 - 1, dtype=np.uint32)
    drawn[0, 7] = draw
    excess, each = np.array([len(held) - size]), np.array([0])
    loops = kernels.loops() or rows_of_bits
    left = loops.toggle(drawn, LIMIT, len(OTHERS), each, rows, np.array([CODE]), excess)
    after = frozenset(place for place in range(LENGTH) if rows[0, 0] >> place & 1)
    assert excess[0] == len(after) - size and left == (len(after) != size)
    return after


def law_of_resizing(size: int) -> dict[frozenset[int], dict[frozenset[int], Fraction]]:
    """For every set to begin with, the exact law of the set it ends as: one draw leads to a set nearer to the size."""
    laws: dict[frozenset[int], dict[frozenset[int], Fraction]] = {}
    sets = [frozenset(held) for k in range(len(OTHERS) + 1) for held in combinations(OTHERS, k)]
    for held in sorted(sets, key=lambda held: abs(len(held) - size)):
        steps = [toggled(held, draw, size) for draw in range(len(OTHERS))]
        moves = [step for step in steps if step != held]
        assert bool(moves) == (len(held) != size)
        law: dict[frozenset[int], Fraction] = {} if moves else {held: Fraction(1)}
        for step in moves:  # Draws that change nothing only take time.
            for end, chance in laws[step].items():
                law[end] = law.get(end, Fraction(0)) + chance / len(moves)
        laws[held] = law
    return laws


@pytest.mark.parametrize("size", range(len(OTHERS) + 1))
def test_resizing_favours_no_set(way: str, size: int) -> None:
    """Coins of one probability give all sets of k members the same chance; then all sets of the size have the same."""
    laws = law_of_resizing(size)
    ends = [frozenset(held) for held in combinations(OTHERS, size)]
    for k in range(len(OTHERS) + 1):
        begun = [laws[frozenset(held)] for held in combinations(OTHERS, k)]
        assert {sum(law.get(end, Fraction(0)) for law in begun) / len(begun) for end in ends} == {
            Fraction(1, len(ends))
        }
    assert all(toggled(ends[0], draw, size) == ends[0] for draw in range(len(OTHERS))), "the size is reached: no change"


def test_an_uneven_resizing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @staticmethod
        def toggle(drawn: Any, limit: int, others: int, each: Any, rows: Any, codes: Any, excess: Any) -> int:
            """Takes the last place for the first, which becomes twice as likely."""
            return rows_of_bits.toggle(
                np.where(drawn == others - 1, 0, drawn), limit, others, each, rows, codes, excess
            )

    monkeypatch.setattr(kernels.loops, "found", Broken)
    with pytest.raises(AssertionError):
        test_resizing_favours_no_set("broken", 3)


@pytest.mark.parametrize("draw", [0, 4, 5, 9, LIMIT - 5, LIMIT - 1])
def test_places_are_drawn_without_bias(way: str, draw: int) -> None:
    """Every place has as many draws below the limit as any other; the rest of the numbers of 32 bits are ignored."""
    assert LIMIT % len(OTHERS) == 0 and 2**32 - LIMIT == 1
    assert toggled(frozenset(), draw, 1) == {OTHERS[draw % len(OTHERS)]}
    assert toggled(frozenset(), LIMIT, 1) == frozenset()


def test_put(way: str) -> None:
    rows = np.array([[0b1010, 0], [0xFF, 0xFF], [0, 0]], dtype=np.uint8)
    rows_of_bits.put(rows, np.array([[3, 0], [8, 0], [15, 0]])[:, 0], np.array([False, False, True]))
    assert rows.tolist() == [[0b0010, 0], [0xFF, 0xFE], [0, 0x80]]


def test_sets_of_a_long_column(way: str) -> None:
    """Each has its size, and values are held as p and q say, within 6 standard deviations: false alarms 2e-7."""
    m, n = sv.Subset(100, 1.0), 20_000
    bits = np.unpackbits(m.randomize_many(np.full(n, 37), seed=9).data.view(np.uint8), axis=1, bitorder="little")
    assert (bits.sum(axis=1) == m.size).all()
    assert not bits[:, 100:].any()
    chance = np.where(np.arange(100) == 37, float(m.p), float(m.q))
    assert (abs(bits[:, :100].sum(axis=0) - n * chance) < 6 * (n * chance * (1 - chance)) ** 0.5).all()
