"""A store that other processes look into while a collector writes: nothing that was acknowledged is lost to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from collector_service import Inside, submission, survey

from sottovoce.collector import open_store

LOOK = """
import sys
from sottovoce.collector import open_store
store = open_store(sys.argv[1])
print(sum(len(rows) for rows in store.reports(store.survey("habits"))))
store.close()
"""


def look(folder: Path) -> int:
    """How many reports another process finds. It is the first to close the store, and must not take it for the last."""
    return int(subprocess.run([sys.executable, "-c", LOOK, str(folder)], capture_output=True, check=True).stdout)


def test_what_is_acknowledged_is_there_for_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish(survey())
    collector = Inside(store)
    for count in (1, 2, 3):
        assert collector.send(submission(survey())).status == 200
        assert look(tmp_path) == count
    collector.close()
