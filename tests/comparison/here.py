"""Comparisons without processes of their own, for tests of what comes of them."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from flexcfl.comparison import worker_pool
from flexcfl.comparison.worker import RunWorker, failure_message
from flexcfl.comparison.worker_messages import Message, Task
from flexcfl.data import Federation, IndexLists

__all__ = ["Here", "all_done_here", "federation"]


class Here(worker_pool.WorkerProcess):
    """Stands for a worker process: does a run in this one, as soon as it is told to."""

    def __post_init__(self) -> None:
        self._worker = RunWorker(None)

    def send(self, pickled: bytes) -> None:
        """Take in a federation of the caller's own, or None, or do a run."""
        item = pickle.loads(pickled)
        if not isinstance(item, Task):
            self._worker.federation = item
            return
        try:
            self._worker.do(item, self._answer)
        except Exception as error:
            self._answer(failure_message(error, self._worker.begun))

    def _answer(self, message: Message) -> None:
        self.inbox.put((self, pickle.loads(pickle.dumps(message))))

    def hang_up(self) -> None:
        """Do nothing: there is nobody at the other end."""

    def wait(self, seconds: float) -> int:
        """Return the exit code of a process that was asked to end."""
        return 0


@contextmanager
def all_done_here() -> Iterator[None]:
    """Let comparisons do all runs in this process, which saves others their imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "WorkerProcess", Here)
        yield


def federation(shift: float = 0.0) -> Federation:
    """Return six clients of ten examples each, whose features are moved by ``shift``."""
    y = np.arange(60) % 3
    x = np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3)) / 10 + shift
    owned = np.arange(60).reshape(6, 10)
    train, test = IndexLists.of(list(owned[:, :8])), IndexLists.of(list(owned[:, 8:]))
    return Federation("mine", x.astype(np.float32), y, train, test, 3)
