"""Tables of answers in, files of reports out, tallies from them: CSV, Parquet and Arrow, a batch at a time.

Nothing here holds more than a few batches, so memory does not grow with a file. An output file appears under its name
only when it is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.data.csv_text import write_csv as write_csv
    from sottovoce.data.paths import reading as reading
    from sottovoce.data.paths import writing as writing
    from sottovoce.data.pipeline import Progress as Progress
    from sottovoce.data.pipeline import in_order as in_order
    from sottovoce.data.pipeline import workers as workers
    from sottovoce.data.randomize import RandomizedFile as RandomizedFile
    from sottovoce.data.randomize import randomize_file as randomize_file
    from sottovoce.data.reports import METADATA_KEY as METADATA_KEY
    from sottovoce.data.reports import VERSION as VERSION
    from sottovoce.data.reports import ReportFile as ReportFile
    from sottovoce.data.reports import batch_rows as batch_rows
    from sottovoce.data.reports import write_reports as write_reports
    from sottovoce.data.tables import BATCH_ROWS as BATCH_ROWS
    from sottovoce.data.tables import Table as Table
    from sottovoce.data.tables import answers as answers
    from sottovoce.data.tables import is_listed as is_listed
    from sottovoce.data.tables import write_table as write_table
    from sottovoce.data.tally import matching_files as matching_files
    from sottovoce.data.tally import tally_files as tally_files
    from sottovoce.survey.short_form import ColumnQuestion as ColumnQuestion

_HOMES = {
    "BATCH_ROWS": "tables",
    "ColumnQuestion": "randomize",
    "METADATA_KEY": "reports",
    "Progress": "pipeline",
    "RandomizedFile": "randomize",
    "ReportFile": "reports",
    "Table": "tables",
    "VERSION": "reports",
    "answers": "tables",
    "batch_rows": "reports",
    "in_order": "pipeline",
    "is_listed": "tables",
    "matching_files": "tally",
    "randomize_file": "randomize",
    "reading": "paths",
    "tally_files": "tally",
    "workers": "pipeline",
    "write_csv": "csv_text",
    "write_reports": "reports",
    "write_table": "tables",
    "writing": "paths",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.
