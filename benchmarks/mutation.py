"""Small mistakes made in a module on purpose: where they can be made, and the module's text with one of them in it.

What cannot change what a program does is left out by rule: docstrings, annotations, type variables, `if TYPE_CHECKING`
blocks, `__repr__`, `strict=` of `zip` (a check of lengths that are equal anyway), the size of a cache, and the order of
the arguments of `max` and the like. So are swaps that fail at once, which any test would catch.
"""

from __future__ import annotations

import ast
import copy
import difflib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr, ast.MatMult: ast.Add,
}  # fmt: skip
SYMMETRIC = {"max", "min", "hypot", "gcd", "lcm"}
FAIL_WHEN_SWAPPED = {"isinstance", "issubclass", "hasattr", "getattr", "setattr", "__setattr__", "map", "filter"}
UNIMPORTANT_KEYWORDS = {"strict", "maxsize"}
REMOVABLE = (ast.Expr, ast.AugAssign, ast.Raise, ast.If, ast.For, ast.With)

Change = Callable[[ast.AST], None]


@dataclass(frozen=True)
class Mutant:
    """One mistake: where it is, of what kind, and the module with it, both without comments."""

    file: str
    line: int
    kind: str
    original: str
    mutated: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @cached_property
    def change(self) -> tuple[str, str]:
        """The lines taken out and the lines put in."""
        lines = list(difflib.ndiff(self.original.splitlines(), self.mutated.splitlines()))
        gone, come = ("\n".join(line[2:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
        return gone, come


def sample(root: Path, file: str, count: int, draw: random.Random) -> list[Mutant]:
    """Some of the mistakes that can be made in a file, each equally likely."""
    tree = ast.parse((root / file).read_text("utf-8"))
    places = [(number, kind, change) for number, node in enumerate(_nodes(tree)) for kind, change in _changes(node)]
    return [_mutant(tree, file, *place) for place in draw.sample(places, min(count, len(places)))]


def _mutant(tree: ast.Module, file: str, number: int, kind: str, change: Change) -> Mutant:
    changed = copy.deepcopy(tree)
    node = _nth(changed, number)
    change(node)
    text = ast.unparse(ast.fix_missing_locations(changed))
    return Mutant(file, getattr(node, "lineno", 0), kind, ast.unparse(tree), text)


def _nth(tree: ast.AST, number: int) -> ast.AST:
    return next(node for at, node in enumerate(_nodes(tree)) if at == number)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes whose change can matter, always in the same order."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "bases", "type_params") or _ignored(tree, name):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _unimportant(child):
                if hasattr(child, "lineno"):
                    yield child
                yield from _nodes(child)


def _ignored(node: ast.AST, field: str) -> bool:
    return isinstance(node, ast.keyword) and field == "value" and node.arg in UNIMPORTANT_KEYWORDS


def _unimportant(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
        return True
    if _called(node) == "TypeVar":
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """The mistakes that can be made at a node: what each is called, and how it is made."""
    if isinstance(node, ast.Compare):
        yield "another comparison", _compare
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield "another operator", _operate
    elif isinstance(node, ast.BoolOp):
        yield "and for or", _junction
    elif isinstance(node, ast.UnaryOp):
        yield "a sign lost", _plain
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Call) and _swappable(node):
        yield "arguments swapped", _swap
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "a condition negated", _negate
    if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
        yield "an early return", _return
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield from _removals(name, block)


def _swappable(call: ast.Call) -> bool:
    """Whether two arguments can change places, and that matters, and the program does not fail at once for it."""
    if len(call.args) < 2 or any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    return _called(call) not in FAIL_WHEN_SWAPPED | SYMMETRIC


def _called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "id", getattr(function, "attr", "")))


def _constants(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    if isinstance(node.value, bool):
        yield "a truth value flipped", _setting(not node.value)
    elif isinstance(node.value, int):
        yield "a number one more", _setting(node.value + 1)
        yield "a number one less", _setting(node.value - 1)
    elif isinstance(node.value, float):
        yield "a number doubled", _setting(2 * node.value if node.value else 1.0)


def _removals(name: str, block: list[ast.stmt]) -> Iterator[tuple[str, Change]]:
    for at, statement in enumerate(block):
        if _removable(statement):
            yield f"the statement of line {statement.lineno} removed", _removing(name, at)


def _removable(statement: ast.stmt) -> bool:
    """Whether the program can run without a statement; a name that is never set would be noticed at once."""
    if isinstance(statement, ast.Assign):
        return not any(isinstance(target, ast.Name | ast.Tuple) for target in statement.targets)
    return isinstance(statement, REMOVABLE) and not _unimportant(statement)


def _removing(name: str, at: int) -> Change:
    def change(node: ast.AST) -> None:
        getattr(node, name)[at] = ast.Pass()

    return change


def _setting(value: object) -> Change:
    def change(node: ast.AST) -> None:
        node.value = value  # type: ignore[attr-defined]

    return change


def _compare(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops[-1] = COMPARISONS[type(node.ops[-1])]()


def _operate(node: ast.AST) -> None:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    node.op = OPERATORS[type(node.op)]()


def _junction(node: ast.AST) -> None:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _plain(node: ast.AST) -> None:
    """`not x`, `-x` and `~x` become `+x`, or what `not not x` is."""
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        node.op = ast.UAdd()


def _swap(node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    node.args[:2] = node.args[1::-1]


def _negate(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _return(node: ast.AST) -> None:
    """Return before the last statement."""
    assert isinstance(node, ast.FunctionDef)
    node.body.insert(-1, ast.Return())
