"""Running an experiment: preparation, rounds, checkpoints, results."""

from flexcfl.runner.api import resume, run
from flexcfl.runner.callbacks import Beginning, Callback
from flexcfl.runner.loading import load
from flexcfl.runner.placement import Placement
from flexcfl.runner.result import Run

__all__ = ["Beginning", "Callback", "Placement", "Run", "load", "resume", "run"]
