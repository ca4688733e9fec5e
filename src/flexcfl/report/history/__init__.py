"""The history of runs: list them, look at one in detail, and compare several."""

from flexcfl.report.history.diff import Difference, difference
from flexcfl.report.history.finding import History, runs
from flexcfl.report.history.rows import RunRow
from flexcfl.report.history.run_details import RunDetails, details

__all__ = ["Difference", "History", "RunDetails", "RunRow", "details", "difference", "runs"]
