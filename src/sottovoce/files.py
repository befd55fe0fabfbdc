"""Tables of answers in, files of reports out: CSV, Parquet and Arrow, a batch at a time.

Nothing here holds more than a batch, so memory does not grow with a file. An output file appears under its name only
when it is whole.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.domain import Domain, Options, Scale, Text
from sottovoce.errors import DomainError, FileError, ParameterError, ReportError
from sottovoce.lazy import load
from sottovoce.lazy import numpy as np
from sottovoce.lazy import pyarrow as pa
from sottovoce.mechanisms import Mechanism, mechanism
from sottovoce.reports import Bits, Index, Reports

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
KEY = b"sottovoce"
BATCH_ROWS = 2**16
MISSING_TEXT = ["", "NaN", "nan"]
MAX_DISTINCT = 2**20
HEADER = 2**20


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a library says about an unreadable file into one line."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, EOFError, ValueError, RecursionError) as error:  # ArrowInvalid is a ValueError.
        if isinstance(error, FileError | DomainError | ParameterError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{path}: cannot be read: {reason}") from None


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when all went well, and vanishes when not."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    part = Path(name)
    try:
        yield part
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Table:
    """Some columns of a CSV, Parquet or Arrow file, read in batches."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)
        self._progress: Callable[[], float] = lambda: 0.0
        with reading(path), _source(path) as source:
            self.csv, self.schema, _ = _open(source, path.suffix)
            names = list(self.schema.names)
        for name in columns:
            if names.count(name) > 1:
                raise FileError(f"{path}: {name!r} is the name of more than one column")
            if name not in names:
                raise FileError(f"{path}: no column {name!r}, the columns are {', '.join(names)}")

    def progress(self) -> float:
        """The share of the file that the batches taken so far make up."""
        return self._progress()

    def batches(self) -> Iterator[Any]:
        """Arrow record batches, in the order of the file."""
        with reading(self.path), _source(self.path) as source:
            size = max(self.path.stat().st_size, 1)
            self._progress = lambda: 1.0 if source.closed else source.tell() / size
            yield from _open(source, self.path.suffix, self.columns)[2]

    def labels(self, column: str) -> list[str]:
        """The distinct values of a column, sorted, as text. Missing answers are not among them."""
        found: set[str] = set()
        for batch in self.batches():
            found.update(_text(batch.column(column)).unique().drop_null().to_pylist())
            if len(found) > MAX_DISTINCT:
                raise FileError(f"{self.path}: column {column!r} has more than {MAX_DISTINCT:,} distinct values")
        if len(found) < 2:
            raise FileError(f"{self.path}: column {column!r} must hold at least 2 distinct values, has {len(found)}")
        return sorted(found)


def _source(path: Path) -> Any:
    """A file that Arrow reads by itself: its reader runs ahead in a thread, where a Python file is not safe."""
    if path.is_dir():
        raise FileError(f"{path}: is a directory")
    return pa.OSFile(str(path))


def _open(source: Any, suffix: str, columns: list[str] | None = None) -> tuple[bool, Any, Iterator[Any]]:
    """Whether it is CSV, the schema of a table and its record batches. The kind of file is told by its first bytes."""
    magic = source.read(6)
    source.seek(0)
    if magic[:4] == b"PAR1":
        parquet = load("pyarrow.parquet").ParquetFile(source)
        return False, parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS, columns=columns)
    if magic == b"ARROW1":
        arrow = load("pyarrow.ipc").open_file(source)
        return False, arrow.schema, (arrow.get_batch(at) for at in range(arrow.num_record_batches))
    reader = _open_csv(source, "\t" if suffix == ".tsv" else ",", columns)
    return True, reader.schema, iter(reader)


def _open_csv(source: Any, delimiter: str, columns: list[str] | None) -> Any:
    """A CSV reader that takes every value as text: "01" and "1" are two answers.

    In a table with one column an empty line is a missing answer; with more it is just an empty line.
    """
    csv = load("pyarrow.csv")
    alone = delimiter.encode() not in source.read(HEADER).split(b"\n", 1)[0]
    source.seek(0)
    convert = csv.ConvertOptions(null_values=MISSING_TEXT, strings_can_be_null=True)
    if columns:
        convert.include_columns, convert.column_types = columns, dict.fromkeys(columns, pa.string())
    parse = csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=not alone)
    return csv.open_csv(source, parse_options=parse, convert_options=convert)


