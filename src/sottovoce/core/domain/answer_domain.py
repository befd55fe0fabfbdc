"""What all domains have in common, so that a mechanism can be asked for its domain whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from sottovoce.core.canonical import JsonObject


class AnswerDomain(Protocol):
    """The answers that a mechanism takes: a `Domain` of listed values, a `Scale`, a `Text` and so on."""

    @property
    def size(self) -> int:
        """How many different answers there are."""

    @property
    def labels(self) -> Sequence[Any]:
        """Every answer, in the order of the codes. Some domains are too large to list."""

    @property
    def encode(self) -> Callable[..., Any]:
        """From an answer to its code. A `Scale` rounds at random, and takes a source of randomness as well."""

    @property
    def encode_many(self) -> Callable[..., Any]:
        """The same for a column of answers."""

    def to_dict(self) -> JsonObject | list[JsonObject]:
        """The form that travels in JSON."""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The domain that `to_dict` wrote down."""
