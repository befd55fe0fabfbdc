"""Reports as columns: the compact batch that a collector takes, and the Parquet files that it gives and takes.

`_id` has 16 bytes for each row, `_wave` the wave. Each covariate is a column of text, each question a column of its
mechanism's reports: whole numbers, or bytes of one length. The metadata names the survey by its digest.
"""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sottovoce.collector.layout import Layout
from sottovoce.collector.records import Block, StoredReport, StoredSurvey
from sottovoce.core import canonical
from sottovoce.core.errors import ReportError, SottovoceError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.core.reports import Bits, Index, Report, Reports, Shape
from sottovoce.data import METADATA_KEY, VERSION
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from numpy.typing import NDArray

SURVEY_KEY = b"sottovoce.survey"
"""The metadata under which a stream or a file names its survey by its digest."""

ID_BYTES = 16


def schema(survey: Survey) -> pa.Schema:
    """The columns for the reports of a survey. The mechanisms are in the metadata too: `sotto estimate` reads them."""
    fields = [pa.field("_id", pa.binary(ID_BYTES), nullable=False), pa.field("_wave", pa.int64(), nullable=False)]
    fields += [pa.field(covariate.id, pa.string(), nullable=False) for covariate in survey.covariates]
    fields += [pa.field(item.id, _type(item.id, item.mechanism.shape)) for item in survey.questions]
    questions = {item.id: item.mechanism.to_dict() for item in survey.questions}
    note = json.dumps({"version": VERSION, "questions": questions, "simulated": False}).encode()
    return pa.schema(fields, {SURVEY_KEY: survey.digest.encode(), METADATA_KEY: note})


def _type(question: str, shape: Shape) -> pa.DataType:
    if isinstance(shape, Bits):
        return pa.binary(shape.width)
    if isinstance(shape, Index) and shape.bits <= 64:
        return pa.from_numpy_dtype(shape.dtype)
    raise ReportError(f"{question}: reports of {shape.bits} bits have no column, send them as JSON")


def encode(
    survey: Survey,
    reports: Mapping[str, Reports | NDArray[np.integer[Any]] | Sequence[Report | None]],
    ids: Sequence[bytes] | None = None,
    wave: int = 0,
    covariates: Mapping[str, Sequence[str]] | None = None,
) -> bytes:
    """A compact batch: a column of reports for each question, such as `randomize_many` gives, as an Arrow stream.

    Ids are drawn unless they are given. Keep the bytes until they are acknowledged, and send the same again if not.
    """
    shape = schema(survey)
    count = len(next(iter(reports.values())))
    columns: dict[str, object] = {
        "_id": [secrets.token_bytes(ID_BYTES) for _ in range(count)] if ids is None else list(ids),
        "_wave": [wave] * count,
        **(covariates or {}),
        **{name: _plain(column) for name, column in reports.items()},
    }
    if set(columns) != set(shape.names):
        raise ReportError(f"the columns must be those of the survey: {', '.join(shape.names[2:])}")
    arrays = [pa.array(columns[field.name], field.type) for field in shape]
    sink = pa.BufferOutputStream()
    with load("pyarrow.ipc").new_stream(sink, shape) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=shape))
    return bytes(sink.getvalue())


def _plain(column: object) -> object:
    """A column of reports as Arrow takes it: rows of bytes one by one."""
    data = column.data if isinstance(column, Reports) else column
    return [row.tobytes() for row in data] if isinstance(data, np.ndarray) and data.ndim == 2 else data


def decode(data: bytes, to: StoredSurvey, most: int) -> Block:
    """The reports in an untrusted Arrow stream."""
    ipc = load("pyarrow.ipc")
    try:
        _check_messages(data)
        reader = ipc.open_stream(data)
        _check_schema(reader.schema, to.survey)
        blocks, count = [], 0
        for batch in reader:
            count += len(batch)
            if count > most:
                break
            _check_size(count, to.layout, len(data))
            batch.validate(full=True)
            blocks.append(block(batch, to))
    except (pa.ArrowException, OSError, EOFError, struct.error, ValueError) as error:
        if isinstance(error, SottovoceError):
            raise
        raise ReportError(f"not a stream of Arrow record batches: {str(error)[:100]!r}") from None
    if count > most:
        raise ReportError(f"a batch must have at most {most:,} reports")
    return _joined(to, blocks)


def _check_size(count: int, layout: Layout, size: int) -> None:
    """Refuse columns that share their bytes: few bytes would become many reports of the full width."""
    least = count * (layout.width - layout.presence_bytes)
    if least > size:
        raise ReportError(f"{count:,} reports take {least:,} bytes or more, got a stream of {size:,}")


def _joined(to: StoredSurvey, blocks: list[Block]) -> Block:
    return blocks[0] if len(blocks) == 1 else Block(to, [read for block in blocks for read in block.rows])


def _check_messages(data: bytes) -> None:
    """Refuse compressed batches, whose size is not known before they are read, and all but plain columns."""
    messages = load("pyarrow.ipc").MessageReader.open_stream(data)
    for number, message in enumerate(messages):
        if message.type != ("record batch" if number else "schema"):
            raise ReportError(f"a stream must be a schema and record batches, got a {message.type}")
        if number and _compressed(message.metadata.to_pybytes()):
            raise ReportError("record batches must not be compressed")


