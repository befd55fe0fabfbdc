"""Answers to try a survey out on: drawn from a known distribution, or counted already."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from sottovoce.core.domain import Domain, Label
from sottovoce.core.domain.columns import to_list
from sottovoce.core.domain.values import is_missing
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, to_float
from sottovoce.core.randomness import Keystream

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_VALUES = 2**20
MAX_PEOPLE = 10**8
SUM_TOLERANCE = 1e-9
"""How far from 1 given probabilities may add up to."""
ANSWERS_AT_A_TIME = 2**20


def multinomial(
    domain: Domain, n: int, probabilities: Iterable[float] | None = None, seed: int | Keystream | None = None
) -> NDArray[np.unsignedinteger]:
    """The codes of n independent answers, each value with its probability; all alike if none are given.

    >>> np.bincount(multinomial(Domain(3), 1000, [0.5, 0.3, 0.2], seed=1))
    array([488, 316, 196])
    """
    check_size(domain)
    n = check_whole("n", n, MAX_PEOPLE)
    chances = np.full(domain.size, 1 / domain.size) if probabilities is None else _chances(probabilities, domain.size)
    edges = np.cumsum(chances)[:-1] * GRID
    stream, codes = Keystream.of(seed), np.empty(n, dtype=np.min_scalar_type(domain.size - 1))
    for at in range(0, n, ANSWERS_AT_A_TIME):
        part = codes[at : at + ANSWERS_AT_A_TIME]
        part[:] = np.searchsorted(edges, stream.draws(part.size).astype(np.float64), side="right")
    return codes


def zipf(size: int, exponent: float = 1.1) -> list[float]:
    """Probabilities that fall like a power of the rank: a few values are common, most are rare.

    >>> [round(chance, 3) for chance in zipf(4, exponent=1)]
    [0.48, 0.24, 0.16, 0.12]
    """
    size = check_whole("the number of values", size, MAX_VALUES)
    if isinstance(exponent, bool) or not isinstance(exponent, Real) or not 0 <= to_float(exponent) <= 100:
        raise ParameterError(
            f"the exponent of a Zipf distribution must be a number from 0 to 100, got {exponent!r:.40}"
        )
    weights = np.arange(1, size + 1, dtype=np.float64) ** -float(exponent)
    chances: list[float] = (weights / weights.sum()).tolist()
    return chances


def check_whole(name: str, value: object, most: int, least: int = 1) -> int:
    whole: int | None = value.__index__() if hasattr(value, "__index__") and not isinstance(value, bool) else None
    if whole is None or not least <= whole <= most:
        raise ParameterError(f"{name} must be a whole number from {least:,} to {most:,}, got {value!r:.40}")
    return whole


def check_size(domain: Domain) -> None:
    if domain.size > MAX_VALUES:
        raise ParameterError(f"a comparison takes at most {MAX_VALUES:,} values, got {domain.size:,}")


def _chances(probabilities: Iterable[float], size: int) -> NDArray[np.float64]:
    if isinstance(probabilities, str | bytes | Mapping) or not isinstance(probabilities, Iterable):
        raise ParameterError(f"probabilities must be a list of numbers, got {probabilities!r:.40}")
    chances = list(probabilities)
    for chance in chances:
        if isinstance(chance, bool) or not isinstance(chance, Real) or not 0 <= to_float(chance) <= 1:
            raise ParameterError(f"a probability must be a number from 0 to 1, got {chance!r:.40}")
    if len(chances) != size:
        raise ParameterError(f"probabilities must be as many as the values, {size:,}, got {len(chances):,}")
    total = math.fsum(map(float, chances))
    if abs(total - 1) > SUM_TOLERANCE:
        raise ParameterError(f"probabilities must add up to 1, got {total:g}")
    return np.array([float(chance) for chance in chances]) / total


def encoded(
    data: Iterable[Label], domain: int | Iterable[Label] | Domain | None = None
) -> tuple[Domain, NDArray[np.integer]]:
    """The domain and the codes of a column of answers, or of a mapping from values to how many people gave them.

    >>> encoded({"tea": 2, "coffee": 1})[1]
    array([0, 0, 1], dtype=uint8)
    """
    if isinstance(data, Mapping):
        return _counted(data, domain)
    if domain is None:
        domain = _observed(to_list(data))
    domain = Domain.of(domain)
    check_size(domain)
    codes = domain.encode_many(data)
    if not codes.size:
        raise DomainError("a comparison needs at least one answer, got none")
    return domain, codes


def _observed(rows: list[Any]) -> Domain:
    """The values that occur, in order; a column with gaps has a value for them too."""
    try:
        found = {row for row in rows if not is_missing(row)}
        values = sorted(found, key=lambda value: (isinstance(value, str), value))
    except TypeError:
        raise DomainError("an answer must be text, a number or a truth value, got something else") from None
    gaps = any(map(is_missing, rows))
    if len(values) + gaps < 2:
        raise DomainError(f"a column must hold at least 2 distinct values, has {len(values) + gaps}")
    return Domain(values, missing="category" if gaps else "refuse")


def _counted(data: Mapping[Label, int], domain: object) -> tuple[Domain, NDArray[np.integer]]:
    if domain is not None:
        raise ParameterError("a mapping of values to counts names its domain itself")
    labels = [label for label in data if label is not None]
    built = Domain(labels, missing="category" if None in data else "refuse")
    check_size(built)
    counts = [check_whole(f"the count of {label!r}", data[label], MAX_PEOPLE, 0) for label in built.labels]
    if not 1 <= sum(counts) <= MAX_PEOPLE:
        raise ParameterError(f"the counts must add up to 1 to {MAX_PEOPLE:,} people, got {sum(counts):,}")
    return built, np.repeat(np.arange(built.size, dtype=np.min_scalar_type(built.size - 1)), counts)
