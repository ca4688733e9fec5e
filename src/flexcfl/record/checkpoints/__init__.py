"""Checkpoints: the state of a run between two rounds, stored so that a crash cannot damage it."""

from flexcfl.record.checkpoints.fitness import unreadable_part
from flexcfl.record.checkpoints.saver import Saver
from flexcfl.record.checkpoints.store import Checkpoint, FoundCheckpoint, Store, checkpoint_files
from flexcfl.record.checkpoints.tree import UnfitError, flattened, rebuilt

__all__ = [
    "Checkpoint",
    "FoundCheckpoint",
    "Saver",
    "Store",
    "UnfitError",
    "checkpoint_files",
    "flattened",
    "rebuilt",
    "unreadable_part",
]
