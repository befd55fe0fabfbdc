"""From noisy reports to statistical conclusions: intervals, tests and models."""

from sottovoce.statistics.detectable import detectable, detectable_change
from sottovoce.statistics.histograms.group_differences import Difference, differences
from sottovoce.statistics.histograms.hypothesis_tests import fit_test, homogeneity_test, independence_test, table_test
from sottovoce.statistics.histograms.max_error import MaxError, max_error
from sottovoce.statistics.histograms.wave_changes import Change, change
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.likelihood import Likelihood, marginal
from sottovoce.statistics.proportions.difference import difference_test
from sottovoce.statistics.proportions.drawn_proportion import DrawnProportion
from sottovoce.statistics.proportions.joint import JointProportions
from sottovoce.statistics.proportions.proportion import Proportion, Proportions
from sottovoce.statistics.sequences.bounded_mean import anytime_mean
from sottovoce.statistics.sequences.confidence_sequence import ConfidenceSequence, anytime, log_evidence

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
