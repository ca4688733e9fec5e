"""Checkpoints: what a run knows between two rounds, kept such that no crash can spoil it."""

from flexcfl.record.checkpoints.fitness import misfit
from flexcfl.record.checkpoints.saver import Saver
from flexcfl.record.checkpoints.store import Checkpoint, Found, Store, files
from flexcfl.record.checkpoints.tree import UnfitError, flattened, rebuilt

__all__ = [
    "Checkpoint",
    "Found",
    "Saver",
    "Store",
    "UnfitError",
    "files",
    "flattened",
    "misfit",
    "rebuilt",
]
