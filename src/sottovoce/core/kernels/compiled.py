"""The hottest loops, from the library that was compiled of the C files beside this one.

They release the interpreter's lock. The types of all arrays are checked before a loop starts.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_bool, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.ctypeslib import ndpointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.integer[Any]]

FOLDER = Path(__file__).parent
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
MAX_TABLE_CELLS = 2**14
"""With more cells than that, four tables of counters would not stay near the processor."""
BLOCK, TILE_WIDTH = 2**13, 2**6
"""A transform first works on blocks of so many numbers, each by itself, then on so many numbers of each block."""
DESK_WORDS = 96
"""Words in which full adders keep the sums under way, for every eight words of a row."""


def library(level: int) -> Path:
    """The file for processors of a level of x86-64. Other processors have no levels, and one file, of level 1."""
    return FOLDER / f"loops_{level}{SUFFIX}"


def _open_best() -> ctypes.CDLL:
    """The best library for this processor."""
    try:
        found = ctypes.CDLL(str(library(1)))
    except OSError as error:
        raise ImportError(f"there are no compiled loops for this system: {error}") from None
    levels = [level for level in (4, 3) if level <= found.processor_level() and library(level).exists()]
    return ctypes.CDLL(str(library(levels[0]))) if levels else found


def _given(kind: str, dimensions: int = 1) -> type:
    """An array that is only read."""
    return ndpointer(kind, dimensions, flags=("C_CONTIGUOUS", "ALIGNED"))


def _filled(kind: str, dimensions: int = 1) -> type:
    """An array that is written to."""
    return ndpointer(kind, dimensions, flags=("C_CONTIGUOUS", "ALIGNED", "WRITEABLE"))


WORDS, CODES, FLAGS = _given("u8"), _given("i8"), _given("?")
OUT, COUNTS = _filled("u8"), _filled("i8")
FIELD = (c_uint64,) * 3
SPACE = (WORDS, WORDS, WORDS, c_int64, *FIELD)
COLUMN = (c_void_p, c_int32)
"""Where numbers of any width begin, and how many bytes each of them has."""

_library = _open_best()


def _loop(name: str, result: type | None, *arguments: type) -> ctypes._NamedFuncPointer:
    """A function of the library, with the types that it takes and gives."""
    loop: ctypes._NamedFuncPointer = getattr(_library, name)
    loop.restype, loop.argtypes = result, arguments
    return loop


_head = _loop("head", c_int64, WORDS, c_uint64, c_int64, c_int64, OUT, COUNTS, OUT)
_narrow = _loop(
    "narrow", c_int64, WORDS, c_int64, c_uint64, ctypes.POINTER(c_int64), c_int64, OUT, COUNTS, OUT, c_int64
)
_remainders = _loop("remainders", c_bool, OUT, c_int64, c_uint64, c_uint64)
_respond = _loop("respond", c_bool, CODES, c_int64, *[c_uint64] * 3, *COLUMN, WORDS, WORDS)
_reflect = _loop("reflect", c_bool, CODES, c_int64, *[c_uint64] * 2, *COLUMN, WORDS, WORDS)
_hash_and_respond = _loop(
    "hash_and_respond", c_bool, WORDS, c_int64, *FIELD, *[c_uint64] * 4, *COLUMN, WORDS, WORDS, WORDS
)
_draw_planes = _loop(
    "draw_planes", c_bool, WORDS, c_int64, *[c_uint64] * 5, *SPACE, *COLUMN, WORDS, WORDS, WORDS
)  # fmt: skip
_inner = _loop("inner", None, WORDS, WORDS, c_int64, *FIELD, OUT)
_normalise = _loop("normalise", None, WORDS, c_int64, *SPACE, OUT, OUT)
_walsh_hadamard = _loop("walsh_hadamard", None, _filled("i8", 2), c_int64, c_int64, COUNTS)
_add_occurrences = _loop("add_occurrences", c_bool, *COLUMN, c_int64, COUNTS, c_int64, _filled("u4"), c_int64)
_row_sums = _loop("row_sums", None, _given("u8", 2), c_int64, c_int64, COUNTS)
_column_sums = _loop("column_sums", None, _given("u8", 2), c_int64, c_int64, COUNTS, OUT)
_put = _loop("put", None, _filled("u1", 2), c_int64, CODES, FLAGS, c_int64)
_toggle = _loop(
    "toggle", c_int64,
    _given("u4", 2), c_int64, c_uint64, c_uint32, COUNTS, c_int64, _filled("u1", 2), c_int64, CODES, COUNTS,
)  # fmt: skip
_look_up = {
    kind: _loop(name, None, CODES, c_int64, _given("u8", 3), c_int64, c_int64, _given(kind, 2), c_int32, _filled("f8"))
    for kind, name in (("i8", "look_up_numbers"), ("f8", "look_up_floats"))
}


def _column(numbers: Integers, kinds: str, filled: bool) -> tuple[int, int]:
    """Where a column of whole numbers begins, and how many bytes each of them has."""
    flags = numbers.flags
    fits = numbers.dtype.kind in kinds and numbers.dtype.isnative and flags.c_contiguous and flags.aligned
    if not fits or filled > flags.writeable:
        raise TypeError(f"a loop needs a column of whole numbers in one piece, got {numbers.dtype}, {flags}")
    return numbers.ctypes.data, numbers.itemsize


def _check_sizes(count: int, *columns: NDArray[Any]) -> None:
    """A loop takes as many numbers from each column."""
    if any(column.size < count for column in columns):
        raise ValueError(f"columns must have {count} entries, got {[column.size for column in columns]}")


def head(
    words: NDArray[np.uint64], bound: int, steps: int,
    coins: NDArray[np.uint64], where: NDArray[np.int64], still: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Compare the first bits of every coin with the bound: see `kernels.head`."""
    _check_sizes(coins.size, where, still)
    _check_sizes(steps * coins.size, words)
    return int(_head(words, bound, steps, coins.size, coins, where, still))


