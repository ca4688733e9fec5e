"""Saving in the background: a checkpoint is written while the next rounds are running."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic, thread_time
from types import TracebackType
from typing import TypeVar

from flexcfl.record.checkpoints.store import Checkpoint

ResultT = TypeVar("ResultT")


@dataclass(eq=False)
class Saver:
    """Saves a checkpoint after ``rounds`` rounds or ``seconds`` seconds, whichever comes first.

    A rule with the number 0 is off. A checkpoint that is due by rounds is postponed as long as all
    checkpoints, including this one at the cost of the last one, would take more than a ``share`` of
    the time so far. Only CPU time counts; waiting for the disk is free. No checkpoint is begun
    while the last one is still being written. An error is raised at the end of the round in which
    it is noticed. ``saved`` is the round of the last checkpoint: 0 for the start, None if there is
    none yet.
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
    writing: "Future[None] | None" = field(init=False, default=None)
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

    def save_if_due(self, number: int, make: Callable[[], Checkpoint]) -> None:
        """Save what ``make`` returns if a checkpoint is due; it must not change afterwards."""
        if self.writing is not None and not self.writing.done():
            return
        self._settle()
        if self._due(number):
            self._begin(number, make)

    def save_now(self, number: int, make: Callable[[], Checkpoint]) -> None:
        """Save what ``make`` returns, and wait until it is on disk."""
        self._settle()
        if number != self.saved:
            self._begin(number, make)
            self._settle()

    def _due(self, number: int) -> bool:
        now = self.now()
        by_rounds = 0 < self.rounds <= number - (self.saved or 0)
        affordable = self._spent + self._last <= self.share * (now - self._began)
        return (
            by_rounds and (affordable or self.share >= 1)
        ) or 0 < self.seconds <= now - self._since

    def _begin(self, number: int, make: Callable[[], Checkpoint]) -> None:
        self.saved, self._since = number, self.now()
        self._spent, self._last = self._spent + self._last, 0.0
        checkpoint = self._counted(make)
        self.writing = self._thread.submit(self._counted, lambda: self.save(checkpoint))

    def _counted(self, work: Callable[[], ResultT]) -> ResultT:
        """Do some work and count its CPU time; only one of the two threads works at a time."""
        began = thread_time()
        try:
            return work()
        finally:
            self._last += thread_time() - began

    def _settle(self) -> None:
        """Wait until the checkpoint is written, and raise its error, if any."""
        if self.writing is not None:
            writing, self.writing = self.writing, None
            writing.result()
