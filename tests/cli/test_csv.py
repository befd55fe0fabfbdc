"""CSV that a spreadsheet opens without running anything, from the command line, the collector and the pages."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from collector_service import Inside
from hypothesis import example, given
from hypothesis import strategies as st

from sottovoce import data as files
from sottovoce.cli import main
from sottovoce.collector import open_store
from sottovoce.data.csv_text import NUMBER, protect, unprotect
from sottovoce.survey import Survey

NODE = shutil.which("node")
ATTACK = "=cmd|' /C calc'!A0"
FORMULAS = (
    ATTACK,
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    " =1",
    "＝1+1",
    "'=1",
    "-",
    "\xa0=1",
    "\u3000@A1",
    "\u200b=1",
    "\ufeff=1",
)
MARKED = {
    "tea;=1+1;milk": "tea;'=1+1;milk", "tea\t=1": "tea\t'=1", "tea\n=1": "tea\n'=1", "a; -1": "a;' -1",
    "a;'=1": "a;''=1", 'a;"=1': "a;'\"=1",
    "\t=1": "'\t'=1", "\r=1": "'\r'=1", "\n=1": "'\n'=1", ";\t=1": ";'\t'=1", "=1;=2": "'=1;'=2", "\t": "'\t",
}  # fmt: skip
"""Texts that a spreadsheet may part into several cells, and how they are marked."""
HARMLESS = ("tea", "-0.02", "+39", "-1e-5", "1=1", "'tis", "", "caffè", "a\tb", "-5.")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_like_a_formula_is_marked_as_text(text: str) -> None:
    assert protect(text) == "'" + text and unprotect(protect(text)) == text


@pytest.mark.parametrize(("text", "marked"), MARKED.items())
def test_a_formula_behind_the_end_of_a_cell_is_marked_too(text: str, marked: str) -> None:
    assert protect(text) == marked and unprotect(marked) == text


@given(st.text(alphabet="'\"=+-@ \t\r\n;1a\xa0"))
@example('a;"=1"')
def test_no_cell_begins_a_formula_where_semicolons_part_cells(text: str) -> None:
    """Read without regard to quotes, which is how a spreadsheet sees them in the middle of a cell."""
    sink = io.BytesIO()
    files.write_csv(pa.table({"first": ["drink"], "label": [text], "n": [-0.5]}), sink)
    cells = re.split(r"[;\t\r\n]", sink.getvalue().decode())
    assert not any(cell.strip('" \xa0').startswith(("=", "+", "-", "@")) for cell in cells)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_and_numbers_stay(text: str) -> None:
    assert protect(text) == text == unprotect(text)


@given(st.text(alphabet="'\";=+-@ \t\r\n1.ea＝") | st.text())
@example("''=1")
def test_every_text_comes_back_from_a_file_and_no_cell_begins_a_formula(text: str) -> None:
    sink = io.BytesIO()
    kinds = (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))
    columns = [pa.array([text, None], kind) for kind in kinds]
    files.write_csv(pa.table([*columns, [-0.02, 1.0]], names=["=a", "b", "c", "x"]), sink)
    head, cells, _ = csv.reader(io.StringIO(sink.getvalue().decode(), newline=""))
    assert head == ["'=a", "b", "c", "x"] and cells == [protect(text)] * 3 + ["-0.02"]
    assert unprotect(cells[0]) == text
    assert not re.match(r"\s*[=+@＝-]", cells[0]) or re.fullmatch(NUMBER, cells[0])


def test_the_collector_marks_labels_and_groups(tmp_path: Path) -> None:
    question = {"id": "drink", "text": "?", "kind": "choice", "values": [ATTACK, "tea"], "epsilon": 1}
    draft = {"sottovoce": 1, "id": "cells", "title": "Cells", "questions": [question], "minimum": 1,
             "covariates": [{"id": "region", "values": ["@north", "south"]}]}  # fmt: skip
    asked = Survey.from_dict(draft).publish()
    store = open_store(tmp_path)
    store.publish(asked)
    inside = Inside(store, rate=None)
    body = '{"covariates":{"region":"@north"},"id":"%s","reports":{"drink":0},"survey":"%s","wave":0}'
    assert inside.send((body % ("0" * 32, asked.digest)).encode(), name="cells").status == 200
    answer = inside("GET", "/v1/surveys/cells/estimates?by=region&format=csv", token=inside.analyst).body.decode()
    inside.close()
    rows = list(csv.DictReader(io.StringIO(answer)))
    assert [row["label"] for row in rows] == ["'" + ATTACK, "tea"] and rows[0]["region"] == "'@north"
    assert all(float(row["low"]) <= float(row["estimate"]) for row in rows)


def test_the_command_line_marks_labels_and_discovered_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = [ATTACK] * 700 + ["tea"] * 300
    Path("data.csv").write_text("drink\n" + "\n".join(f'"{one}"' for one in people) + "\n", "utf-8")
    assert main(["randomize", "data.csv", "-c", "drink", "-e", "4", "-d", f"{ATTACK},tea", "-o", "r.parquet"]) == 0
    assert main(["estimate", "r.parquet", "-o", "e.csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(Path("e.csv").read_text("utf-8"))))
    assert [row["label"] for row in rows] == ["'" + ATTACK, "tea"]
    Path("texts.csv").write_text("drink\n" + "=1+1\n" * 1500 + "tea\n" * 500, "utf-8")
    ask = ["-q", "drink:text:4", "-m", "discovery", "-e", "8", "--seed", "1", "-o", "d.parquet"]
    assert main(["randomize", "texts.csv", *ask]) == 0
    assert main(["discover", "d.parquet", "-o", "d.csv"]) == 0
    found = [row[0] for row in csv.reader(io.StringIO(Path("d.csv").read_text("utf-8")))][1:]
    assert sorted(found) == ["'=1+1", "tea"]


@pytest.mark.skipif(not NODE, reason="there is no Node.js")
def test_the_pages_mark_the_same_texts() -> None:
    """The table of a page is written by JavaScript, by the same rule."""
    source = Path(__file__).parents[2] / "src" / "sottovoce" / "pages" / "table.js"
    text = source.read_text("utf-8")
    code = "".join(line for line in text.splitlines(True) if not line.startswith("import"))
    texts = [*FORMULAS, *HARMLESS, *MARKED]
    script = code.replace("export ", "") + f"\nprocess.stdout.write(csv([], {json.dumps([[one] for one in texts])}));"
    command = [NODE or "node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    assert [row[0] if row else "" for row in rows][1:] == [protect(one) for one in texts]