def _text(array: Any) -> Any:
    """An Arrow array as text, with NaN and the empty string as nulls."""
    compute = load("pyarrow.compute")
    try:
        text = array.cast(pa.string())
    except (pa.ArrowException, UnicodeDecodeError):
        raise FileError(f"a column must hold text, numbers or truth values, got {array.type}") from None
    gaps = compute.or_kleene(compute.is_null(array, nan_is_null=True), compute.equal(text, ""))
    return compute.if_else(gaps, pa.scalar(None, pa.string()), text)


def answers(array: Any, domain: Domain | Scale | Options | Text, csv: bool = False) -> Any:
    """An Arrow array as answers that a domain understands: text, numbers, or sets of labels."""
    if isinstance(domain, Options):
        return _sets(array, csv)
    if isinstance(domain, Text) or (isinstance(domain, Domain) and not isinstance(domain.values, range)):
        return _text(array)
    kind = pa.float64() if isinstance(domain, Scale) else pa.int64()
    if array.type == kind and not array.null_count:
        return array
    try:
        return _text(array).cast(kind)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise DomainError(f"an answer must be a {'' if kind == pa.float64() else 'whole '}number: {reason}") from None


def _sets(array: Any, csv: bool) -> list[Any]:
    """Lists as they are; text is split at semicolons. In CSV, which knows no null, an empty cell is the empty set."""
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return list(array.to_pylist())
    rows = _text(array).to_pylist()
    if csv:
        rows = [row or "" for row in rows]
    return [row if row is None else [label.strip() for label in row.split(";") if label.strip()] for row in rows]


def _arrow_type(m: Mechanism) -> Any:
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
    with writing(path) as part, _writer(part, path.suffix, schema) as writer:
        for columns in itertools.chain([first], parts):
            arrays = [_arrow_array(columns[field.name].data, field.type) for field in schema]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            rows += len(arrays[0])
    return rows


def _schema(mechanisms: Mapping[str, Mechanism], simulated: bool) -> Any:
    questions = {name: m.to_dict() for name, m in mechanisms.items()}
    note = {"version": VERSION, "questions": questions, "simulated": simulated}
    fields = [pa.field(name, _arrow_type(m), nullable=False) for name, m in mechanisms.items()]
    return pa.schema(fields, {KEY: json.dumps(note).encode()})


def write_table(path: Path, table: Any) -> None:
    """Write an Arrow table to a CSV, Parquet or Arrow file."""
    with writing(path) as part:
        if path.suffix == ".csv":
            load("pyarrow.csv").write_csv(table, str(part))
        elif path.suffix in (".parquet", ".arrow"):
            with _writer(part, path.suffix, table.schema) as writer:
                writer.write_table(table)
        else:
            raise FileError(f"{path}: a table must end in .csv, .parquet or .arrow")


def _writer(path: Path, suffix: str, schema: Any) -> Any:
    if suffix == ".arrow":
        return load("pyarrow.ipc").new_file(str(path), schema)
    return load("pyarrow.parquet").ParquetWriter(str(path), schema, compression="zstd")


def _arrow_array(data: NDArray[Any], arrow_type: Any) -> Any:
    if data.ndim == 1:
        return pa.array(data, arrow_type)
    return pa.Array.from_buffers(arrow_type, len(data), [None, pa.py_buffer(np.ascontiguousarray(data))])


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


def _note(path: Path) -> tuple[dict[str, Any], Any]:
    """What a file of reports says of itself, and its schema."""
    schema = Table(path, []).schema
    with reading(path):
        note = json.loads((schema.metadata or {}).get(KEY, b"null"))
    fields = {"version", "questions", "simulated"}
    if not isinstance(note, dict) or set(note) != fields or note["version"] != VERSION or not note["questions"]:
        raise FileError(f"{path}: not a file of sottovoce reports (version {VERSION})")
    if not isinstance(note["questions"], dict):
        raise FileError(f"{path}: its questions are damaged")
    return note, schema
