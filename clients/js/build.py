"""Join the modules of src/ into the one file that a page loads, `sottovoce.js`, and make it small.

Spaces go, and names of variables become short: the file does what the modules do. This takes no parser, since the
modules keep to a few habits: names of properties follow a dot, or a brace or a comma in an object; a division has a
space on either side; statements end with a semicolon; there are no labels, no empty statements, and no patterns in
declarations outside of functions.

python clients/js/build.py
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase

SOURCES = Path(__file__).parent / "src"
BUILT = Path(__file__).parent / "sottovoce.js"
HEADER = "// sottovoce, made of src/*.js by build.py. Apache-2.0\n"

IMPORT = re.compile(r'^(?:import|export) \{([^}]*)\} from "\./([a-z]+)\.js";\n', re.MULTILINE)
PIECE = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<text>"(?:[^"\\\n]|\\.)*" | /(?![ =])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)
    | (?P<template>`)
    | (?P<number>\d[\w.]*)
    | (?P<name>\#?[A-Za-z_$][\w$]*)
    | (?P<sign>\.\.\.|\?\.|=>|\+\+|--|\?\?=?|.)
    """,
    re.VERBOSE | re.DOTALL,
)
TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = words(
    "async await break catch class const constructor continue do else export extends false finally for function get if "
    "in instanceof let new null of return set static super this throw true try typeof undefined void while"
)
GLOBALS = words(
    "Array ArrayBuffer BigInt BigUint64Array DataView Date Error Float64Array Infinity JSON Map Math Number Object "
    "Promise Set String TextDecoder TextEncoder Uint32Array Uint8Array btoa globalThis parseInt structuredClone"
)
BEFORE_OBJECT = words("( , = : [ ? return const let ?? ??= |")
DECLARING = words("const function class for")
SMALL = "etnsoiarcldhupmbfgvywkxqzj"
"""Letters that are frequent anyway compress best."""

OPEN, CLOSE = words("{ ( ["), words("} ) ]")

Piece = tuple[str, str]
"""A kind and a text."""


def joined() -> tuple[str, list[str]]:
    """All modules in one text, each after those that it imports, and the names that it exports."""
    order: list[str] = []
    _visit("index", order)
    texts = [IMPORT.sub("", _read(name)) for name in order[:-1]]
    body = re.sub(r"^export (?=const|function|class)", "", "\n".join(texts), flags=re.MULTILINE)
    return body, [name for names, _ in IMPORT.findall(_read("index")) for name in re.findall(r"\w+", names)]


def _read(name: str) -> str:
    return (SOURCES / f"{name}.js").read_text("utf-8")


def _visit(name: str, order: list[str]) -> None:
    for _, other in IMPORT.findall(_read(name)):
        if other not in order:
            _visit(other, order)
    order.append(name)


def pieces(text: str) -> list[Piece]:
    """A text in pieces, without its spaces and comments. A template is cut at the code that is in it."""
    found: list[Piece] = []
    inside: list[int] = []  # For each template that is open, how many braces are.
    at = 0
    while match := PIECE.match(text, at):
        kind, piece = str(match.lastgroup), match.group()
        if kind == "sign" and inside:
            inside[-1] += (piece == "{") - (piece == "}")
        if kind == "template" or (inside and inside[-1] < 0):
            inside = inside if kind == "template" else inside[:-1]
            rest = TEMPLATE.match(text, at + 1)
            kind, piece = "text", piece + (rest.group() if rest else "")
            inside = [*inside, 0] if piece.endswith("${") else inside
        if kind != "space":
            found.append((kind, piece))
        at += len(piece)
    return found


def surroundings(found: list[Piece]) -> Iterator[list[str]]:
    """For each piece the brackets that are open around it: ( or [, { of a block, o of an object, $ of a template."""
    opened: list[str] = []
    for at, (kind, piece) in enumerate(found):
        if piece in CLOSE if kind == "sign" else kind == "text" and piece.startswith("}"):
            opened = opened[:-1]
        yield opened
        if kind == "sign" and piece in OPEN:
            opened = [*opened, "o" if piece == "{" and found[at - 1][1] in BEFORE_OBJECT else piece]
        if kind == "text" and piece.endswith("${"):
            opened = [*opened, "$"]


def roles(found: list[Piece], opened: list[list[str]]) -> Iterator[str]:
    """For each piece: a variable, a variable that names a property as well, or something else."""
    for at, (kind, piece) in enumerate(found):
        before, after = found[at - 1][1], found[min(at + 1, len(found) - 1)][1]
        listed = opened[at][-1:] == ["o"] and before in ("{", ",")
        if kind != "name" or piece in RESERVED | GLOBALS:
            yield "other"
        elif piece.startswith("#"):
            yield "variable"
        elif before in (".", "?.") or (listed and after == ":") or _is_method(found, opened, at):
            yield "other"
        else:
            yield "both" if listed and after in (",", "}", "=") else "variable"


