"""The hot loops that more than one room needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = 6


def walsh_hadamard(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every x, the sum of the entries that share an even number of bits with x, less the sum of the others.

    Of a table, each row is transformed. Six bits are handled at a time, by a product with a 64 x 64 matrix of signs.
    The floats hold whole numbers below 2^53 all along, so that nothing is rounded.

    >>> walsh_hadamard(np.array([5, 3, 2, 1])).tolist()
    [11, 3, 5, 1]
    """
    values, bits = column.astype(np.float64), column.shape[-1].bit_length() - 1
    for done in range(0, bits, STEP):
        width = 2 ** min(STEP, bits - done)
        index = np.arange(width)
        signs = 1.0 - 2.0 * (np.bitwise_count(index[:, None] & index) & 1)
        values = np.matmul(signs, values.reshape(-1, width, 2**done))
    return values.reshape(column.shape).astype(np.int64)
