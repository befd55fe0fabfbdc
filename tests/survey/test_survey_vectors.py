"""The published vectors of surveys hold, in Python and, where Node.js is installed, in a few lines of JavaScript."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sottovoce.core import canonical
from sottovoce.core.errors import ParameterError
from sottovoce.survey import Survey

PATH = Path(__file__).parents[2] / "vectors" / "surveys.json"
FILE: dict[str, list[Any]] = json.loads(PATH.read_text(encoding="utf-8"))
NODE = shutil.which("node")


@pytest.mark.parametrize("vector", FILE["numbers"])
def test_numbers(vector: dict[str, str]) -> None:
    assert canonical.number(struct.unpack(">d", bytes.fromhex(vector["bits"]))[0]) == vector["text"]


@pytest.mark.parametrize("vector", FILE["values"])
def test_values(vector: dict[str, str]) -> None:
    assert canonical.dumps(canonical.loads(vector["json"])) == vector["canonical"].encode()


@pytest.mark.parametrize("text", FILE["invalid_texts"])
def test_invalid_texts(text: str) -> None:
    with pytest.raises(ParameterError):
        canonical.loads(text)


@pytest.mark.parametrize("vector", FILE["surveys"], ids=lambda vector: vector["document"]["id"])
def test_surveys(vector: dict[str, Any]) -> None:
    survey = Survey.from_dict(vector["document"])
    assert survey.published and survey.publish() is survey
    assert survey.canonical() == vector["canonical"].encode() == canonical.dumps(vector["document"])
    assert (survey.digest, survey.epsilon, survey.costs) == (vector["digest"], vector["epsilon"], vector["costs"])


@pytest.mark.parametrize("vector", FILE["invalid_surveys"], ids=lambda vector: vector["why"])
def test_invalid_surveys(vector: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Survey.from_dict(vector["document"])


JAVASCRIPT = """
const canonical = (value) => Array.isArray(value) ? `[${value.map(canonical)}]`
  : value !== null && typeof value === 'object'
  ? `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`
  : JSON.stringify(value);
const digest = (text) => 'sha256:' + require('crypto').createHash('sha256').update(text).digest('hex');
const file = JSON.parse(require('fs').readFileSync(process.argv[1]));
const bad = [
  ...file.numbers.filter((v) => JSON.stringify(Buffer.from(v.bits, 'hex').readDoubleBE()) !== v.text),
  ...file.values.filter((v) => canonical(JSON.parse(v.json)) !== v.canonical),
  ...file.surveys.filter((v) => canonical(v.document) !== v.canonical || digest(v.canonical) !== v.digest),
];
console.log(JSON.stringify([file.surveys.length, bad]));
"""


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_javascript_agrees() -> None:
    done = subprocess.run(
        [str(NODE), "-e", JAVASCRIPT, str(PATH)], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == [len(FILE["surveys"]), []]
