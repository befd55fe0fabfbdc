"""Whether a sample of noise comes from the law that is declared for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from sottovoce.trust.federated.law import NoiseLaw

FALSE_ALARM = 1e-6


def chi_square(sample: Any, law: NoiseLaw) -> float:
    """The p-value that a sample of noise comes from a law; values expected fewer than ten times are put together."""
    n, reach = len(sample), int(law.stderr * 12) + 12
    expected = law.table(reach) * n
    observed = np.bincount(np.clip(sample, -reach, reach) + reach, minlength=2 * reach + 1)
    rare = expected < 10
    wanted = np.append(expected[~rare], max(n - expected[~rare].sum(), 1e-9))
    found = np.append(observed[~rare], observed[rare].sum())
    return float(stats.chi2.sf(((found - wanted) ** 2 / wanted).sum(), len(wanted) - 1))
