"""Columns of answers in CSV, Parquet and Arrow files, read a batch at a time; tables of results, written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from sottovoce.core import canonical
from sottovoce.core.domain import AnswerDomain, Domain, Label, Options, Scale, Text
from sottovoce.core.errors import DomainError, FileError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.data.csv_text import write_csv
from sottovoce.data.paths import reading, writing

if TYPE_CHECKING:
    Batches = Iterator[tuple[pa.RecordBatch, float]]
    """Record batches, each with the share of the file that has been read with it."""

BATCH_ROWS = 2**17
BATCH_BYTES = 2**23
"""A batch has at most this many rows, and fewer where rows are long: at most this many bytes."""
BLOCK_BYTES = 2**20
"""Bytes of a CSV file that are parsed together; Arrow holds several dozen such blocks while it reads ahead."""
BUFFER_BYTES = 2**20
"""Bytes of a Parquet column that are read at a time: a group of rows may hold the whole file."""
MISSING_TEXT = ["", "NaN", "nan"]
"""What stands in a CSV file, which knows no null, where there is no answer. Of free text, only the first."""
MAX_DISTINCT_VALUES = 2**20
MAX_HEADER_BYTES = 2**20
TEXT_LENGTH_BYTES = 4
"""A Parquet file stores a text's length in 4 bytes. A column that takes less a row must be coded by a dictionary."""


