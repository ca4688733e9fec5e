"""Looking back: which runs there are, what each reached, and how runs differ."""

from flexcfl.history.difference import Difference, difference
from flexcfl.history.finding import History, runs
from flexcfl.history.row import Row
from flexcfl.history.whole import Whole, whole

__all__ = ["Difference", "History", "Row", "Whole", "difference", "runs", "whole"]
