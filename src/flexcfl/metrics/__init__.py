"""What is measured: accuracy, loss, discrepancy and traffic."""

from flexcfl.metrics.accuracy import accuracy
from flexcfl.metrics.summary import Accuracy, Curve, Spread, final, rounds_to
from flexcfl.metrics.traffic import traffic
from flexcfl.metrics.training import cohort_loss, discrepancy

__all__ = [
    "Accuracy",
    "Curve",
    "Spread",
    "accuracy",
    "cohort_loss",
    "discrepancy",
    "final",
    "rounds_to",
    "traffic",
]
