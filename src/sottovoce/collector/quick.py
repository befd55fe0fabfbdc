"""A short cut for what nearly all submissions are: the one canonical spelling of a report to a known survey.

In it everything but the id, the numbers and the bits is fixed, so that one regular expression reads it in a third of
the time that parsing and checking take. What does not match is nobody's fault yet: `wire` looks at it, and decides.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from sottovoce.collector.layout import Field, Layout
from sottovoce.errors import ReportError
from sottovoce.reports import Bits, Index
from sottovoce.wire import EXACT

KNOWN = 4096
"""Combinations of covariates that are remembered as allowed."""

Read = tuple[bytes, int, str, bytes]
"""Id, wave, covariates, row."""


class Quick:
    """Reads the canonical submissions to one survey."""

    def __init__(self, layout: Layout) -> None:
        self.waves = layout.survey.waves
        self.marks = ((1 << len(layout.fields)) - 1).to_bytes(layout.marks, "little")
        self.known = set() if layout.survey.covariates else {b"{}"}
        patterns = {field.id: _pattern(field) for field in layout.fields}
        order = sorted(patterns)
        self.writers = [(order.index(field.id) + 3, _writer(field)) for field in layout.fields]
        reports = ",".join(f'"{name}":{patterns[name]}' for name in order)
        whole = (
            rf'\{{"covariates":(\{{[^{{}}]*\}}),"id":"([0-9a-f]{{32}})","reports":\{{{reports}\}},'
            rf'"survey":"{layout.survey.digest}","wave":(0|[1-9][0-9]{{0,8}})\}}'
        )
        self.last = len(order) + 3
        self.match = re.compile(whole.encode("ascii")).fullmatch if all(patterns.values()) else None

    def read(self, data: bytes) -> Read | None:
        """What a canonical submission holds; None if these bytes need a closer look."""
        found = self.match(data) if self.match else None
        if found is None or found[1] not in self.known or int(found[self.last]) >= self.waves:
            return None
        parts = [write(found[at]) for at, write in self.writers]
        if None in parts:
            return None
        row = b"".join([self.marks, *(part for part in parts if part is not None)])
        return bytes.fromhex(found[2].decode("ascii")), int(found[self.last]), found[1].decode(), row

    def learn(self, covariates: str) -> None:
        """Remember covariates that were checked."""
        if len(self.known) < KNOWN:
            self.known.add(covariates.encode())


def _pattern(field: Field) -> str:
    """How a report is written; nothing for one that is too large for the short cut."""
    shape = field.mechanism.shape
    if isinstance(shape, Bits):
        return rf'"([A-Za-z0-9_-]{{{(8 * shape.width + 5) // 6}}})"'
    return "(0|[1-9][0-9]{0,15})" if isinstance(shape, Index) and shape.outcomes <= EXACT else ""


def _writer(field: Field) -> Callable[[bytes], bytes | None]:
    """From a report as it is written to its place in a row; None if it is not one."""
    shape, width = field.mechanism.shape, field.width
    if isinstance(shape, Bits):
        return lambda text: _bits(text, shape)
    outcomes = shape.outcomes if isinstance(shape, Index) else 0

    def number(text: bytes) -> bytes | None:
        value = int(text)
        return value.to_bytes(width, "little") if value < outcomes else None

    return number


def _bits(text: bytes, shape: Bits) -> bytes | None:
    data = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    try:
        return shape.check(data) if base64.urlsafe_b64encode(data).rstrip(b"=") == text else None
    except ReportError:
        return None
