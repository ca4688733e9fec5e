"""What the clients of a node remember between messages, each of which is a new process.

The memory is in a folder of the node, and every write is atomic. A server that restarts after a
crash begins a new session at its last checkpoint. The clients then go back as well, to what they
knew in the rounds that still count.
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

KEPT = 16  # states that are kept, enough to go back several rounds with a few orders each
RUNS = 20  # runs whose memory is kept, those used last: a run may be resumed after others


@dataclass(eq=False)
class NodeMemory:
    """The memory of one node's clients in one run.

    Attributes:
        folder: The folder for these clients, inside the folder of the run.
        heading: The heading of the order.
        total: The number of clients in the federation.
        remark: Called with a sentence if memory is lost.
        released: How many updates each client ever released. It does not decrease when the server
            goes back to an earlier round.

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
        """Raise ``DiskError`` if the folder cannot be written."""
        root = self.folder.parents[1]
        with as_disk_error(root):
            root.mkdir(parents=True, exist_ok=True)
        if not os.access(root, os.W_OK | os.X_OK):
            raise DiskError.of(root, "Permission denied")

    def locked(self) -> AbstractContextManager[None]:
        """Lock the memory for one order, or raise an error if an earlier order still runs."""
        run = self.folder.parent
        with as_disk_error(self.folder):
            new = not run.is_dir()
            self.folder.mkdir(parents=True, exist_ok=True)
        if new:
            _forget_old_runs(run)
        return locked(self.folder)

    def load(self) -> Memory | None:
        """Return the memory from before this order, or None if there is none."""
        with as_disk_error(self.folder):
            for found in self._store.found():
                memory = self._memory(found)
                if memory is None:
                    continue
                if self.released is None:  # the newest count, because it never decreases
                    self.released = memory.released
                assert isinstance(found, FoundCheckpoint)  # it has a memory
                if self._is_past(found):
                    self._found = found
                    self._store.continue_from(found)
                    return memory
        return None

    def save(self, memory: Memory) -> None:
        """Write the memory after this order."""
        arrays: list[NDArray[Any]] = []
        content = {
            "session": self.heading.session,
            "round": self.heading.round,
            "memory": flattened(memory, arrays),
        }
        # Counted separately from rounds, because several orders of a round may change the memory.
        number = 1 if self._found is None else self._found.checkpoint.round + 1
        with as_disk_error(self.folder):
            self._store.save(Checkpoint(number, content, arrays))

    def _memory(self, found: FoundCheckpoint | str) -> Memory | None:
        """Return the memory in a checkpoint, or remark that it is of no use and return None."""
        if isinstance(found, str):
            self._remark_loss(found)
            return None
        content, number = found.checkpoint.content, found.checkpoint.round
        try:
            if not isinstance(content, dict) or content.keys() != {"session", "round", "memory"}:
                raise UnfitError("no node wrote it")
            memory: Memory = rebuilt(Memory, content["memory"], found.checkpoint.arrays)
            _check_size(memory, self.total)
        except UnfitError as error:
            self._remark_loss(f"'{self.folder / f'round-{number}.json'}' cannot be used: {error}")
            return None
        return memory

    def _remark_loss(self, sentence: str) -> None:
        self.remark(f"{sentence}; clients continue with what they knew before, or are placed again")

    def _is_past(self, found: FoundCheckpoint) -> bool:
        """Return whether a state is from before this order, in a session that counts."""
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


def _forget_old_runs(newest: Path) -> None:
    """Remove the memory of all but the runs that were used last."""
    with suppress(OSError):  # another node removes them too, or the folder is read-only
        others = [
            each
            for each in newest.parent.iterdir()
            if NAME.fullmatch(each.name) and each != newest
            if each.is_dir() and not each.is_symlink()
        ]
        for run in sorted(others, key=_last_used, reverse=True)[RUNS - 1 :]:
            for clients in list(run.iterdir()):
                Store(clients).clear()
            run.rmdir()


def _last_used(run: Path) -> float:
    return max(each.stat().st_mtime for each in (run, *run.iterdir()))
