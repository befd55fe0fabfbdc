"""A skewed real column: how often 20,190 people of the RAND Health Insurance Experiment saw a doctor in a year.

It is the variable mdvis of the data set randhie that comes with statsmodels, which is in the public domain; here as the
number of people for each number of visits. The mean is 2.86, the largest 77, and 31% never went.
"""

from __future__ import annotations

import numpy as np

COUNTS = {
    0: 6308, 1: 3817, 2: 2797, 3: 1884, 4: 1345, 5: 968, 6: 689, 7: 531, 8: 408, 9: 287, 10: 206, 11: 190, 12: 118,
    13: 109, 14: 82, 15: 59, 16: 56, 17: 33, 18: 37, 19: 35, 20: 26, 21: 22, 22: 19, 23: 19, 24: 13, 25: 8, 26: 10,
    27: 6, 28: 12, 29: 6, 30: 8, 31: 8, 32: 4, 33: 5, 34: 9, 35: 5, 37: 5, 38: 9, 39: 1, 40: 3, 41: 5, 44: 6, 45: 2,
    46: 2, 48: 2, 51: 1, 52: 3, 55: 1, 56: 1, 57: 1, 58: 1, 62: 1, 63: 1, 65: 1, 69: 1, 72: 1, 74: 1, 76: 1, 77: 1,
}  # fmt: skip
VISITS = np.repeat(np.array(list(COUNTS), dtype=float), list(COUNTS.values()))
