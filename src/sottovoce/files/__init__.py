"""Tables of answers in, files of reports out: CSV, Parquet and Arrow, a batch at a time.

Nothing here holds more than a few batches, so memory does not grow with a file. An output file appears under its name
only when it is whole.
"""

from sottovoce.files.csv_text import write_csv
from sottovoce.files.paths import reading, writing
from sottovoce.files.pipeline import in_order, workers
from sottovoce.files.reports import KEY, VERSION, ReportFile, batch_rows, write_reports
from sottovoce.files.tables import BATCH_ROWS, Table, answers, is_listed, write_table

__all__ = [
    "BATCH_ROWS",
    "KEY",
    "VERSION",
    "ReportFile",
    "Table",
    "answers",
    "batch_rows",
    "in_order",
    "is_listed",
    "reading",
    "workers",
    "write_csv",
    "write_reports",
    "write_table",
    "writing",
]
