"""What is measured: accuracy, loss, discrepancy, traffic, and how true the groups are."""

from flexcfl.record.metrics.accuracy import accuracy
from flexcfl.record.metrics.ledger import PURPOSES, Cost, Ledger
from flexcfl.record.metrics.structure import adjusted_rand_index
from flexcfl.record.metrics.summary import (
    Accuracy,
    Curve,
    Figure,
    Spread,
    final,
    measured_by_all,
    over,
    rounds_to,
)
from flexcfl.record.metrics.training import Trainees

__all__ = [
    "PURPOSES",
    "Accuracy",
    "Cost",
    "Curve",
    "Figure",
    "Ledger",
    "Spread",
    "Trainees",
    "accuracy",
    "adjusted_rand_index",
    "final",
    "measured_by_all",
    "over",
    "rounds_to",
]
