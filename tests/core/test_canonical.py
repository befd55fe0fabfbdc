"""JSON with one spelling: RFC 8785's own examples, JavaScript's word for it, and what must be refused."""

from __future__ import annotations

import json
import math
import random
import shutil
import struct
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.core import canonical
from sottovoce.core.errors import ParameterError

NODE = shutil.which("node")

# RFC 8785, appendix B.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

INVALID = [
    "", "{", "[1,]", "{'a':1}", "01", "1.", "+1", "NaN", "[Infinity]", "-Infinity", "1e400", "-1e400",
    "9007199254740993", "-9007199254740993", "1" * 5000, '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}',
    '"\\ud800"', '{"\\udc00":1}', '"\\ud800\\ud800"',
    '"\x00"', "[" * 40 + "]" * 40, "[" * 100_000, "\ufeff1", "1 2", "tru", '"\\x41"',
]  # fmt: skip


def double(bits: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_standard(bits: str, text: str) -> None:
    assert canonical.number(double(bits)) == text
    assert canonical.dumps(double(bits)) == text.encode()
    assert canonical.loads(text) == double(bits)


def test_the_example_of_the_standard() -> None:
    """RFC 8785, sections 3.2.2 to 3.2.4."""
    text = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical.dumps(canonical.loads(text)) == expected.encode()


def test_keys_are_sorted_by_utf_16() -> None:
    """RFC 8785, section 3.2.3: the emoji, a surrogate pair, comes before a character of the private area."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"]
    written = canonical.dumps({key: at for at, key in enumerate(keys)}).decode()
    assert list(json.loads(written)) == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


def test_numbers_are_doubles() -> None:
    assert [type(value) for value in canonical.loads("[4, 4.0, 4e0, -0.0, 0.5, 9007199254740991, 1e16]")] == [
        int, int, int, int, float, int, float,
    ]  # fmt: skip
    assert canonical.dumps([4, 4.0, -0.0, 0, True]) == b"[4,4,0,0,true]"


@pytest.mark.parametrize("text", INVALID)
def test_what_could_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(ParameterError) as error:
        canonical.loads(text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


@pytest.mark.parametrize("data", [b"\xff", b'"\xed\xa0\x80"', b"\xef\xbb\xbf1", '"\ud800"', None, 4])
def test_what_is_not_text_is_refused(data: Any) -> None:
    with pytest.raises(ParameterError):
        canonical.loads(data)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, 2**53, -(2**53), 10**400, "\ud800", {"\udc00": 1}, {1: 2}, {None: 1}, {1}, b"a", object(), 1j],
)
def test_what_json_has_not_is_not_written(value: Any) -> None:
    for nested in (value, [value], {"a": value}):
        with pytest.raises(ParameterError):
            canonical.dumps(nested)


def test_a_nest_without_end_is_refused() -> None:
    nest: list[Any] = []
    nest.append(nest)
    with pytest.raises(ParameterError, match="32 levels"):
        canonical.dumps(nest)


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]))


numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | texts() | st.integers(-canonical.MAX_INTEGER, canonical.MAX_INTEGER) | numbers,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_there_and_back(value: Any) -> None:
    data = canonical.dumps(value)
    assert canonical.loads(data) == value == json.loads(data, parse_int=float)
    assert canonical.dumps(canonical.loads(data)) == data


@given(st.text(max_size=20) | st.binary(max_size=20))
def test_anything_is_read_or_refused(data: str | bytes) -> None:
    try:
        value = canonical.loads(data)
    except ParameterError:
        return
    assert canonical.loads(canonical.dumps(value)) == value


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_javascript_writes_the_same_numbers() -> None:
    rng = random.Random(1)
    doubles = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(40_000)]
    doubles += [rng.uniform(-1, 1) * 10.0 ** rng.randint(-9, 24) for _ in range(20_000)]
    doubles += [float(rng.randint(-(2**60), 2**60)) for _ in range(5_000)]
    finite = [value for value in doubles if math.isfinite(value)]
    program = """
      const data = require('fs').readFileSync(0), lines = [];
      for (let at = 0; at < data.length; at += 8) lines.push(JSON.stringify(data.readDoubleLE(at)));
      process.stdout.write(lines.join('\\n'));
    """
    packed = b"".join(struct.pack("<d", value) for value in finite)
    done = subprocess.run([str(NODE), "-e", program], input=packed, capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().split("\n") == [canonical.number(value) for value in finite]
