"""Several algorithms on the same clients, cohorts and shifts: runs in parallel, held together."""

from flexcfl.comparison.api import compare
from flexcfl.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
