"""Runs in the tools that people follow experiments with: TensorBoard and MLflow."""

from flexcfl.tracking.mlflow import MLflow
from flexcfl.tracking.registry import TRACKERS, Tracker, trackers
from flexcfl.tracking.tensorboard import TensorBoard

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "trackers"]