def narrow(
    words: NDArray[np.uint64], bound: int, step: int, needed: int,
    coins: NDArray[np.uint64], where: NDArray[np.int64], still: NDArray[np.uint64],
) -> tuple[int, int]:  # fmt: skip
    """Compare further bits of the open words with the bound: see `kernels.narrow`."""
    _check_sizes(where.size, still)
    after = c_int64(step)
    left = _narrow(words, words.size, bound, ctypes.byref(after), needed, coins, where, still, where.size)
    return int(left), after.value


def remainders(words: NDArray[np.uint64], last: int, divisor: int) -> bool:
    """Replace each word by the remainder of its first 53 bits: see `kernels.remainders`."""
    return bool(_remainders(words, words.size, last, divisor))


def respond(
    codes: NDArray[np.int64], heads: int, others: int, last: int, out: Integers,
    tosses: NDArray[np.uint64], drawn: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """A code where its coin falls heads, otherwise one of so many others. Returns whether all draws were fair."""
    _check_sizes(codes.size, out, tosses, drawn)
    return bool(_respond(codes, codes.size, heads, others, last, *_column(out, "iu", True), tosses, drawn))


def reflect(
    codes: NDArray[np.int64], heads: int, mask: int, out: Integers,
    tosses: NDArray[np.uint64], drawn: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """Rows that share an even number of bits with a value where its coin falls heads, otherwise an odd number.

    Returns whether all draws were fair.
    """
    _check_sizes(codes.size, out, tosses, drawn)
    return bool(_reflect(codes, codes.size, heads, mask, *_column(out, "iu", True), tosses, drawn))


def hash_and_respond(
    codes: NDArray[np.uint64], order: int, degree: int, modulus: int,
    cohorts: int, last_cohort: int, heads: int, last: int, out: Integers,
    drawn_cohorts: NDArray[np.uint64], tosses: NDArray[np.uint64], drawn: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """A cohort, and the bucket of the value there or another one, as one number.

    Returns whether all draws were fair.
    """
    _check_sizes(codes.size, out, drawn_cohorts, tosses, drawn)
    fixed = (order, degree, modulus, cohorts, last_cohort, heads, last)
    return bool(_hash_and_respond(codes, codes.size, *fixed, *_column(out, "iu", True), drawn_cohorts, tosses, drawn))


def draw_planes(
    codes: NDArray[np.uint64], heads: int, on: int, last_on: int, off: int, last_off: int,
    powers: NDArray[np.uint64], starts: NDArray[np.uint64], inverses: NDArray[np.uint64],
    order: int, degree: int, modulus: int, out: Integers,
    tosses: NDArray[np.uint64], drawn_on: NDArray[np.uint64], drawn_off: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """A hyperplane through the point of each value where its coin falls heads, otherwise one that misses it.

    Returns whether all draws were fair.
    """
    _check_sizes(codes.size, out, tosses, drawn_on, drawn_off)
    space = (powers, starts, inverses, powers.size, order, degree, modulus)
    draws = (heads, on, last_on, off, last_off)
    return bool(_draw_planes(codes, codes.size, *draws, *space, *_column(out, "iu", True), tosses, drawn_on, drawn_off))


def inner(
    a: NDArray[np.uint64], b: NDArray[np.uint64], order: int, degree: int, modulus: int, out: NDArray[np.uint64]
) -> None:
    """The inner products of two columns of vectors."""
    _check_sizes(a.size, b, out)
    _inner(a, b, a.size, order, degree, modulus, out)


def normalise(
    vectors: NDArray[np.uint64], powers: NDArray[np.uint64], starts: NDArray[np.uint64], inverses: NDArray[np.uint64],
    order: int, degree: int, modulus: int, factors: NDArray[np.uint64], numbers: NDArray[np.uint64],
) -> None:  # fmt: skip
    """The factor that makes a vector's leading digit 1, and the number of its line; of zero, 0 and -1."""
    _check_sizes(vectors.size, factors, numbers)
    space = (powers, starts, inverses, powers.size, order, degree, modulus)
    _normalise(vectors, vectors.size, *space, factors, numbers)


def walsh_hadamard(table: NDArray[np.int64]) -> None:
    """Each row of a table, whose length is a power of two, becomes its transform."""
    rows, size = table.shape
    _walsh_hadamard(table, rows, size, np.empty(max(1, size // BLOCK) * TILE_WIDTH, dtype=np.int64))


def add_occurrences(numbers: Integers, total: NDArray[np.int64]) -> bool:
    """Add to `total` how often each of fewer than 2^32 numbers occurs. Returns False if one of them is too large."""
    several = total.size <= MAX_TABLE_CELLS and numbers.size >= 32 * total.size
    width = 1 << (total.size - 1).bit_length() if several else 0
    tables = np.zeros(4 * width, dtype=np.uint32)
    return bool(_add_occurrences(*_column(numbers, "u", False), numbers.size, total, total.size, tables, width))


def row_sums(rows: NDArray[np.uint64], sums: NDArray[np.int64]) -> None:
    """How many bits each row has set."""
    _check_sizes(len(rows), sums)
    _row_sums(rows, *rows.shape, sums)


def column_sums(rows: NDArray[np.uint64], total: NDArray[np.int64]) -> None:
    """Add to `total` how many rows have each bit set. Rows have a multiple of eight words."""
    count, width = rows.shape
    _check_sizes(64 * width, total)
    _column_sums(rows, count, width, total, np.zeros(DESK_WORDS * (width // 8), dtype=np.uint64))


def put(rows: NDArray[np.uint8], codes: NDArray[np.int64], bits: NDArray[np.bool_]) -> None:
    """In each row of bits, set the one of a value to what is given."""
    _check_sizes(codes.size, bits)
    _check_sizes(codes.size * rows.shape[1], rows)
    _put(rows, rows.shape[1], codes, bits, codes.size)


def toggle(
    drawn: NDArray[np.uint32], limit: int, others: int,
    each: NDArray[np.int64], rows: NDArray[np.uint8], codes: NDArray[np.int64], excess: NDArray[np.int64],
) -> int:  # fmt: skip
    """A few draws for every row that is to be resized: see `rows.toggle`."""
    _check_sizes(each.size, drawn[:, 0])
    _check_sizes(len(rows), codes, excess)
    draws = drawn.shape[1]
    return int(_toggle(drawn, draws, limit, others, each, each.size, rows, rows.shape[1], codes, excess))


def look_up(
    codes: NDArray[np.int64],
    words: NDArray[np.uint64],
    table: NDArray[np.int64 | np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add what the table has in the buckets of each value: a row for each cohort, and the words of its functions."""
    cohorts, functions, _ = words.shape
    _check_sizes(codes.size, sums)
    _check_sizes(cohorts, table[:, 0])
    loop = _look_up[table.dtype.str[1:]]
    loop(codes, codes.size, words, cohorts, functions, table, table.shape[1], sums)
