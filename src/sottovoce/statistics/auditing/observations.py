"""Reports of any sort as something to count: keys that tell them apart, and a row of numbers for each.

An observation is what an attacker gets to see of one person: a report, or several in a tuple.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import islice
from numbers import Number
from typing import TYPE_CHECKING

from sottovoce.core.errors import ReportError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import to_float
from sottovoce.core.reports import Bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.reports import Reports

    Numbers = NDArray[np.integer | np.floating]

MAX_ITEMS = 2**20
MAX_DEPTH = 32
MAX_CELLS = 2**14
"""At most so many numbers of an observation are looked at. The rest of a longer one only tells it from others."""

WORD_BITS = 64
MAX_KEPT_LENGTH = 256
"""Reports with more characters, bytes or parts are kept as a digest."""
_NUMBERS = {int, float, bool}
_FLAT = {*_NUMBERS, str, bytes, type(None)}


class Observations:
    """What some people showed.

    `raw` is as it came, `keys` can be compared, `brief` can be compared and kept, `cells` is a table of numbers.
    """

    def __init__(self, raw: Sequence[object]) -> None:
        self._raw = raw

    @property
    def raw(self) -> Sequence[object]:
        return self._raw

    @cached_property
    def keys(self) -> list[Hashable]:
        return [plain(observation) for observation in self.raw]

    @cached_property
    def brief(self) -> list[Hashable]:
        return list(map(brief, self.keys))

    @cached_property
    def cells(self) -> Numbers:
        rows = [_atoms(key)[:MAX_CELLS] for key in self.keys]
        table = np.full((len(rows), max(map(len, rows))), -np.inf)
        for at, row in enumerate(rows):
            table[at, : len(row)] = row
        return table


class Bulk(Observations):
    """The same for a column of a mechanism's reports, `repeats` of them from each person."""

    def __init__(self, reports: Reports, repeats: int) -> None:
        self._reports, self._repeats = reports, repeats

    @cached_property
    def keys(self) -> list[Hashable]:
        flat = iter(self._reports)
        return list(flat) if self._repeats == 1 else list(zip(*[flat] * self._repeats, strict=True))

    @property
    def raw(self) -> Sequence[object]:
        return self.keys

    @cached_property
    def cells(self) -> Numbers:
        data, shape = self._reports.data, self._reports.mechanism.shape
        if isinstance(shape, Bits):
            data = np.unpackbits(data.view(np.uint8), axis=1, bitorder="little")[:, : shape.length]
        return data.reshape(len(data) // self._repeats, -1)[:, :MAX_CELLS]


class Digest(int):
    """Stands for a report that is too long to keep by the thousand."""


def brief(key: Hashable) -> Hashable:
    """A short report as it is written, so that 1 differs from 1.0 and 0.0 from -0.0; the digest of a long one."""
    if isinstance(key, tuple):
        size = sum(len(part) if isinstance(part, tuple | str | bytes) else 1 for part in key)
    else:
        size = len(key) if isinstance(key, str | bytes) else 1
    return Digest(hash(key)) if size > MAX_KEPT_LENGTH else repr(key)


def plain(report: object, depth: int = 0) -> Hashable:
    """A report as numbers, text and bytes, in tuples where there are several: alike for equal reports.

    >>> import numpy as np
    >>> plain([1, np.array([0, 1]), {"b": 2, "a": b"x"}])
    (1, (0, 1), (('a', b'x'), ('b', 2)))
    """
    if report is None or isinstance(report, str | bytes | int | float):
        return report
    if isinstance(report, bytearray | memoryview):
        return bytes(report)
    if hasattr(report, "tolist"):
        return plain(report.tolist(), depth)
    if depth > MAX_DEPTH:
        raise ReportError(f"a report must be nested at most {MAX_DEPTH} deep")
    if isinstance(report, Mapping):
        report = sorted(report.items(), key=repr)
    if isinstance(report, Iterable):
        parts = tuple(islice(report, MAX_ITEMS + 1))
        if len(parts) > MAX_ITEMS:
            raise ReportError(f"a report must have at most {MAX_ITEMS:,} parts")
        if not _FLAT.issuperset(map(type, parts)):
            parts = tuple(plain(part, depth + 1) for part in parts)
        return tuple(sorted(parts, key=repr)) if isinstance(report, Set) else parts
    if isinstance(report, Number):
        return report
    raise ReportError(f"a report must be a number, text, bytes or a list of these, got {report!r:.40}")


def _atoms(key: Hashable) -> array[float]:
    """The numbers that a report consists of: the bits of bytes, the letters of text, the length of what has one.

    A whole number that stands alone may be a vector of bits, so that its bits are added.
    """
    found = array("d")
    _collect(key, found)
    if isinstance(key, int) and key > 1:
        found.extend(key >> at & 1 for at in range(WORD_BITS))
    return found


def _collect(key: object, found: array[float]) -> None:
    if isinstance(key, tuple):
        found.append(len(key))
        if _NUMBERS.issuperset(map(type, key)):
            found.extend(_floats(key))
        else:
            for part in key:
                _collect(part, found)
    elif isinstance(key, bytes):
        found.append(len(key))
        found.extend(np.unpackbits(np.frombuffer(key, dtype=np.uint8), bitorder="little").tolist())
    elif isinstance(key, str):
        found.append(len(key))
        found.extend(map(ord, key))
    else:
        found.append(-math.inf if key is None or isinstance(key, complex) else to_float(key))


def _floats(numbers: tuple[float, ...]) -> array[float]:
    try:
        return array("d", numbers)
    except OverflowError:
        return array("d", map(to_float, numbers))
