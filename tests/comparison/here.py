"""Comparisons without processes of their own, for tests of what comes of them."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flexcfl.comparison import pool, worker
from flexcfl.comparison.desk import Desk
from flexcfl.comparison.messages import Message, Task, Work
from flexcfl.comparison.process import Inbox

__all__ = ["Here", "all_done_here"]


@dataclass(eq=False)
class Here:
    """Stands for a worker process: does a run in this one, as soon as it is given."""

    inbox: Inbox
    run: Work | None = None
    _desk: Desk = field(default_factory=lambda: Desk(None))

    def tell(self, pickled: bytes) -> None:
        """Take in a federation of the caller's own, or None."""
        self._desk.federation = pickle.loads(pickled)

    def give(self, run: Work, folder: Path | None, track: tuple[str, ...] = ()) -> None:
        """Do a run; what is answered waits until somebody asks."""
        self.run = run
        own = folder / run.folder if folder else None
        try:
            self._desk.do(Task(run.experiment, own, track), self._answer)
        except Exception as error:
            self._answer(worker._told(error, self._desk.begun))

    def _answer(self, message: Message) -> None:
        self.inbox.put((self, message))  # type: ignore[arg-type]

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
