"""Libraries that load on first use.

A device randomizes one answer with the standard library alone, in milliseconds. So NumPy and the like are
never imported when sottovoce is, only when a column is handled: `from sottovoce.core.lazy import numpy as np`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sottovoce.core.errors import MissingDependencyError

EXTRAS = {
    "matplotlib": "plot",
    "pandas": "frames",
    "polars": "frames",
    "formulaic": "regression",
    "opendp": "central",
    "dp_accounting": "accounting",
    "pyspark": "spark",
    "uvicorn": "collector",
    "prometheus_client": "collector",
    "psycopg": "postgres",
}


AFTER_LOADING: dict[str, Callable[[ModuleType], None]] = {}
"""What a program that is all our own does with a library once it is loaded."""


def load(name: str) -> ModuleType:
    """Import a library now, or say in one line how to install it."""
    root = name.partition(".")[0]
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        wanted = f"'sottovoce[{EXTRAS[root]}]'" if root in EXTRAS else root
        raise MissingDependencyError(f"this needs {root}: pip install {wanted}") from error
    if settle := AFTER_LOADING.pop(root, None):
        settle(sys.modules[root])
    return module


def exports(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """`__getattr__` of a package that imports each of its names, from the module that is its home, on first use."""

    def __getattr__(name: str) -> object:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


class _Lazy:
    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> tuple[type[_Lazy], tuple[str]]:
        return _Lazy, (self._name,)  # A function that travels to another process takes the name along, no more.

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(load(self._name), attribute)
        setattr(self, attribute, value)  # The next look-up finds it without coming here.
        return value


if TYPE_CHECKING:
    import numpy as numpy
    import pyarrow as pyarrow
    import scipy as scipy
else:
    numpy = _Lazy("numpy")
    pyarrow = _Lazy("pyarrow")
    scipy = _Lazy("scipy")
