"""What is measured: accuracy, loss, discrepancy, traffic, and how true the groups are."""

from flexcfl.metrics.accuracy import accuracy
from flexcfl.metrics.structure import adjusted_rand_index
from flexcfl.metrics.summary import Accuracy, Curve, Spread, final, rounds_to
from flexcfl.metrics.traffic import traffic
from flexcfl.metrics.training import Trainees

__all__ = [
    "Accuracy",
    "Curve",
    "Spread",
    "Trainees",
    "accuracy",
    "adjusted_rand_index",
    "final",
    "rounds_to",
    "traffic",
]
