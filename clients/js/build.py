"""Join the modules of src/ into the one file that a page loads, `sottovoce.js`, and make it small.

Spaces go, names of variables become short, constants are declared by let, and functions are written as arrows: the file
does what the modules do. This takes no parser, since the modules keep to a few habits: names of properties follow a
dot, or a brace or a comma in an object; a division has a space on either side; statements end with a semicolon; there
are no labels, no empty statements, and no patterns in declarations outside of functions; nothing outside of functions
is used before it is declared.

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
HEADER = "// sottovoce, Apache-2.0\n"

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


class Scope:
    """A function from its parameters to its end, and the variables that it declares."""

    def __init__(self, start: int, end: int, names: set[str]) -> None:
        self.start, self.end, self.names = start, end, names

    def __contains__(self, at: int) -> bool:
        return self.start <= at < self.end


class Names:
    """Short names for all variables: capitals for what is declared outside of all functions, small letters inside."""

    def __init__(self, found: list[Piece], opened: list[list[str]]) -> None:
        self.found, self.opened, self.kinds = found, opened, list(roles(found, opened))
        self.text = [piece for _, piece in found]
        self.partner = dict(_pairs(found))
        self.starts = [at for at, piece in enumerate(self.text) if not opened[at] and piece in DECLARING]
        declared = [self.text[at + 1] for at in self.starts if self.text[at] != "for"]
        self.outside = set(declared)
        if len(declared) > len(self.outside):
            raise ValueError(f"two modules declare {', '.join(n for n, k in Counter(declared).items() if k > 1)}")

    def renamed(self, exported: list[str]) -> list[str]:
        used = Counter(self.text[at] for at in self._places(0, len(self.text)))
        _check(used, self.outside)
        capitals = [name for name, _ in used.most_common() if name in self.outside - set(exported)]
        named = {at: word for name, word in _fresh(capitals, ascii_uppercase).items()
                 for at in self._places(0, len(self.text)) if self.text[at] == name}  # fmt: skip
        for start, end in zip([0, *self.starts], [*self.starts, len(self.text)], strict=True):
            named |= self._local(start, end)
        return [self._written(at, named.get(at, piece)) for at, piece in enumerate(self.text)]

    def _written(self, at: int, name: str) -> str:
        piece = self.text[at]
        return f"{piece}:{name}" if self.kinds[at] == "both" and name != piece else name

    def _places(self, start: int, end: int) -> list[int]:
        return [at for at in range(start, end) if self.kinds[at] != "other"]

    def _local(self, start: int, end: int) -> dict[int, str]:
        """The same letters again and again: what an outer function means by one matters only where it is used inside.

        A name that is often a property's as well stays: that is shorter.
        """
        scopes, uses = self._scopes(start, end), self._uses(start, end)
        hidden = dict.fromkeys(name for scope, name in uses if scope is None)
        named = {at: f"#{word}" for name, word in _fresh(hidden, SMALL).items() for at in uses[None, name]}
        kept = {key for key, places in uses.items() if self._stays(places)}
        taken = RESERVED | {name for _, name in kept} | {name for name in self.outside if name.islower()}
        for place, scope in enumerate(scopes):
            for key in [key for key in uses if key[0] == place and key not in kept]:
                near = {named[at] for at in named if at in scope}
                (word,) = _fresh([key[1]], SMALL, taken | near).values()
                named |= dict.fromkeys(uses[key], word)
        return named

    def _stays(self, places: list[int]) -> bool:
        both = sum(self.kinds[at] == "both" for at in places)
        return both > 0 and len(places) <= 3 * both

    def _uses(self, start: int, end: int) -> dict[tuple[int | None, str], list[int]]:
        """Where each variable occurs, by the function that declares it; hidden fields of a class have none."""
        scopes = self._scopes(start, end)
        uses: dict[tuple[int | None, str], list[int]] = {}
        for at in self._places(start, end):
            name = self.text[at]
            homes = [place for place, scope in enumerate(scopes) if at in scope and name in scope.names]
            if name.startswith("#") or homes:
                uses.setdefault((homes[-1] if homes else None, name), []).append(at)
        return uses

    def _scopes(self, start: int, end: int) -> list[Scope]:
        """The functions of one declaration, outer ones first; the first is the declaration itself."""
        found = [Scope(start, end, set())]
        for at in range(start, end):
            if self.text[at] == "=>":
                first = self.partner.get(at - 1, at - 1)
                found.append(Scope(first, self._body_end(at + 1), self._bound(first, at)))
            elif self._has_parameters(at):
                body = self.partner[at] + 1
                found.append(Scope(at, self.partner[body] + 1, self._bound(at, body)))
        found.sort(key=lambda scope: (scope.start, -scope.end))
        for at in range(start, end):
            if self.found[at][0] == "name" and self.text[at] in ("const", "let", "catch"):
                next(scope for scope in reversed(found) if at in scope).names.update(self._declared(at))
        found[0].names.difference_update(self.outside)
        return found

    def _has_parameters(self, at: int) -> bool:
        opens = self.found[at] == ("sign", "(") and self.text[self.partner[at] + 1] == "{"
        return opens and self.text[at - 1] not in ("if", "for", "while", "catch")

    def _body_end(self, at: int) -> int:
        """Where the body of an arrow function ends: with its block, or before what cannot belong to it."""
        if self.text[at] == "{":
            return self.partner[at] + 1
        depth, choices = len(self.opened[at]), 0
        while len(self.opened[at]) >= depth and not (len(self.opened[at]) == depth and self.text[at] in ",;"):
            level = len(self.opened[at]) == depth
            choices += level and (self.text[at] == "?") - (self.text[at] == ":")
            if choices < 0:
                break
            at += 1
        return at

    def _bound(self, at: int, end: int) -> set[str]:
        """The names that a pattern or a list of parameters binds; defaults are left out."""
        names: set[str] = set()
        while at < end:
            depth = len(self.opened[at])
            if self.text[at] == "=":
                at += 1
                while at < end and not (
                    len(self.opened[at]) < depth or (len(self.opened[at]) == depth and self.text[at] == ",")
                ):
                    at += 1
            else:
                names |= {self.text[at]} if self.kinds[at] != "other" else set()
                at += 1
        return names

    def _declared(self, at: int) -> set[str]:
        """What const, let or catch declares."""
        depth, end = len(self.opened[at]), at + 1
        if self.text[at] == "catch":
            return self._bound(end, self.partner[end]) if self.text[end] == "(" else set()
        while len(self.opened[end]) > depth or (len(self.opened[end]) == depth and self.text[end] not in (";", "of")):
            end += 1
        return self._bound(at + 1, end)


def _pairs(found: list[Piece]) -> Iterator[tuple[int, int]]:
    """The places of brackets and of their partners."""
    opened: list[int] = []
    for at, (kind, piece) in enumerate(found):
        if piece in CLOSE if kind == "sign" else kind == "text" and piece.startswith("}"):
            yield from ((at, opened[-1]), (opened.pop(), at))
        if piece in OPEN if kind == "sign" else kind == "text" and piece.endswith("${"):
            opened.append(at)


def _check(used: Iterable[str], outside: set[str]) -> None:
    odd = [name for name in used if name[0].isupper() and name not in outside]
    if odd:
        raise ValueError(f"not declared, or a global that is not listed: {', '.join(odd)}")


def _fresh(names: Iterable[str], letters: str, taken: Collection[str] = RESERVED) -> dict[str, str]:
    found = ("".join(word) for size in count(1) for word in product(letters, repeat=size))
    return dict(zip(names, (word for word in found if word not in taken), strict=False))


def arrows(parts: list[str], opened: list[list[str]]) -> Iterator[tuple[str, list[str]]]:
    """The pieces with functions as constants: none is called before it is declared, or by new."""
    after: dict[int, str] = {}  # What goes behind a piece.
    for at, part in enumerate(parts):
        if part == "function" and not opened[at]:
            body = next(place for place in range(at + 3, len(parts)) if not opened[place] and parts[place] == "{")
            end = next(place for place in range(body + 1, len(parts)) if not opened[place] and parts[place] == "}")
            after |= {at + 1: "=", body - 1: "=>", end: ";"}
            part = "const"
        yield part, opened[at]
        if at in after:
            yield after[at], opened[at]


def shortened(parts: list[str], opened: list[list[str]]) -> Iterator[str]:
    """The pieces without those that can be left out, and with neighbouring variables in one declaration."""
    declares: dict[int, str] = {}  # For each depth, what the statement that is open there declares by: const or let.
    skipped: set[int] = set()
    for at, part in enumerate(parts):
        after, depth = parts[at + 1 : at + 4], len(opened[at])
        if part == "(" and after[1:] == [")", "=>"] and re.fullmatch(r"[A-Za-z]+", after[0]):
            skipped.add(at + 2)
        elif part == ";" and after[:1] and declares.get(depth) == after[0]:
            skipped.add(at + 1)
            yield ","
        elif at not in skipped:
            if not (after and ((part == "," and after[0] in CLOSE) or (part == ";" and after[0] == "}"))):
                yield part
            begun = part if part in ("const", "let") else "" if part == ";" else declares.get(depth, "")
            declares |= {depth: begun, depth + 1: ""}


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
    pairs = list(arrows(Names(found, opened).renamed(exported), opened))
    # One word for all declarations is shorter, and joins more of them. That constants stay so is seen in the modules.
    words_used = ["let" if part == "const" else part for part, _ in pairs]
    small = packed(shortened(words_used, [around for _, around in pairs]))
    return f"{HEADER}{small}export{{{','.join(exported)}}};\n"


if __name__ == "__main__":
    BUILT.write_text(build(), "utf-8")
