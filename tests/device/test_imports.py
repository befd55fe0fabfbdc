"""A device needs the standard library alone, and little time."""

from __future__ import annotations

import subprocess
import sys

import loaded_modules

DEVICE = """
import sottovoce as sv
for m in (sv.RandomizedResponse(1.0), sv.KRR(16, 1.0), sv.Unary(16, 1.0), sv.LocalHash(16, 1.0), sv.choose(16, 1.0)):
    m.randomize(1), m.epsilon, m.variance, m.to_dict(), sv.mechanism(m.to_dict()), m.bits
sv.KRR(3, 1.0).channel()
for m, answer in ((sv.Ranges(100, 1.0), 7), (sv.Several({"a": 3, "b": 4}, 1.0), {"a": 1, "b": 2})):
    m.randomize(answer), m.epsilon, m.to_dict(), sv.mechanism(m.to_dict()), m.bits
for m in (sv.Memoized.of(4, "unary", permanent=2.0, first=1.0), sv.DBitFlip(4, 1.0, sampled=2), sv.Changes(4, 1, 1.0)):
    m.step(m.domain.labels[1], m.begin()), m.epsilon_over(5, 2), m.epsilon_after(2), sv.mechanism(m.to_dict()), m.bits
for m in (sv.Hashed("auto", epsilon=1.0), sv.Hashed.rappor(f=0.5), sv.Hashed.plan(1000, 1.0, 1000)):
    m.randomize("tea"), m.epsilon, m.to_dict(), sv.mechanism(m.to_dict()), m.bits
for m in (sv.Mean(0, 4, 1.0), sv.Mean(0, 4, 0.5), sv.SquareWave(0, 4, epsilon=1.0)):
    m.randomize(1.3), m.epsilon, m.to_dict(), sv.mechanism(m.to_dict()), m.bits
"""


def test_one_report_needs_the_standard_library_alone() -> None:
    assert loaded_modules.run(DEVICE) == "[]\n"


def test_without_numpy_a_column_says_what_is_missing() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None; import sottovoce as sv\n"
        "try: sv.KRR(3, 1.0).randomize_many([1, 2])\n"
        "except sv.SottovoceError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "this needs numpy: pip install numpy\n"
