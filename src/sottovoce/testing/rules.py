"""How a check speaks: it raises `BrokenRule`, an AssertionError that also counts under `python -O`."""

from __future__ import annotations

from sottovoce.core.errors import ParameterError


class BrokenRule(AssertionError):  # noqa: N818 (it is an AssertionError, and says which rule is broken)
    """A mechanism does not do what it declares."""


class TooLargeToCheckError(ParameterError):
    """An instance of a mechanism has too many values or draws to enumerate. Check a smaller one."""


def require(kept: object, rule: str) -> None:
    """Raise `BrokenRule` unless the rule is kept."""
    if not kept:
        raise BrokenRule(rule)
