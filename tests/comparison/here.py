"""Comparisons without processes of their own, for tests of what comes of them."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flexcfl.comparison import pool
from flexcfl.comparison.desk import Desk
from flexcfl.comparison.messages import Message, Task
from flexcfl.comparison.process import Process
from flexcfl.comparison.worker import failure

__all__ = ["Here", "all_done_here"]


class Here(Process):
    """Stands for a worker process: does a run in this one, as soon as it is told to."""

    def __post_init__(self) -> None:
        self._desk = Desk(None)

    def tell(self, pickled: bytes) -> None:
        """Take in a federation of the caller's own, or None, or do a run."""
        item = pickle.loads(pickled)
        if not isinstance(item, Task):
            self._desk.federation = item
            return
        try:
            self._desk.do(item, self._answer)
        except Exception as error:
            self._answer(failure(error, self._desk.begun))

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
        patch.setattr(pool, "Process", Here)
        yield
