"""Compare several algorithms on the same clients, cohorts and shifts, in parallel runs."""

from flexcfl.comparison.api import compare
from flexcfl.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
