"""Saving beside the work: a checkpoint is written while the next rounds are already under way."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic, thread_time
from types import TracebackType
from typing import TypeVar

from flexcfl.record.checkpoints.store import Checkpoint

__all__ = ["Saver"]

ResultT = TypeVar("ResultT")


@dataclass(eq=False)
class Saver:
    """Saves a checkpoint after ``rounds`` rounds or ``seconds`` seconds, whichever comes first.

    Either rule is off where its number is 0. One that is due by rounds is put off while with it, if
    it takes as long as the last one, all would have taken more than a ``share`` of the time: of a
    processor's, for a disk's is free. Where the last one is still being written, the next waits as
    well. What goes wrong is raised at the end of the round in which it is noticed. ``saved`` is the
    round of the last checkpoint, which is 0 for the start and None before there is any.
    """

    save: Callable[[Checkpoint], None]
    rounds: int
    seconds: float
    share: float = 1.0
    saved: int | None = None
    now: Callable[[], float] = monotonic
    _began: float = field(init=False)
    _since: float = field(init=False)
    _spent: float = field(init=False, default=0.0)
    _last: float = field(init=False, default=0.0)
    _writing: "Future[None] | None" = field(init=False, default=None)
    _thread: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._began = self._since = self.now()
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

    def save_if_due(self, number: int, taken: Callable[[], Checkpoint]) -> None:
        """Save what ``taken`` returns, if it is time; it must not change afterwards."""
        if self._writing is not None and not self._writing.done():
            return
        self._settle()
        if self._due(number):
            self._begin(number, taken)

    def save_now(self, number: int, taken: Callable[[], Checkpoint]) -> None:
        """Save what ``taken`` returns, and wait until it is on the disk."""
        self._settle()
        if number != self.saved:
            self._begin(number, taken)
            self._settle()

    def _due(self, number: int) -> bool:
        now = self.now()
        by_rounds = 0 < self.rounds <= number - (self.saved or 0)
        affordable = self._spent + self._last <= self.share * (now - self._began)
        return (
            by_rounds and (affordable or self.share >= 1)
        ) or 0 < self.seconds <= now - self._since

    def _begin(self, number: int, taken: Callable[[], Checkpoint]) -> None:
        self.saved, self._since = number, self.now()
        self._spent, self._last = self._spent + self._last, 0.0
        checkpoint = self._counted(taken)
        self._writing = self._thread.submit(self._counted, lambda: self.save(checkpoint))

    def _counted(self, work: Callable[[], ResultT]) -> ResultT:
        """Do some work and count its time; there is never work in both threads at once."""
        began = thread_time()
        try:
            return work()
        finally:
            self._last += thread_time() - began

    def _settle(self) -> None:
        """Wait for what is being written, and raise what went wrong."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()
