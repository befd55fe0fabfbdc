"""Files of reports into a store and out of it: Parquet, which Spark and `sotto estimate` read too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sottovoce import data as files
from sottovoce.collector import columns
from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.store import Store
from sottovoce.core.errors import FileError, ReportError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.survey import Survey
from sottovoce.web.block_outcome import BlockOutcome

ROWS_PER_BATCH = 10_000
"""Rows handled at a time."""


def export(store: Store, to: StoredSurvey, path: Path) -> int:
    """Write all reports of a survey to a Parquet file, by their random ids; how many there were.

    Reports by invitation are not among them while they wait for their group.
    """
    if path.suffix != ".parquet":
        raise FileError(f"{path}: an export must end in .parquet")
    store.settle(to, expired=to.survey.expires is not None and datetime.now(UTC) >= to.survey.expires)
    count = 0
    with files.writing(path) as part:
        shape = columns.schema(to.survey)
        with load("pyarrow.parquet").ParquetWriter(str(part), shape, compression="zstd") as writer:
            for rows in store.reports(to):
                writer.write_batch(columns.batch(rows, to))
                count += len(rows)
    return count


def load_file(store: Store, to: StoredSurvey, path: Path, wave: int = 0, simulated: bool = False) -> BlockOutcome:
    """Add the reports in a file to a survey, as if they had been sent."""
    accepted = duplicates = 0
    for batch in batches(path, to.survey, wave, simulated):
        try:
            done = store.add([columns.block(batch, to)])[0]
        except ReportError as error:
            raise FileError(f"{path}: {error}") from None
        if done.refused:
            raise FileError(f"{path}: {done.detail}")
        accepted, duplicates = accepted + done.accepted, duplicates + done.duplicates
    return BlockOutcome(accepted, duplicates)


def batches(path: Path, survey: Survey, wave: int = 0, simulated: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of a file of reports with the columns of a survey.

    A file that `sotto randomize` wrote has reports alone. Then the ids of its rows are derived from all of its bytes,
    so that the same file is counted once.
    """
    source = files.ReportFile(path)
    wanted = {item.id: item.mechanism for item in survey.questions}
    if source.mechanisms != wanted:
        raise FileError(f"{path}: its reports are of {source.mechanisms}, the survey asks by {wanted}")
    if source.simulated and not simulated:
        raise FileError(f"{path}: its reports were made with a seed and protect nobody")
    names = source.table.schema.names
    shape = columns.schema(survey)
    missing = [name for name in shape.names if name not in names and name not in ("_id", "_wave")]
    if missing:
        raise FileError(f"{path}: there is no column {missing[0]!r}")
    table = files.Table(path, [name for name in shape.names if name in names])
    key, row = b"" if "_id" in names else _digest(path), 0
    for whole in table.batches():
        for at in range(0, len(whole), ROWS_PER_BATCH):
            yield _completed(whole.slice(at, ROWS_PER_BATCH), shape, wave, key, row + at)
        row += len(whole)


def _completed(part: pa.RecordBatch, shape: pa.Schema, wave: int, key: bytes, row: int) -> pa.RecordBatch:
    """A record batch with an id and a wave for each row."""
    count = len(part)
    made = {"_wave": [wave] * count, "_id": [_id(key, row + at) for at in range(count)] if key else []}
    arrays = []
    for field in shape:
        name = field.name
        array = part.column(name) if name in part.schema.names else pa.array(made[name], field.type)
        if array.type != field.type:
            raise FileError(f"column {name!r} must be of type {field.type}, got {array.type}")
        arrays.append(array)
    return pa.record_batch(arrays, schema=shape)


def stream(batch: pa.RecordBatch) -> bytes:
    """A record batch as a compact body to send."""
    sink = pa.BufferOutputStream()
    with load("pyarrow.ipc").new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _id(key: bytes, row: int) -> bytes:
    return hashlib.sha256(key + row.to_bytes(8, "little")).digest()[: columns.ID_BYTES]


def _digest(path: Path) -> bytes:
    with files.reading(path), path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").digest()


def lines(path: Path, most: int = 1000, room: int = 2**20) -> Iterator[bytes]:
    """The lines of a file, as many at a time as make a batch."""
    part: list[bytes] = []
    size = 0
    with files.reading(path), path.open("rb") as source:
        for line in source:
            if part and (len(part) == most or size + len(line) > room):
                yield b"\n".join(part)
                part, size = [], 0
            if line.strip():
                part.append(line.strip())
                size += len(line)
        if part:
            yield b"\n".join(part)


def is_table(path: Path) -> bool:
    with files.reading(path), path.open("rb") as source:
        return source.read(6).startswith((b"PAR1", b"ARROW1"))
