"""Runs in the tools that people follow experiments with: TensorBoard and MLflow."""

from flexcfl.runner.tracking.mlflow import MLflow
from flexcfl.runner.tracking.registry import TRACKERS, Tracker, trackers
from flexcfl.runner.tracking.tensorboard import TensorBoard

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "trackers"]
