"""Tables as CSV that a spreadsheet can open without running anything.

A spreadsheet takes a cell for a formula when its text begins with = + - or @, and a formula can start a program or send
the sheet away. Labels come from a survey's author and discovered texts from anybody. So such a text gets an apostrophe
in front, which spreadsheets read as "this is text" (OWASP, "CSV Injection"). Numbers are left alone, also as text.

An apostrophe is put before a text that has it already, so that taking one off always gives the text back.
"""

from __future__ import annotations

import re
from typing import Any

from sottovoce.lazy import load
from sottovoce.lazy import pyarrow as pa

FORMULA = r"^'*([ \t\r\n\f\v]*[=+\-@＝＋－＠]|[\t\r\n])"
"""How a text begins that a spreadsheet may take for a formula; some take the wide forms of the signs too."""

NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def write_csv(table: Any, sink: Any) -> None:
    """Write an Arrow table to a file or a stream, with texts that look like formulas marked as text."""
    columns = [_protected(table.column(number)) for number in range(table.num_columns)]
    names = [protect(name) for name in table.column_names]
    load("pyarrow.csv").write_csv(pa.table(columns, names=names), sink)


def protect(text: str) -> str:
    """The text of a cell, marked as text if a spreadsheet would take it for a formula.

    >>> protect("=1+1"), protect("-0.02"), protect("tea")
    ("'=1+1", '-0.02', 'tea')
    """
    return f"'{text}" if re.match(FORMULA, text) and not re.fullmatch(NUMBER, text) else text


def unprotect(text: str) -> str:
    """The text that `protect` was given.

    >>> unprotect("'=1+1"), unprotect("'tis"), unprotect(protect("'=1+1"))
    ('=1+1', "'tis", "'=1+1")
    """
    return text[1:] if text.startswith("'") and protect(text[1:]) == text else text


def _protected(column: Any) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    compute = load("pyarrow.compute")
    risky = compute.and_not(
        compute.match_substring_regex(column, FORMULA), compute.match_substring_regex(column, NUMBER)
    )
    marked = compute.binary_join_element_wise(pa.scalar("'", kind), column, pa.scalar("", kind))
    return compute.if_else(risky, marked, column)
