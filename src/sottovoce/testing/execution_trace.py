"""What a device executes for an answer: every instruction and every call of the operating system, in order."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from unittest import mock

from sottovoce.core.reports import Report
from sottovoce.mechanisms import DBitFlip
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.compound.combine import Combined, Mixture

if TYPE_CHECKING:
    from _typeshed import TraceFunction

T = TypeVar("T")

Instructions: TypeAlias = tuple[tuple[str, int], ...]
"""The name of a function and the place of an instruction in it, one after another."""


def traces(m: Mechanism, value: object, runs: int) -> Iterator[tuple[Report, Instructions, tuple[int, ...]]]:
    """Of several calls: the report, what was executed, and how many bytes the operating system was asked for."""
    for seed in range(runs):
        chance, asked = random.Random(seed), list[int]()

        def urandom(count: int, chance: random.Random = chance, asked: list[int] = asked) -> bytes:
            asked.append(count)
            return chance.randbytes(count)

        with mock.patch.object(os, "urandom", urandom):
            report, instructions = traced(lambda: m.randomize(value), packages_of(m))
        yield report, instructions, tuple(asked)


def traced(run: Callable[[], T], packages: frozenset[str]) -> tuple[T, Instructions]:
    """What a call returns, and the instructions it executed in these packages."""
    instructions: list[tuple[str, int]] = []
    with _written_down(instructions, packages):
        result = run()
    return result, tuple(instructions)


@contextmanager
def _written_down(into: list[tuple[str, int]], packages: frozenset[str]) -> Iterator[None]:
    """Every instruction in a function of these packages."""

    def instruction(frame: FrameType, event: str, _: object) -> TraceFunction:
        if event == "opcode":
            into.append((frame.f_code.co_qualname, frame.f_lasti))
        return instruction

    def call(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        module = frame.f_globals.get("__name__", "builtins")
        if module.partition(".")[0] not in packages or module == __name__:
            return None
        frame.f_trace_opcodes = True
        return instruction

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def packages_of(m: Mechanism) -> frozenset[str]:
    """The packages that a mechanism's classes are written in, those of the standard library left out.

    A class typed into an interpreter or a document may have no module: Python then says that it is in builtins.
    """
    written_in = {cls.__module__.partition(".")[0] for cls in type(m).__mro__}
    return frozenset(written_in - (sys.stdlib_module_names - {"builtins"}))


def public_part(m: Mechanism, report: Report) -> int:
    """Which part of a mixture a report names, or which values a device drew for good; 0 for other mechanisms."""
    if isinstance(m, DBitFlip):
        return int(report) >> m.sampled
    combination = m._combination if isinstance(m, Combined) else None
    if not isinstance(combination, Mixture) or isinstance(report, bytes):
        return 0
    return sum(report >= start for start in combination.starts[1:])
