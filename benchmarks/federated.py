"""Curators: errors over their number, the intersection of two sets, and what a secure sum of 100 of them takes.

`python benchmarks/federated.py` prints the tables of docs/federated.md and draws docs/figures/curators.svg. The errors
are seeded; the seconds are those of the machine, in one process. About a minute.
"""

from __future__ import annotations

import time

from trust_models import save

from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream
from sottovoce.core.sealing import SEALING_BYTES, PrivateKey
from sottovoce.estimates.render import text_table
from sottovoce.trust import curator_curve
from sottovoce.trust.federated import Parties, compare_intersections, secure_sum

CURATORS, VALUES = 100, 10_000


def seconds(began: float) -> str:
    return f"{time.perf_counter() - began:.2g} s"


def secure(sharing: str) -> list[str]:
    """One sum of all, and what one curator does in it."""
    parties, stream = Parties(CURATORS, sharing=sharing), Keystream()
    noise, scheme = parties.shares(1.0, 2), parties.scheme()
    columns = np.ones((CURATORS, VALUES), dtype=np.int64)
    began = time.perf_counter()
    total = secure_sum(columns, parties, noise, stream)
    whole = seconds(began)
    if abs(total - CURATORS).max() > noise.law(CURATORS).farthest:
        raise SystemExit("the sum is wrong")
    key, began = PrivateKey.generate(), time.perf_counter()
    pieces = scheme.split(columns[0] + noise.draw(VALUES, stream), stream)
    sealed = [key.public.seal(piece.astype("<u8").tobytes(), info=b"") for piece in pieces]
    sends, began_again = seconds(began), time.perf_counter()
    opened = [np.frombuffer(key.open(one, info=b""), dtype="<u8") for one in sealed]
    scheme.total(np.stack(opened)[None])
    size = sum(map(len, sealed)) + 8 * VALUES
    if size != CURATORS * (8 * VALUES + SEALING_BYTES) + 8 * VALUES:
        raise SystemExit("the bytes are not those of the formula")
    factor = f"{parties.factor(CURATORS):.2f}"
    return [
        sharing,
        f"{parties.threshold}, {parties.dropouts}",
        factor,
        whole,
        sends,
        seconds(began_again),
        f"{size:,}",
    ]


def main() -> None:
    curve = curator_curve(runs=200, seed=1)
    print(curve, end="\n\n")
    save("curators.svg", curve.plot())
    print(compare_intersections(runs=500, seed=1), end="\n\n")
    header = [
        "sharing",
        "collude, drop out",
        "factor",
        "sum in one process",
        "one sends",
        "one adds",
        "bytes sent by one",
    ]
    print(f"{CURATORS} curators, {VALUES:,} values")
    print(text_table(header, [secure(sharing) for sharing in ("shamir", "additive")]))


if __name__ == "__main__":
    main()
