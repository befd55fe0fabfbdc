"""Files of surveys and questions: JSON, or YAML without its traps.

YAML is read by the rules of its version 1.2, as JSON would be: `no` is text and not false, a date is text, a key that
occurs twice is an error, and nothing refers to anything else in the file.
"""

from __future__ import annotations

import functools
import re
from os import PathLike
from typing import TYPE_CHECKING, Any

from sottovoce.core import canonical
from sottovoce.core.errors import FileError, ParameterError
from sottovoce.core.lazy import load

if TYPE_CHECKING:
    from collections.abc import Hashable

    from yaml import MappingNode, Node, SafeLoader

IMPLICIT_TYPES = {
    "null": r"null|~|",
    "bool": r"true|false",
    "int": r"-?(0|[1-9][0-9]*)",
    "float": r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?",
}
"""What text without quotes stands for, by what it looks like; all other text is text."""


def read(path: str | PathLike[str], most: int) -> object:
    """The value in a file of at most so many bytes."""
    data = read_bytes(path, most)
    return canonical.loads(data) if str(path).endswith(".json") else from_yaml(data)


def read_bytes(path: str | PathLike[str], most: int) -> bytes:
    """What is in a file of at most so many bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise FileError(f"{path}: {reason}") from None
    if len(data) > most:
        raise ParameterError(f"the file must have at most {most:,} bytes")
    return data


def from_yaml(data: bytes) -> object:
    """The value of a YAML document, in JSON's types."""
    yaml = load("yaml")
    try:
        text = data.decode("utf-8")
        return canonical.loads(canonical.dumps(yaml.load(text, Loader=_loader())))
    except UnicodeError:
        raise ParameterError("YAML must be valid UTF-8") from None
    except RecursionError:
        raise ParameterError(f"YAML must be nested at most {canonical.MAX_DEPTH} levels deep") from None
    except yaml.YAMLError as error:
        raise ParameterError(f"not YAML: {' '.join(str(error).split()):.160}") from None


@functools.cache
def _loader() -> type[SafeLoader]:
    """PyYAML's safe loader with the types of JSON only."""
    import yaml

    class Plain(yaml.SafeLoader):
        yaml_implicit_resolvers = {}  # noqa: RUF012

        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.composer.ComposerError(None, None, "there must be no aliases", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[str] = set()
            for key in (str(key.value) for key, _ in node.value):
                if key in seen:
                    raise ParameterError(f"a key must occur once, got {key!r:.40} twice")
                seen.add(key)
            return super().construct_mapping(node, deep)

    for kind, pattern in IMPLICIT_TYPES.items():
        Plain.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"(?:{pattern})$"), None)
    return Plain
