"""Columns of answers in, files of reports out: CSV, Parquet and Arrow, a batch at a time.

Nothing here holds more than a batch, so memory does not grow with a file. An output file appears under its name only
when it is whole.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sottovoce.domain import Domain
from sottovoce.errors import DomainError, FileError, ParameterError
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


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a library says about an unreadable file into one line."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, EOFError, ValueError) as error:  # ArrowInvalid is a ValueError.
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


class Column:
    """One column of a CSV, Parquet or Arrow file, read in batches."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self._progress: Callable[[], float] = lambda: 0.0
        with reading(path), path.open("rb") as handle:
            self.schema, _ = _open(handle, path.suffix)
        if name not in self.schema.names:
            raise FileError(f"{path}: no column {name!r}, the columns are {', '.join(self.schema.names)}")

    def progress(self) -> float:
        """The share of the file that the batches taken so far make up."""
        return self._progress()

    def batches(self) -> Iterator[Any]:
        """Arrow arrays, in the order of the file."""
        with reading(self.path), self.path.open("rb") as handle:
            size = max(self.path.stat().st_size, 1)
            self._progress = lambda: 1.0 if handle.closed else handle.tell() / size
            _, batches = _open(handle, self.path.suffix, self.name)
            for batch in batches:
                yield batch.column(self.name)

    def labels(self) -> list[str]:
        """The distinct values of the column, sorted, as text. Missing answers are not among them."""
        found: set[str] = set()
        for batch in self.batches():
            found.update(_text(batch.unique()).drop_null().to_pylist())
            if len(found) > MAX_DISTINCT:
                raise FileError(f"{self.path}: column {self.name!r} has more than {MAX_DISTINCT:,} distinct values")
        if len(found) < 2:
            raise FileError(f"{self.path}: column {self.name!r} must hold at least 2 distinct values, has {len(found)}")
        return sorted(found)

    def values(self, domain: Domain) -> Iterator[list[Any]]:
        """The answers as a domain understands them, batch by batch: whole numbers or text."""
        for batch in self.batches():
            yield _values(batch, domain)


def _open(handle: BinaryIO, suffix: str, column: str | None = None) -> tuple[Any, Iterator[Any]]:
    """The schema of a table and its record batches. The kind of file is told by its first bytes."""
    magic = handle.read(6)
    handle.seek(0)
    if magic[:4] == b"PAR1":
        parquet = load("pyarrow.parquet").ParquetFile(handle)
        return parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS, columns=[column] if column else None)
    if magic == b"ARROW1":
        arrow = load("pyarrow.ipc").open_file(handle)
        return arrow.schema, (arrow.get_batch(at) for at in range(arrow.num_record_batches))
    reader = _open_csv(handle, "\t" if suffix == ".tsv" else ",", column)
    return reader.schema, iter(reader)


def _open_csv(handle: BinaryIO, delimiter: str, column: str | None) -> Any:
    """A CSV reader that takes every value as text: "01" and "1" are two answers."""
    csv = load("pyarrow.csv")
    convert = csv.ConvertOptions(null_values=MISSING_TEXT, strings_can_be_null=True)
    if column:
        convert.include_columns, convert.column_types = [column], {column: pa.string()}
    return csv.open_csv(handle, parse_options=csv.ParseOptions(delimiter=delimiter), convert_options=convert)


def _text(array: Any) -> Any:
    """An Arrow array as text, with NaN and the empty string as nulls."""
    compute = load("pyarrow.compute")
    text = array.cast(pa.string())
    gaps = compute.or_kleene(compute.is_null(array, nan_is_null=True), compute.equal(text, ""))
    return compute.if_else(gaps, pa.scalar(None, pa.string()), text)


def _values(array: Any, domain: Domain) -> list[Any]:
    """An Arrow array as values that a domain understands: whole numbers or text."""
    if not isinstance(domain.values, range):
        return list(_text(array).to_pylist())
    try:
        return list(_text(array).cast(pa.int64()).to_pylist())
    except pa.ArrowInvalid as error:
        raise DomainError(f"an answer must be a whole number from 0 to {len(domain.values) - 1}: {error}") from None


def read_domain(text: str, missing: str) -> Domain:
    """A domain from a file with a label on each line, from labels with commas between them, or from a size."""
    path = Path(text)
    if path.is_file():
        with reading(path):
            labels = [line.strip() for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
        return Domain(labels, missing)
    if text.strip().isdecimal():
        return Domain(int(text), missing)
    if "," not in text:
        raise FileError(f"{text}: a domain must be a file, a number of values, or labels with commas between them")
    return Domain([label.strip() for label in text.split(",")], missing)


def _arrow_type(m: Mechanism) -> Any:
    if isinstance(m.shape, Bits):
        return pa.binary(m.shape.width)
    if isinstance(m.shape, Index):
        return pa.from_numpy_dtype(m.shape.dtype)
    raise FileError(f"reports of {m!r} have no file format")


def write_reports(path: Path, m: Mechanism, parts: Iterable[Reports]) -> int:
    """Write reports to a Parquet or Arrow file that carries its mechanism. Returns how many there were."""
    if path.suffix not in (".parquet", ".arrow"):
        raise FileError(f"{path}: a file of reports must end in .parquet or .arrow")
    parts = iter(parts)
    first = next(parts, None)
    if first is None:
        raise FileError("there are no answers to randomize")
    arrow_type, count = _arrow_type(m), 0
    note = {"version": VERSION, "mechanism": m.to_dict(), "simulated": first.simulated}
    schema = pa.schema([pa.field("report", arrow_type, nullable=False)], {KEY: json.dumps(note).encode()})
    with writing(path) as part, _writer(part, path.suffix, schema) as writer:
        for reports in itertools.chain([first], parts):
            count += len(reports)
            writer.write_batch(pa.record_batch([_arrow_array(reports.data, arrow_type)], schema=schema))
    return count


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
    """A file of reports, read in batches. Its mechanism and whether it is simulated travel in its metadata."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.column = Column(path, "report")
        with reading(path):
            schema = self.column.schema
            note = json.loads((schema.metadata or {}).get(KEY, b"null"))
        if (
            not isinstance(note, dict)
            or note.get("version") != VERSION
            or set(note) != {"version", "mechanism", "simulated"}
        ):
            raise FileError(f"{path}: not a file of sottovoce reports (version {VERSION})")
        try:
            self.mechanism = mechanism(note["mechanism"])
        except ParameterError as error:
            raise FileError(f"{path}: its mechanism is damaged: {error}") from None
        self.simulated = bool(note["simulated"])
        wanted = _arrow_type(self.mechanism)
        if schema.field("report").type != wanted:
            raise FileError(f"{path}: reports must be of type {wanted}, got {schema.field('report').type}")

    def __iter__(self) -> Iterator[Reports]:
        for array in self.column.batches():
            if array.null_count:
                raise FileError(f"{self.path}: a report must not be null")
            yield Reports(self.mechanism, self._data(array), self.simulated)

    def _data(self, array: Any) -> NDArray[Any]:
        if not isinstance(self.mechanism.shape, Bits):
            return np.asarray(array)
        width = self.mechanism.shape.width
        buffer = np.frombuffer(array.buffers()[1], dtype=np.uint8)
        return buffer[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)
