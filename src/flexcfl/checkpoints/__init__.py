"""Checkpoints: what a run knows between two rounds, kept such that no crash can spoil it."""

from flexcfl.checkpoints.fitness import misfit
from flexcfl.checkpoints.saver import Saver
from flexcfl.checkpoints.store import Checkpoint, Found, Store, files
from flexcfl.checkpoints.tree import UnfitError, flattened, rebuilt

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
