"""Files of reports: written whole, read in batches, with their mechanisms in the metadata."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError, ReportError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.core.reports import Bits, Index, Reports
from sottovoce.data.paths import reading, writing
from sottovoce.data.tables import BATCH_BYTES, BATCH_ROWS, Table, writer
from sottovoce.mechanisms import Mechanism, mechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
METADATA_KEY = b"sottovoce"
GROUP_ROWS = 2**20
GROUP_BYTES = 2**24
"""Parquet files are written in groups of at least this many rows or bytes."""
MAX_DICTIONARY_OUTCOMES = 2**16
"""Reports with more outcomes, or of bits, are written without a dictionary: Parquet would fill it and drop it."""


def _arrow_type(m: Mechanism) -> pa.DataType:
    if isinstance(m.shape, Bits):
        return pa.binary(m.shape.width)
    if isinstance(m.shape, Index):
        return pa.from_numpy_dtype(m.shape.dtype)
    raise FileError(f"reports of {m!r} have no file format")


def write_reports(path: Path, mechanisms: Mapping[str, Mechanism], parts: Iterable[Mapping[str, Reports]]) -> int:
    """Write reports, a column for each question, to a Parquet or Arrow file that carries their mechanisms.

    Returns how many rows there were.
    """
    if path.suffix not in (".parquet", ".arrow"):
        raise FileError(f"{path}: a file of reports must end in .parquet or .arrow")
    parts = iter(parts)
    first = next(parts, None)
    if first is None:
        raise FileError("there are no answers to randomize")
    schema, rows = _schema(mechanisms, any(column.simulated for column in first.values())), 0
    few = [
        name
        for name, m in mechanisms.items()
        if isinstance(m.shape, Index) and m.shape.outcomes <= MAX_DICTIONARY_OUTCOMES
    ]
    with writing(path) as part, writer(part, path.suffix, schema, use_dictionary=few) as file:
        for group in _groups(schema, itertools.chain([first], parts)):
            file.write_table(group)
            rows += len(group)
    return rows


def _groups(schema: pa.Schema, parts: Iterable[Mapping[str, Reports]]) -> Iterator[pa.Table]:
    """Parts put together into larger groups of rows: small groups would slow down a reader."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for columns in parts:
        arrays = [_arrow_array(columns[field.name].data, field.type) for field in schema]
        held.append(pa.record_batch(arrays, schema=schema))
        rows, size = rows + held[-1].num_rows, size + held[-1].nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def batch_rows(mechanisms: Mapping[str, Mechanism]) -> int:
    """How many answers to randomize at a time, so that their reports do not take much memory."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES // sum(m.shape.empty(1).nbytes for m in mechanisms.values())))


def _schema(mechanisms: Mapping[str, Mechanism], simulated: bool) -> pa.Schema:
    questions = {name: m.to_dict() for name, m in mechanisms.items()}
    note = {"version": VERSION, "questions": questions, "simulated": simulated}
    fields = [pa.field(name, _arrow_type(m), nullable=False) for name, m in mechanisms.items()]
    return pa.schema(fields, {METADATA_KEY: json.dumps(note).encode()})


def _arrow_array(data: NDArray[np.integer[Any]], arrow_type: pa.DataType) -> pa.Array:
    """A column of reports as Arrow sees it, not copied. (Arrow's own way loads pandas, for half a second.)"""
    kind = np.uint8 if data.ndim == 2 else arrow_type.to_pandas_dtype()
    return pa.Array.from_buffers(arrow_type, len(data), [None, pa.py_buffer(np.ascontiguousarray(data, dtype=kind))])


class ReportFile:
    """A file of reports, read in batches. Their mechanisms and whether they are simulated travel in its metadata."""

    def __init__(self, path: Path) -> None:
        self.path = path
        note, schema = _note(path)
        try:
            self.mechanisms = {name: mechanism(data) for name, data in note["questions"].items()}
        except ParameterError as error:
            raise FileError(f"{path}: its mechanism is damaged: {error}") from None
        self.simulated = bool(note["simulated"])
        self.table = Table(path, list(self.mechanisms))
        for name, m in self.mechanisms.items():
            if schema.field(name).type != _arrow_type(m):
                raise FileError(f"{path}: reports must be of type {_arrow_type(m)}, got {schema.field(name).type}")

    def __iter__(self) -> Iterator[dict[str, Reports]]:
        for batch in self.table.batches():
            try:
                columns = {name: m.shape.from_arrow(batch.column(name)) for name, m in self.mechanisms.items()}
            except ReportError as error:
                raise FileError(f"{self.path}: {error}") from None
            yield {name: Reports(self.mechanisms[name], data, self.simulated) for name, data in columns.items()}


def _note(path: Path) -> tuple[JsonObject, pa.Schema]:
    """What a file of reports says of itself, and its schema."""
    schema = Table(path, []).schema
    with reading(path):
        note = json.loads((schema.metadata or {}).get(METADATA_KEY, b"null"))
    fields = {"version", "questions", "simulated"}
    if not isinstance(note, dict) or set(note) != fields or note["version"] != VERSION or not note["questions"]:
        raise FileError(f"{path}: not a file of sottovoce reports (version {VERSION})")
    if not isinstance(note["questions"], dict):
        raise FileError(f"{path}: its questions are damaged")
    return note, schema
