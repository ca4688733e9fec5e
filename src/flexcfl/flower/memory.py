"""What the clients of a node remember between messages, each of which is a new process.

Kept in a folder of the node, written whole or not at all. A server that starts again after a crash
has gone back to its last checkpoint: its session is another, and so do the clients go back, to what
they knew in rounds that still count.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from flexcfl.errors import DiskError
from flexcfl.flower.messages import NAME, MalformedError, OrderHeading
from flexcfl.protocol import Ids
from flexcfl.record.checkpoints import (
    Checkpoint,
    FoundCheckpoint,
    Store,
    UnfitError,
    flattened,
    rebuilt,
)
from flexcfl.record.folder import as_disk_error
from flexcfl.record.lock import locked
from flexcfl.simulation import Memory

__all__ = ["NodeMemory"]

KEPT = 16  # of what was remembered, enough to go back over several rounds of a few orders each
RUNS = 20  # whose memory is kept, for a run may go on after others; those last used the longest


@dataclass(eq=False)
class NodeMemory:
    """The memory of one node's clients in one run; ``recalled`` is the one to go on with.

    ``folder`` is for these clients in the folder of the run, beside which are those of other runs.
    ``total`` is how many clients the federation has. ``remark`` is told of memory that is lost.
    ``released`` is how many updates ever left each client, whatever the server has gone back to.
    """

    folder: Path
    heading: OrderHeading
    total: int
    remark: Callable[[str], None]
    released: Ids | None = field(init=False, default=None)
    _store: Store = field(init=False)
    _found: FoundCheckpoint | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._store = Store(self.folder, KEPT)

    def check(self) -> None:
        """Raise ``DiskError`` if nothing can be remembered here."""
        root = self.folder.parents[1]
        with as_disk_error(root):
            root.mkdir(parents=True, exist_ok=True)
        if not os.access(root, os.W_OK | os.X_OK):
            raise DiskError.of(root, "Permission denied")

    def locked(self) -> AbstractContextManager[None]:
        """Hold the memory for one order, or raise an error if an earlier one is still under way."""
        run = self.folder.parent
        with as_disk_error(self.folder):
            new = not run.is_dir()
            self.folder.mkdir(parents=True, exist_ok=True)
        if new:
            _forget(run)
        return locked(self.folder)

    def recalled(self) -> Memory | None:
        """Return what was known when the order was given; None where all of it is lost, or new."""
        with as_disk_error(self.folder):
            for found in self._store.found():
                memory = self._memory(found)
                if memory is None:
                    continue
                if self.released is None:  # of the newest, for it is never taken back
                    self.released = memory.released
                assert isinstance(found, FoundCheckpoint)  # of which the memory is
                if self._is_past(found):
                    self._found = found
                    self._store.continue_from(found)
                    return memory
        return None

    def keep(self, memory: Memory) -> None:
        """Write down what is known now."""
        arrays: list[NDArray[Any]] = []
        content = {
            "session": self.heading.session,
            "round": self.heading.round,
            "memory": flattened(memory, arrays),
        }
        # By its own number and not by the round, in which several orders may change what is known.
        number = 1 if self._found is None else self._found.checkpoint.round + 1
        with as_disk_error(self.folder):
            self._store.save(Checkpoint(number, content, arrays))

    def _memory(self, found: FoundCheckpoint | str) -> Memory | None:
        """Return what was remembered, or None, with a remark, where that is of no use."""
        if isinstance(found, str):
            self._lost(found)
            return None
        content, number = found.checkpoint.content, found.checkpoint.round
        try:
            if not isinstance(content, dict) or content.keys() != {"session", "round", "memory"}:
                raise UnfitError("no node wrote it")
            memory: Memory = rebuilt(Memory, content["memory"], found.checkpoint.arrays)
            _check_size(memory, self.total)
        except UnfitError as error:
            self._lost(f"'{self.folder / f'round-{number}.json'}' cannot be used: {error}")
            return None
        return memory

    def _lost(self, sentence: str) -> None:
        self.remark(f"{sentence}; clients continue with what they knew before, or are placed again")

    def _is_past(self, found: FoundCheckpoint) -> bool:
        """Whether something was known before this order: in its session, or in one that counts."""
        content, heading = found.checkpoint.content, self.heading
        number, session = content["round"], content["session"]
        if type(number) is not int or not isinstance(session, str):
            return False
        if session == heading.session and number > heading.round:
            raise MalformedError(
                f"the order is of round {heading.round}, and this node is already in round {number}"
            )
        return session == heading.session or number <= heading.lineage.get(session, -1)


def _check_size(memory: Memory, total: int) -> None:
    columns: list[NDArray[Any]] = [memory.world.turns, memory.world.labelling]
    if memory.watch is not None:
        columns += [memory.watch.row_of, memory.watch.stirred, memory.watch.standing]
    if memory.released is not None:
        columns.append(memory.released)
    if any(each.shape != (total,) for each in columns):
        raise UnfitError(f"it is not for {total} clients")


def _forget(newest: Path) -> None:
    """Remove what was remembered of the runs that were not used for longest."""
    with suppress(OSError):  # another node forgets them, too, or nobody may
        others = [
            each
            for each in newest.parent.iterdir()
            if NAME.fullmatch(each.name) and each != newest
            if each.is_dir() and not each.is_symlink()
        ]
        for run in sorted(others, key=_used, reverse=True)[RUNS - 1 :]:
            for clients in list(run.iterdir()):
                Store(clients).clear()
            run.rmdir()


def _used(run: Path) -> float:
    return max(each.stat().st_mtime for each in (run, *run.iterdir()))