def _is_method(found: list[Piece], opened: list[list[str]], at: int) -> bool:
    """Whether a name is followed by parameters and a body, and is not that of a function."""
    if found[at + 1 : at + 2] != [("sign", "(")] or found[at - 1][1] == "function":
        return False
    end = next(place for place in range(at + 2, len(found)) if opened[place] == opened[at])
    return found[end + 1][1] == "{"


def renamed(found: list[Piece], opened: list[list[str]], exported: list[str]) -> list[str]:
    """The pieces with short names: capitals for what is declared outside of all functions, small letters inside."""
    kinds = list(roles(found, opened))
    starts = [at for at, (_, piece) in enumerate(found) if not opened[at] and piece in DECLARING]
    outside = {found[at + 1][1] for at in starts if found[at][1] != "for"}
    used = Counter(piece for (_, piece), role in zip(found, kinds, strict=True) if role != "other")
    _check(used, outside)
    capitals = _fresh([name for name, _ in used.most_common() if name in outside - set(exported)], ascii_uppercase)
    parts: list[str] = []
    for start, end in zip([0, *starts], [*starts, len(found)], strict=True):
        own = Counter((found[at][1], kinds[at]) for at in range(start, end) if kinds[at] != "other")
        short = capitals | _local(own, outside)
        parts += [_rename(found[at][1], kinds[at], short) for at in range(start, end)]
    return parts


def _local(own: Counter[tuple[str, str]], outside: set[str]) -> dict[str, str]:
    """Short names inside of a function or a class. A name that is often a property's as well stays: that is shorter."""
    names = [name for name in dict.fromkeys(name for name, _ in own) if name not in outside]
    kept = {name for name in names if own[name, "both"] and own[name, "variable"] <= 3 * own[name, "both"]}
    hidden = [name for name in names if name.startswith("#")]
    plain = [name for name in names if name not in kept and name not in hidden]
    return _fresh(plain, SMALL, RESERVED | kept) | {name: f"#{word}" for name, word in _fresh(hidden, SMALL).items()}


def _check(used: Iterable[str], outside: set[str]) -> None:
    odd = [name for name in used if name[0].isupper() and name not in outside]
    if odd:
        raise ValueError(f"not declared, or a global that is not listed: {', '.join(odd)}")


def _fresh(names: Iterable[str], letters: str, taken: Collection[str] = RESERVED) -> dict[str, str]:
    found = ("".join(word) for size in count(1) for word in product(letters, repeat=size))
    return dict(zip(names, (word for word in found if word not in taken), strict=False))


def _rename(piece: str, role: str, short: dict[str, str]) -> str:
    name = piece if role == "other" else short.get(piece, piece)
    return f"{piece}:{name}" if role == "both" and name != piece else name


def shortened(parts: list[str], opened: list[list[str]]) -> Iterator[str]:
    """The pieces without those that can be left out, and with neighbouring constants in one declaration."""
    constant: dict[int, bool] = {}  # For each depth, whether the statement that is open there declares constants.
    skipped: set[int] = set()
    for at, part in enumerate(parts):
        after, depth = parts[at + 1 : at + 4], len(opened[at])
        if part == "(" and after[1:] == [")", "=>"] and re.fullmatch(r"[A-Za-z]+", after[0]):
            skipped.add(at + 2)
        elif part == ";" and after[:1] == ["const"] and constant.get(depth):
            skipped.add(at + 1)
            yield ","
        elif at not in skipped:
            if not ((part == "," and after[0] in CLOSE) or (part == ";" and after[0] == "}")):
                yield part
            constant |= {depth: part == "const" or (constant.get(depth, False) and part != ";"), depth + 1: False}


def packed(parts: Iterable[str]) -> str:
    """Pieces in one text, with a space only where two of them would become one."""
    text = ""
    for part in parts:
        clash = re.match(r"[\w$][\w$#]|([+-])\1", text[-1:] + part[0])
        text += f" {part}" if clash else part
    return text


def build() -> str:
    text, exported = joined()
    found = pieces(text)
    opened = list(surroundings(found))
    small = packed(shortened(renamed(found, opened, exported), opened))
    return f"{HEADER}{small}export{{{','.join(exported)}}};\n"


if __name__ == "__main__":
    BUILT.write_text(build(), "utf-8")
