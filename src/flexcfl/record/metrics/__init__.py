"""What is measured: accuracy, loss, discrepancy, traffic, and how true the groups are."""

from flexcfl.record.metrics.ledger import PURPOSES, Cost, Ledger
from flexcfl.record.metrics.rounds import Trainees, accuracy, adjusted_rand_index
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
