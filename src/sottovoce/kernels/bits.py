"""Bits of a word, for numba."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(inline="always")
def ones(word: np.uint64) -> np.uint64:
    """How many bits are set, by halves of halves. Compilers know it, and take one instruction."""
    word -= word >> np.uint64(1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = word + (word >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return word * np.uint64(0x0101010101010101) >> np.uint64(56)


@numba.njit(inline="always")
def parity(word: np.uint64) -> np.uint64:
    """Whether an odd number of bits is set."""
    return ones(word) & np.uint64(1)
