"""What is measured: accuracy, loss, discrepancy, traffic, and how true the groups are."""

from flexcfl.metrics.accuracy import accuracy
from flexcfl.metrics.ledger import PURPOSES, Cost, Ledger
from flexcfl.metrics.structure import adjusted_rand_index
from flexcfl.metrics.summary import (
    Accuracy,
    Curve,
    Figure,
    Spread,
    final,
    measured_by_all,
    over,
    rounds_to,
)
from flexcfl.metrics.training import Trainees

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
