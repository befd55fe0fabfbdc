"""From noisy reports to statistical conclusions: intervals, tests and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.statistics.detectable_effect import detectable as detectable
    from sottovoce.statistics.detectable_effect import detectable_change as detectable_change
    from sottovoce.statistics.histograms.group_differences import Difference as Difference
    from sottovoce.statistics.histograms.group_differences import differences as differences
    from sottovoce.statistics.histograms.hypothesis_tests import fit_test as fit_test
    from sottovoce.statistics.histograms.hypothesis_tests import homogeneity_test as homogeneity_test
    from sottovoce.statistics.histograms.hypothesis_tests import independence_test as independence_test
    from sottovoce.statistics.histograms.hypothesis_tests import table_test as table_test
    from sottovoce.statistics.histograms.max_error import MaxError as MaxError
    from sottovoce.statistics.histograms.max_error import max_error as max_error
    from sottovoce.statistics.histograms.wave_changes import Change as Change
    from sottovoce.statistics.histograms.wave_changes import change as change
    from sottovoce.statistics.hypothesis_result import TestResult as TestResult
    from sottovoce.statistics.likelihood import Likelihood as Likelihood
    from sottovoce.statistics.likelihood import marginal as marginal
    from sottovoce.statistics.proportions.difference import difference_test as difference_test
    from sottovoce.statistics.proportions.drawn_proportion import DrawnProportion as DrawnProportion
    from sottovoce.statistics.proportions.joint import JointProportions as JointProportions
    from sottovoce.statistics.proportions.proportion import Proportion as Proportion
    from sottovoce.statistics.proportions.proportion import Proportions as Proportions
    from sottovoce.statistics.sequences.bounded_mean import anytime_mean as anytime_mean
    from sottovoce.statistics.sequences.confidence_sequence import ConfidenceSequence as ConfidenceSequence
    from sottovoce.statistics.sequences.confidence_sequence import anytime as anytime
    from sottovoce.statistics.sequences.confidence_sequence import log_evidence as log_evidence

_HOMES = {
    "detectable": "detectable_effect",
    "detectable_change": "detectable_effect",
    "Difference": "histograms.group_differences",
    "differences": "histograms.group_differences",
    "fit_test": "histograms.hypothesis_tests",
    "homogeneity_test": "histograms.hypothesis_tests",
    "independence_test": "histograms.hypothesis_tests",
    "table_test": "histograms.hypothesis_tests",
    "MaxError": "histograms.max_error",
    "max_error": "histograms.max_error",
    "Change": "histograms.wave_changes",
    "change": "histograms.wave_changes",
    "TestResult": "hypothesis_result",
    "Likelihood": "likelihood",
    "marginal": "likelihood",
    "difference_test": "proportions.difference",
    "DrawnProportion": "proportions.drawn_proportion",
    "JointProportions": "proportions.joint",
    "Proportion": "proportions.proportion",
    "Proportions": "proportions.proportion",
    "anytime_mean": "sequences.bounded_mean",
    "ConfidenceSequence": "sequences.confidence_sequence",
    "anytime": "sequences.confidence_sequence",
    "log_evidence": "sequences.confidence_sequence",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.
