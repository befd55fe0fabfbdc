"""From noisy reports to statistical conclusions: intervals, tests and models."""

from sottovoce.inference.bounded import anytime_mean
from sottovoce.inference.detectable import detectable, detectable_change
from sottovoce.inference.difference import difference_test
from sottovoce.inference.draws import DrawnProportion
from sottovoce.inference.groups import Difference, differences
from sottovoce.inference.histogram import Likelihood, marginal
from sottovoce.inference.joint import JointProportions
from sottovoce.inference.max_error import MaxError, max_error
from sottovoce.inference.proportion import Proportion, Proportions
from sottovoce.inference.result import TestResult
from sottovoce.inference.sequences import ConfidenceSequence, anytime, log_evidence
from sottovoce.inference.tests import fit_test, homogeneity_test, independence_test, table_test
from sottovoce.inference.waves import Change, change

__all__ = [
    "Change",
    "ConfidenceSequence",
    "Difference",
    "DrawnProportion",
    "JointProportions",
    "Likelihood",
    "MaxError",
    "Proportion",
    "Proportions",
    "TestResult",
    "anytime",
    "anytime_mean",
    "change",
    "detectable",
    "detectable_change",
    "difference_test",
    "differences",
    "fit_test",
    "homogeneity_test",
    "independence_test",
    "log_evidence",
    "marginal",
    "max_error",
    "table_test",
]
