"""Saving beside the work: a checkpoint is written while the next rounds are already under way."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType

from flexcfl.checkpoints.store import Checkpoint

__all__ = ["Saver"]


@dataclass(eq=False)
class Saver:
    """Saves a checkpoint after ``rounds`` rounds or ``seconds`` seconds, whichever comes first.

    Either rule is off where its number is 0. Where the disk is so slow that the last checkpoint is
    still being written, the next one waits for the end of a later round. What goes wrong is raised
    at the end of the round in which it is noticed. ``saved`` is the round of the last checkpoint,
    which is 0 for the start and None before there is any.
    """

    save: Callable[[Checkpoint], None]
    rounds: int
    seconds: float
    saved: int | None = None
    now: Callable[[], float] = monotonic
    _since: float = field(init=False)
    _writing: "Future[None] | None" = field(init=False, default=None)
    _thread: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.now()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")

    def __enter__(self) -> "Saver":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.shutdown()
        if error is None:
            self._settle()

    def offer(self, number: int, taken: Callable[[], Checkpoint]) -> None:
        """Save what ``taken`` returns, if it is time; it must not change afterwards."""
        if self._writing is not None and not self._writing.done():
            return
        self._settle()
        if self._due(number):
            self._begin(number, taken())

    def insist(self, number: int, taken: Callable[[], Checkpoint]) -> None:
        """Save what ``taken`` returns, and wait until it is on the disk."""
        self._settle()
        if number != self.saved:
            self._begin(number, taken())
            self._settle()

    def _due(self, number: int) -> bool:
        by_rounds = 0 < self.rounds <= number - (self.saved or 0)
        return by_rounds or 0 < self.seconds <= self.now() - self._since

    def _begin(self, number: int, checkpoint: Checkpoint) -> None:
        self.saved, self._since = number, self.now()
        self._writing = self._thread.submit(self.save, checkpoint)

    def _settle(self) -> None:
        """Wait for what is being written, and raise what went wrong."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()
