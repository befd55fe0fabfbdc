"""Which handler answers which address.

A table is `{"/v1/surveys/{id}": {"GET": handler}}`. A part in braces stands for any text but the empty one, and is
given to the handler after the request. Where both fit, a part that is spelled out is preferred to one in braces.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from sottovoce.web.http import Problem, Reply

Handler = Callable[..., Awaitable[Reply]]
"""Takes the request and the parts of its address that are in braces."""

Methods = Mapping[str, Handler]
Table = Mapping[str, Methods]

PLACEHOLDER = "{}"


@dataclass(slots=True)
class _Node:
    """The beginning of some addresses: which parts may follow, and the pattern that ends here, if one does."""

    parts: dict[str, _Node] = field(default_factory=dict)
    pattern: str | None = None


class Router:
    """The handlers of all tables that were added.

    >>> async def show(request, name): ...
    >>> router = Router()
    >>> router.add({"/s/{id}": {"GET": show}})
    >>> router.find("/s/habits")
    ('/s/{id}', ['habits'])
    """

    def __init__(self) -> None:
        self.table: dict[str, Methods] = {}
        self._root = _Node()

    def add(self, table: Table) -> None:
        """Add routes; an address that is there already keeps its methods and gets these too."""
        for pattern, methods in table.items():
            self.table[pattern] = {**self.table.get(pattern, {}), **methods}
            node = self._root
            for part in pattern.removeprefix("/").split("/"):
                node = node.parts.setdefault(PLACEHOLDER if part.startswith("{") else part, _Node())
            node.pattern = pattern

    def find(self, path: str) -> tuple[str, list[str]]:
        """The pattern of an address, by which `table` has its handlers, and its parts in braces."""
        node, values = self._root, []
        for part in path.removeprefix("/").split("/"):
            if part in node.parts and part != PLACEHOLDER:
                node = node.parts[part]
            elif part and PLACEHOLDER in node.parts:
                node = node.parts[PLACEHOLDER]
                values.append(part)
            else:
                raise nothing_here()
        if node.pattern is None:
            raise nothing_here()
        return node.pattern, values


def nothing_here() -> Problem:
    return Problem(404, "not_found", "there is nothing at this address")
