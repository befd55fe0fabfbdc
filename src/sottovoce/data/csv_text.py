"""Tables as CSV that a spreadsheet can open without running anything.

A spreadsheet takes a cell for a formula when its text begins with = + - or @, and a formula can start a program or send
the sheet away. Labels come from a survey's author and discovered texts from anybody. So such a text gets an apostrophe
in front, which spreadsheets read as "this is text" (OWASP, "CSV Injection"). Numbers are left alone, also as text.

Where numbers have a decimal comma, spreadsheets separate cells by semicolons and ignore our quotes: "tea;=1+1" is then
two cells. So the same is done inside a text, behind every mark that may end a cell or a row.

An apostrophe is put before a text that has it already, so that taking one off always gives the text back.
"""

from __future__ import annotations

import re
from typing import IO

from sottovoce.core.lazy import load
from sottovoce.core.lazy import pyarrow as pa

BLANK = "'\" \t\r\n\f\v\x85\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
"""What may stand before a formula: quotes, spaces of all kinds, and marks that nobody sees."""

BEGINS = f"[{BLANK}]*[=+\\-@＝＋－＠]"
"""How a text begins that a spreadsheet may take for a formula; some take the wide forms of the signs too."""

FORMULA = f"^({BEGINS}|'*[\t\r\n])"
"""A text that gets an apostrophe in front, unless it is a number."""

INSIDE = f"([;\t\r\n])(?={BEGINS})"
"""A mark that may end a cell, before what would be a formula in the next one."""

NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def write_csv(table: pa.Table, sink: str | IO[bytes] | pa.NativeFile) -> None:
    """Write an Arrow table to a file or a stream, with texts that look like formulas marked as text."""
    columns = [_protected(table.column(number)) for number in range(table.num_columns)]
    names = [protect(name) for name in table.column_names]
    load("pyarrow.csv").write_csv(pa.table(columns, names=names), sink)


def protect(text: str) -> str:
    """The text of a cell, marked as text where a spreadsheet would take it for a formula.

    >>> protect("=1+1"), protect("-0.02"), protect("tea"), protect("tea;=1+1")
    ("'=1+1", '-0.02', 'tea', "tea;'=1+1")
    """
    inside = re.sub(INSIDE, r"\1'", text)
    return f"'{inside}" if re.match(FORMULA, text) and not re.fullmatch(NUMBER, text) else inside


def unprotect(text: str) -> str:
    """The text that `protect` was given.

    >>> unprotect("'=1+1"), unprotect("'tis"), unprotect(protect("'=1+1")), unprotect("tea;'=1+1")
    ('=1+1', "'tis", "'=1+1", 'tea;=1+1')
    """
    plain = re.sub(r"([;\t\r\n])'" + f"(?={BEGINS})", r"\1", text)
    return plain[1:] if plain.startswith("'") and protect(plain[1:]) == text else plain


def _protected(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    compute = load("pyarrow.compute")
    risky = compute.fill_null(compute.match_substring_regex(column, f"{FORMULA}|[;\\t\\r\\n]{BEGINS}"), False)
    if not compute.any(risky).as_py():
        return column
    marked = [protect(text) for text in column.filter(risky).to_pylist()]
    return compute.replace_with_mask(column, risky.combine_chunks(), pa.array(marked, kind))