def _compressed(metadata: bytes) -> bool:
    """Whether the buffers of a message are compressed: field 3 of its RecordBatch, which is field 2 of its Message."""
    message = struct.unpack_from("<I", metadata)[0]
    header = message + _field(metadata, message, 2)
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, batch, 3) != 0


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field is in a FlatBuffers table; 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    at = 4 + 2 * number
    size = struct.unpack_from("<H", data, vtable)[0]
    return int(struct.unpack_from("<H", data, vtable + at)[0]) if at < size else 0


def _check_schema(found: pa.Schema, survey: Survey) -> None:
    wanted = schema(survey)
    if (found.metadata or {}).get(SURVEY_KEY, b"") != survey.digest.encode():
        raise ReportError(f"the metadata {SURVEY_KEY.decode()} must be {survey.digest}")
    if sorted(found.names) != sorted(wanted.names):
        raise ReportError(f"the columns must be {', '.join(wanted.names)}")
    for field in wanted:
        if found.field(field.name).type != field.type:
            raise ReportError(f"{field.name}: must be of type {field.type}, got {found.field(field.name).type}")


def block(batch: pa.RecordBatch, to: StoredSurvey) -> Block:
    """The reports in a record batch with the right columns, all checked."""
    for name in ("_id", "_wave", *(covariate.id for covariate in to.survey.covariates)):
        if batch.column(name).null_count:
            raise ReportError(f"{name}: must not be null")
    waves = np.asarray(batch.column("_wave"))
    if len(waves) and not 0 <= int(waves.min()) <= int(waves.max()) < to.survey.waves:
        raise ReportError(f"a wave must be from 0 to {to.survey.waves - 1}, got {int(waves.min())}..{int(waves.max())}")
    rows = _rows(batch, to.layout)
    ids = bytes_rows(batch.column("_id"), ID_BYTES).tobytes()
    bodies = _cut(rows.tobytes(), to.layout.width)
    return Block(to, list(zip(_cut(ids, ID_BYTES), waves.tolist(), _groups(batch, to), bodies, strict=True)))


def _cut(data: bytes, width: int) -> list[bytes]:
    return [data[at : at + width] for at in range(0, len(data), width)]


def _rows(batch: pa.RecordBatch, layout: Layout) -> NDArray[np.uint8]:
    rows = np.zeros((len(batch), layout.width), dtype=np.uint8)
    for field in layout.fields:
        column, shape = batch.column(field.id), field.mechanism.shape
        try:
            given = np.ones(len(batch), dtype=bool)
            if column.null_count:
                shape.check(None)
                given, column = np.asarray(column.is_valid()), column.drop_null()
            data = shape.check_many(bytes_rows(column, shape.width) if isinstance(shape, Bits) else np.asarray(column))
        except ReportError as error:
            raise ReportError(f"{field.id}: {error}") from None
        part = np.zeros((len(data), layout.width), dtype=np.uint8)
        field.fill(part, data)
        rows[given] |= part
    return rows


def bytes_rows(array: pa.FixedSizeBinaryArray, width: int) -> NDArray[np.uint8]:
    """A column of bytes of one length as rows."""
    whole = np.frombuffer(array.buffers()[1] or b"", dtype=np.uint8)
    return whole[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)


def _groups(batch: pa.RecordBatch, to: StoredSurvey) -> list[str]:
    """The text for each row's covariates; each combination is written once."""
    if not to.survey.covariates:
        return ["{}"] * len(batch)
    columns = []
    for covariate in to.survey.covariates:
        values = batch.column(covariate.id).to_pylist()
        odd = next((value for value in set(values) if value not in covariate.values), None)
        if odd is not None:
            raise ReportError(f"{covariate.id}: must be one of its values, got {odd!r:.60}")
        columns.append(values)
    names = [covariate.id for covariate in to.survey.covariates]
    found = list(zip(*columns, strict=True))
    texts = {one: canonical.dumps(dict(zip(names, one, strict=True))).decode() for one in set(found)}
    return [texts[one] for one in found]


def batch(rows: Sequence[StoredReport], to: StoredSurvey) -> pa.RecordBatch:
    """A record batch of stored reports: what `block` reads."""
    shape, layout = schema(to.survey), to.layout
    table = layout.array(b"".join([row[4] for row in rows]))
    covariates = [json.loads(row[3]) for row in rows]
    arrays = [pa.array([row[1] for row in rows], pa.binary(ID_BYTES)), pa.array([row[2] for row in rows], pa.int64())]
    arrays += [pa.array([one[c.id] for one in covariates], pa.string()) for c in to.survey.covariates]
    for field in layout.fields:
        given = table[:, field.number // 8] >> field.number % 8 & 1 == 1
        data = field.column(table)
        arrays.append(pa.array(_plain(data), shape.field(field.id).type, mask=~given))
    return pa.record_batch(arrays, schema=shape)