class Table:
    """Some columns of a CSV, Parquet or Arrow file, read in batches.

    Texts of a CSV file that are in `missing` are null in its batches. If the batches go to `answers`, the empty string
    is enough: which other words mean a missing answer depends on what is asked.
    """

    def __init__(self, path: Path, columns: Sequence[str], missing: Sequence[str] = MISSING_TEXT) -> None:
        self.path, self.columns, self._missing = path, list(columns), list(missing)
        self._done = 0.0
        with reading(path), _source(path) as source:
            self.csv, self.schema, _ = _open(source, path.suffix)
            names = list(self.schema.names)
        for name in columns:
            if names.count(name) > 1:
                raise FileError(f"{path}: {name!r} is the name of more than one column")
            if name not in names:
                raise FileError(f"{path}: no column {name!r}, the columns are {', '.join(names)}")

    def progress(self) -> float:
        """The share of the file that has been read for the batches taken so far."""
        return self._done

    def batches(self, listed: Collection[str] = (), rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Arrow record batches, in the order of the file.

        Columns of `listed` answers, of which there are few different ones, come as Arrow dictionaries where that is
        quicker.
        """
        with reading(self.path), _source(self.path) as source:
            try:
                for whole, done in _open(source, self.path.suffix, self.columns, listed, rows, self._missing)[2]:
                    self._done = done
                    for at in range(0, len(whole), rows):
                        yield whole.slice(at, rows)
            except pa.ArrowInvalid as error:
                self._check_encoding(str(error))
                raise

    def _check_encoding(self, said: str) -> None:
        """Name the column and the row of a CSV file that is not UTF-8. Arrow's own error has only a column number."""
        found = re.match(r"In CSV column #(\d+): .*invalid UTF8", said)
        if found is None:
            return
        name, row = self.schema.names[int(found[1])], 1
        with _source(self.path) as source:
            for batch in _open_csv(source, _delimiter(self.path.suffix), [name], kind=pa.binary()):
                if not _casts(batch.column(0), pa.string()):
                    row += _first_odd(batch.column(0), pa.string())
                    break
                row += len(batch)
        raise FileError(f"{self.path}: cannot be read: column {name!r} must be text in UTF-8, row {row} is not")

    def labels(self, column: str) -> list[str]:
        """The distinct values of a column, sorted, as text. Missing answers are not among them."""
        found: set[str | None] = set()
        for batch in self.batches([column]):
            found.update(_coded(batch.column(column), self.csv).unique().to_pylist())
            found.discard(None)
            if len(found) > MAX_DISTINCT_VALUES:
                raise FileError(f"{self.path}: column {column!r} has more than {MAX_DISTINCT_VALUES:,} distinct values")
        if len(found) < 2:
            raise FileError(f"{self.path}: column {column!r} must hold at least 2 distinct values, has {len(found)}")
        return sorted(map(str, found))


def _source(path: Path) -> pa.NativeFile:
    """A file that Arrow reads by itself: its reader runs ahead in a thread, where a Python file is not safe."""
    if path.is_dir():
        raise FileError(f"{path}: is a directory")
    return pa.OSFile(str(path))


def _open(
    source: pa.NativeFile,
    suffix: str,
    columns: list[str] | None = None,
    listed: Collection[str] = (),
    rows: int = BATCH_ROWS,
    missing: Sequence[str] = MISSING_TEXT,
) -> tuple[bool, pa.Schema, Batches]:
    """Whether it is CSV, the schema of a table and its record batches. The kind of file is told by its first bytes."""
    magic, size = source.read(6), source.size()
    source.seek(0)
    if magic[:4] == b"PAR1":
        return False, *_open_parquet(source, columns, listed, rows)
    if magic == b"ARROW1":
        arrow = load("pyarrow.ipc").open_file(source)
        count = arrow.num_record_batches
        return False, arrow.schema, ((arrow.get_batch(at), (at + 1) / count) for at in range(count))
    reader = _open_csv(source, _delimiter(suffix), columns, listed, missing)
    return True, reader.schema, ((batch, source.tell() / size) for batch in reader)


def _open_parquet(
    source: pa.NativeFile, columns: list[str] | None, listed: Collection[str], rows: int
) -> tuple[pa.Schema, Batches]:
    parquet = load("pyarrow.parquet")
    bounded = {"buffer_size": BUFFER_BYTES, "pre_buffer": False}  # Otherwise all of the file is held until its end.
    file = parquet.ParquetFile(source, **bounded)
    width = _bytes_a_row(file.metadata)
    packed = [name for name in listed if width.get(name, TEXT_LENGTH_BYTES + 1) <= TEXT_LENGTH_BYTES]
    if packed:
        file = parquet.ParquetFile(source, read_dictionary=packed, metadata=file.metadata, **bounded)
    room = int(BATCH_BYTES / max(1.0, sum(width.get(name, 0.0) for name in columns or ())))
    return file.schema_arrow, _shares(
        file.iter_batches(max(1, min(rows, room)), columns=columns), file.metadata.num_rows
    )


def _shares(batches: Iterator[pa.RecordBatch], rows: int) -> Batches:
    done = 0
    for batch in batches:
        done += len(batch)
        yield batch, done / rows if rows else 1.0


def _bytes_a_row(metadata: pa.parquet.FileMetaData) -> dict[str, float]:
    """What a value takes in each column of a Parquet file before compression."""
    total: dict[str, int] = {}
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            total[chunk.path_in_schema] = total.get(chunk.path_in_schema, 0) + chunk.total_uncompressed_size
    return {name: size / max(1, metadata.num_rows) for name, size in total.items()}


def _delimiter(suffix: str) -> str:
    return "\t" if suffix == ".tsv" else ","


def _open_csv(
    source: pa.NativeFile,
    delimiter: str,
    columns: list[str] | None,
    listed: Collection[str] = (),
    missing: Sequence[str] = MISSING_TEXT,
    kind: pa.DataType | None = None,
) -> pa.csv.CSVStreamingReader:
    """A CSV reader that takes every value as text: "01" and "1" are two answers.

    In a table with one column an empty line is a missing answer; with more it is just an empty line.
    """
    csv = load("pyarrow.csv")
    alone = delimiter.encode() not in source.read(MAX_HEADER_BYTES).split(b"\n", 1)[0]
    source.seek(0)
    convert = csv.ConvertOptions(null_values=missing, strings_can_be_null=True)
    if columns:
        coded, kind = pa.dictionary(pa.int32(), pa.string()), kind or pa.string()
        convert.include_columns = columns
        convert.column_types = {name: coded if name in listed else kind for name in columns}
    parse = csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=not alone)
    read = csv.ReadOptions(block_size=BLOCK_BYTES)
    return csv.open_csv(source, read_options=read, parse_options=parse, convert_options=convert)


def _text(array: pa.Array, missing: Sequence[str] = ("",)) -> pa.StringArray:
    """An Arrow array as text, with NaN and what is missing as nulls: the empty string, and words of a CSV file."""
    compute = load("pyarrow.compute")
    try:
        text = array.cast(pa.string())
    except (pa.ArrowException, UnicodeDecodeError):
        raise FileError(f"a column must hold text, numbers or truth values, got {array.type}") from None
    filled = compute.binary_length(text).cast(pa.bool_())
    for word in filter(None, missing):
        filled = compute.and_kleene(filled, compute.not_equal(text, word))
    given = compute.and_kleene(filled, compute.invert(compute.is_null(array, nan_is_null=True)))
    return compute.if_else(given, text, pa.nulls(1, pa.string())[0])


