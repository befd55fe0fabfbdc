"""Histograms behind randomized answers: tests, differences between groups and waves, the largest error."""
