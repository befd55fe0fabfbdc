"""JSON with one spelling, by RFC 8785: the same value has the same bytes in Python, in JavaScript, anywhere.

Numbers are doubles, as in JavaScript. One that is whole and below 2^53 is an int here, whether it was written 4, 4.0 or
4e0; nothing that a double cannot hold is read or written. What another reader might understand in another way is an
error: a key that occurs twice, half of a surrogate pair, NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias

from sottovoce.core.errors import ParameterError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""Any JSON value."""
JsonObject: TypeAlias = dict[str, Any]
"""A JSON object whose fields differ in type: whoever reads one checks it."""

MAX_INTEGER = 2**53 - 1
"""The largest whole number up to which a double has them all."""

MAX_DEPTH = 32
"""Lists and objects inside one another, at most."""

_plain = json.JSONEncoder(ensure_ascii=False).encode
"""Text, truth values and null as the standard library writes them, which is as RFC 8785 does."""


def dumps(value: object) -> bytes:
    r"""The canonical bytes of a value made of dicts with text keys, lists, text, numbers, truth values and None.

    >>> dumps({"b": [1.0, 1e21, 1e-7], "a": "\u20ac", "A": None})
    b'{"A":null,"a":"\xe2\x82\xac","b":[1,1e+21,1e-7]}'
    """
    try:
        return _write(value, 0).encode()
    except UnicodeEncodeError:
        raise ParameterError("text must be Unicode without lone surrogates") from None


def _write(value: object, depth: int) -> str:
    if value is None or isinstance(value, str | bool):
        return _plain(value)
    if isinstance(value, int | float):
        return number(value)
    if depth == MAX_DEPTH:
        raise ParameterError(f"JSON must be nested at most {MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):
        return "[" + ",".join(_write(entry, depth + 1) for entry in value) + "]"
    if isinstance(value, Mapping):
        pairs = (
            f"{_write(key, depth)}:{_write(value[key], depth + 1)}" for key in sorted(map(_key, value), key=_order)
        )
        return "{" + ",".join(pairs) + "}"
    raise ParameterError(f"JSON has text, numbers, truth values, lists and dicts, got {value!r:.40}")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ParameterError(f"a key must be text, got {key!r:.40}")
    return key


def _order(key: str) -> bytes:
    """Keys are sorted as JavaScript does it: by their UTF-16 code units."""
    return key.encode("utf-16-be")


def number(value: float) -> str:
    """A number as JavaScript writes it: the fewest digits that tell the double, an exponent beyond 21 places.

    >>> number(4.0), number(-0.0), number(1e20), number(1.5e300), number(0.000001), number(1e-7)
    ('4', '0', '100000000000000000000', '1.5e+300', '0.000001', '1e-7')
    """
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise ParameterError(
                f"a whole number must be at most 2^53 - 1 either way, got one of {value.bit_length()} bits"
            )
        return str(int(value))
    if not math.isfinite(value):
        raise ParameterError(f"a number must be finite, got {value}")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    return sign + _digits(*_decimal(abs(float(value))))


def _decimal(value: float) -> tuple[str, int]:
    """The shortest digits d1 d2 ... and the place n of the point, so that the value is 0.d1d2... times 10^n."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    place = len(whole) + int(exponent or 0) - (len(whole + part) - len(digits))
    return digits.rstrip("0"), place


def _digits(digits: str, place: int) -> str:
    """ECMA-262, Number::toString, for a positive number."""
    count = len(digits)
    if count <= place <= 21:
        return digits + "0" * (place - count)
    if 0 < place <= 21:
        return f"{digits[:place]}.{digits[place:]}"
    if -6 < place <= 0:
        return "0." + "0" * -place + digits
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{place - 1:+d}"


def loads(data: bytes | str) -> Any:
    """A value from JSON, canonical or not.

    >>> loads('{"a": 4.0, "b": 0.5}')
    {'a': 4, 'b': 0.5}
    >>> loads('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    sottovoce.core.errors.ParameterError: a key must occur once, got 'a' twice
    """
    if not isinstance(data, str | bytes | bytearray):
        raise ParameterError(f"JSON must come as bytes or text, got {data!r:.40}")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        text.encode()
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_whole, parse_float=_float, parse_constant=_constant
        )
    except ParameterError:
        raise
    except UnicodeError:
        raise ParameterError("JSON must be valid UTF-8") from None
    except RecursionError:
        raise ParameterError(f"JSON must be nested at most {MAX_DEPTH} levels deep") from None
    except ValueError as error:
        raise ParameterError(f"not JSON: {error!s:.100}") from None
    dumps(value)  # What cannot be written back is refused: half a surrogate pair, too deep a nest.
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, value in pairs:
        if key in made:
            raise ParameterError(f"a key must occur once, got {key!r:.40} twice")
        made[key] = value
    return made


def _whole(text: str) -> int | float:
    if len(text) < 16:
        return int(text)
    value = _float(text)
    if number(value) != text:
        raise ParameterError(f"a whole number beyond 2^53 must be a double, got {text:.40}")
    return value


def _float(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise ParameterError(f"a number must be a finite double, got {text:.40}")
    return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value


def _constant(text: str) -> NoReturn:
    raise ParameterError(f"a number must be finite, got {text}")
