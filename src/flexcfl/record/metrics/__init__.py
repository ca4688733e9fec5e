"""Metrics: accuracy, loss, discrepancy, traffic, and how well groups match true clusters."""

from flexcfl.protocol import Cost
from flexcfl.record.metrics.ledger import PURPOSES, Ledger
from flexcfl.record.metrics.rounds import Trainees, accuracy, adjusted_rand_index
from flexcfl.record.metrics.summary import (
    Accuracy,
    Curve,
    MeanDeviation,
    MeanVariance,
    final,
    measured_by_all,
    rounds_text,
    rounds_to,
)

__all__ = [
    "PURPOSES",
    "Accuracy",
    "Cost",
    "Curve",
    "Ledger",
    "MeanDeviation",
    "MeanVariance",
    "Trainees",
    "accuracy",
    "adjusted_rand_index",
    "final",
    "measured_by_all",
    "rounds_text",
    "rounds_to",
]