def answers(array: pa.Array, domain: AnswerDomain, csv: bool = False, first_row: int = 1) -> pa.Array | list[object]:
    """An Arrow array as answers that a domain understands: text, numbers, or sets of labels.

    Of free text in a CSV file, only the empty string is missing: somebody may be called NaN. An error names its row,
    counted from `first_row`.
    """
    if isinstance(domain, Options):
        return _sets(array, csv, _labels_by_text(domain.options))
    if is_listed(domain):
        return _labelled(array, csv, _labels_by_text(domain))
    if isinstance(domain, Text):
        return _text(array)
    kind = pa.float64() if isinstance(domain, Scale) else pa.int64()
    if array.type == kind and not array.null_count:
        return array
    text = _text(array, _words(csv))
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        at = _first_odd(text, kind)
        wanted = "number" if isinstance(domain, Scale) else f"whole number below {domain.size:,}"
        raise DomainError(f"row {first_row + at}: an answer must be a {wanted}, got {text[at].as_py()!r:.40}") from None


def _words(csv: bool) -> Sequence[str]:
    return MISSING_TEXT if csv else MISSING_TEXT[:1]


def _first_odd(column: pa.Array, kind: pa.DataType) -> int:
    """The first row that cannot be cast to a type; there must be one."""
    return bisect_left(range(len(column)), True, key=lambda row: not _casts(column[: row + 1], kind))


def _casts(text: pa.Array, kind: pa.DataType) -> bool:
    try:
        text.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def is_listed(domain: object) -> TypeGuard[Domain]:
    """Whether answers are labels of a list, so that each different label is looked up only once."""
    return isinstance(domain, Domain) and not isinstance(domain.values, range)


@lru_cache(maxsize=64)
def _labels_by_text(domain: Domain) -> dict[str, Label]:
    """Labels that are numbers, by the text that stands for them in a file: as JSON writes them."""
    texts = set() if isinstance(domain.values, range) else {label for label in domain.values if isinstance(label, str)}
    others = (label for label in domain.values if not isinstance(label, str))
    written = {canonical.dumps(label).decode(): label for label in others}
    return {text: label for text, label in written.items() if text not in texts}


def _labelled(array: pa.Array, csv: bool, labels: Mapping[str, Label]) -> pa.Array | list[object]:
    """An Arrow array as labels of a list: a dictionary of text or, if there are numbers among them, plain labels."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if labels and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return array
    coded = _coded(array, csv)
    if not labels:
        return coded
    words = [labels.get(text, text) for text in coded.dictionary.to_pylist()]
    return [None if at is None else words[at] for at in coded.indices.to_pylist()]


def _coded(array: pa.Array, csv: bool) -> pa.DictionaryArray:
    """An Arrow array of text as a dictionary and places in it."""
    try:
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    except pa.ArrowException:
        return _text(array)  # It says what is wrong.
    return pa.DictionaryArray.from_arrays(coded.indices, _text(coded.dictionary, _words(csv)))


def _sets(array: pa.Array, csv: bool, labels: Mapping[str, Label]) -> list[object]:
    """Lists as they are; text is split at semicolons. In CSV, which knows no null, an empty cell is the empty set."""
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return list(array.to_pylist())
    rows = _text(array, _words(csv)).to_pylist()
    if csv:
        rows = [row or "" for row in rows]
    return [row if row is None else [labels.get(text, text) for text in _split(row)] for row in rows]


def _split(row: str) -> list[str]:
    return [text.strip() for text in row.split(";") if text.strip()]


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow table to a CSV, Parquet or Arrow file."""
    with writing(path) as part:
        if path.suffix == ".csv":
            write_csv(table, str(part))
        elif path.suffix in (".parquet", ".arrow"):
            with writer(part, path.suffix, table.schema) as file:
                file.write_table(table)
        else:
            raise FileError(f"{path}: a table must end in .csv, .parquet or .arrow")


def writer(path: Path, suffix: str, schema: pa.Schema, **options: Any) -> pa.ipc.RecordBatchWriter:
    """A writer of a Parquet or Arrow file; the options are for Parquet."""
    if suffix == ".arrow":
        return load("pyarrow.ipc").new_file(str(path), schema)
    return load("pyarrow.parquet").ParquetWriter(str(path), schema, compression="zstd", **options)
