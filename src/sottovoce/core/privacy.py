"""Exact probabilities and the privacy they cost.

Every probability that a device compares with random bits is an integer multiple of 2^-53. Such a number is exact
as a Python int, as a float64 and as a JavaScript number alike, so the law that is declared is the law that runs.
Epsilon is computed from these numbers with rational bounds and rounded up: what is declared is never less than what
is spent, and a mechanism asked for epsilon never spends more than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, SupportsFloat

from sottovoce.core.errors import ParameterError

GRID = 2**53
"""Probabilities are multiples of 1/GRID."""

MAX_EPSILON = 36
"""Beyond it, e^-epsilon is below the grid; in any case no privacy is left to speak of."""

# All decimal arithmetic names this context: the caller's own may round to three digits.
_CONTEXT = Context(prec=60, traps=[])


class Probability(Fraction):
    """An exact probability: a `Fraction` that prints as the decimal number it stands for.

    >>> p = Probability(3, 4)
    >>> p, f"{p:.3f}", p == 0.75
    (0.75, '0.750', True)
    """

    __slots__ = ("_threshold",)
    _threshold: int

    def __repr__(self) -> str:
        return repr(float(self))

    @property
    def threshold(self) -> int:
        """The integer P of p = P / 2^53, strictly between 0 and 2^53: a coin that always falls alike hides nothing.

        It is worked out once: a device asks for it in every draw.
        """
        try:
            return self._threshold
        except AttributeError:
            self._threshold = _threshold(self)
            return self._threshold

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return format(float(self), specification)


def _threshold(p: Probability) -> int:
    scale, rest = divmod(GRID, p.denominator)
    if rest or not 0 < p.numerator < p.denominator:
        raise ParameterError(f"p must be a multiple of 2^-53 strictly between 0 and 1, got {p}")
    return p.numerator * scale


def to_float(number: Any) -> float:
    """The nearest float to whatever is a number; one beyond all floats is infinite."""
    try:
        return float(number)
    except OverflowError:
        return -math.inf if number < 0 else math.inf


def check_epsilon(epsilon: object) -> float:
    """Epsilon as a float, or an error that says why it cannot be one."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise ParameterError(f"epsilon must be a number, got {epsilon!r}")
    value = to_float(epsilon)
    if math.isnan(value):
        raise ParameterError("epsilon must be a number, got nan")
    if value <= 0:
        raise ParameterError(f"epsilon must be positive, got {value:g}")
    if value > MAX_EPSILON:
        raise ParameterError(f"epsilon must be at most {MAX_EPSILON} (beyond that nothing is hidden), got {value:g}")
    return value


def check_probability(name: str, value: object) -> Fraction:
    """A number strictly between 0 and 1, as the exact fraction it is."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(to_float(value)):
        raise ParameterError(f"{name} must be a number between 0 and 1, got {value!r:.40}")
    exact = Fraction(value) if isinstance(value, Rational) else Fraction(float(value))
    if not 0 < exact < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {float(value):g}")
    return exact


def round_down(value: Fraction) -> Probability:
    """The largest multiple of 2^-53 that is at most `value`, kept inside (0, 1)."""
    return Probability(min(max(math.floor(value * GRID), 1), GRID - 1), GRID)


def round_up(value: Fraction) -> Probability:
    """The smallest multiple of 2^-53 that is at least `value`, kept inside (0, 1)."""
    return Probability(min(max(math.ceil(value * GRID), 1), GRID - 1), GRID)


def exp_below(x: SupportsFloat) -> Fraction:
    """A rational just below e^x (by less than one part in 10^59).

    >>> float(exp_below(1.0))
    2.718281828459045
    """
    return Fraction(_CONTEXT.exp(Decimal(float(x))).next_minus(_CONTEXT))


def log_above(ratio: Fraction) -> float:
    """The natural logarithm of an exact ratio, rounded up to a float.

    >>> log_above(Fraction(3))
    1.0986122886681098
    """
    if ratio == 1:
        return 0.0
    difference = _CONTEXT.subtract(_CONTEXT.ln(Decimal(ratio.numerator)), _CONTEXT.ln(Decimal(ratio.denominator)))
    bound = _CONTEXT.add(difference, Decimal("1e-50"))
    nearest = float(bound)
    return nearest if Decimal(nearest) >= bound else math.nextafter(nearest, math.inf)


def float_below(number: Fraction) -> float:
    """The largest float that is at most a number: a share that does not exceed what is shared.

    >>> 3 * Fraction(float_below(Fraction(1, 3))) <= 1
    True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """The smallest float that is at least a number: a cost that is not understated."""
    return 0.0 - float_below(-number)  # Zero has no sign.


def rounded_up(epsilon: float, digits: int = 3) -> float:
    """To so many digits, for people, and never down.

    >>> rounded_up(0.123400001), rounded_up(0.123400001, 4), rounded_up(12.0), rounded_up(0.0)
    (0.124, 0.1235, 12.0, 0.0)
    """
    if not epsilon:
        return 0.0
    scale = Fraction(10) ** (digits - 1 - math.floor(math.log10(epsilon)))
    return float(math.ceil(Fraction(epsilon) * scale) / scale)


def compose(epsilons: Iterable[float]) -> float:
    """What several reports of one person cost together: the exact sum, rounded up to a float.

    >>> compose([0.1, 0.2])
    0.30000000000000004
    """
    return float_above(sum(map(Fraction, epsilons), Fraction(0)))
