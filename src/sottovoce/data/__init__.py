"""Tables of answers in, files of reports out, tallies from them: CSV, Parquet and Arrow, a batch at a time.

Nothing here holds more than a few batches, so memory does not grow with a file. An output file appears under its name
only when it is whole.
"""

from sottovoce.data.csv_text import write_csv
from sottovoce.data.paths import reading, writing
from sottovoce.data.pipeline import in_order, workers
from sottovoce.data.randomize import Progress, RandomizedFile, randomize_file
from sottovoce.data.reports import METADATA_KEY, VERSION, ReportFile, batch_rows, write_reports
from sottovoce.data.tables import BATCH_ROWS, Table, answers, is_listed, write_table
from sottovoce.data.tally import matching_files, tally_files
from sottovoce.survey.short_form import ColumnQuestion

__all__ = [
    "BATCH_ROWS",
    "METADATA_KEY",
    "VERSION",
    "ColumnQuestion",
    "Progress",
    "RandomizedFile",
    "ReportFile",
    "Table",
    "answers",
    "batch_rows",
    "in_order",
    "is_listed",
    "matching_files",
    "randomize_file",
    "reading",
    "tally_files",
    "workers",
    "write_csv",
    "write_reports",
    "write_table",
    "writing",
]
