"""Looking back: which runs there are, what each reached, and how runs differ."""

from flexcfl.report.history.difference import Difference, difference
from flexcfl.report.history.finding import History, runs
from flexcfl.report.history.row import Row
from flexcfl.report.history.whole import Whole, whole

__all__ = ["Difference", "History", "Row", "Whole", "difference", "runs", "whole"]
