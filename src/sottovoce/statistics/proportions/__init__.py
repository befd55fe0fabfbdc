"""Proportions behind randomized answers of yes or no: estimates, intervals, tests."""
