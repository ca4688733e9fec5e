"""How far a run has come, seen from its folder by another process."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flexcfl.errors import FlexcflError
from flexcfl.record import places
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.lock import locked
from flexcfl.record.places import CHECKPOINTS, LOGS, NODES
from flexcfl.record.reading import rows_so_far
from flexcfl.record.tables import ROUNDS, TABLES, RoundFigures

__all__ = ["REGISTER", "RunProgress"]

REGISTER = "register"  # what is done with the keys of nodes, only with TLS


@dataclass(eq=False)
class RunProgress:
    """What can be seen in the folder of a run."""

    folder: Path
    _known: int = 0  # rounds that were asked for already
    _size: int = 0  # of their table then

    @property
    def logs(self) -> Path:
        """Where processes write what they print."""
        return self.folder / LOGS

    @property
    def nodes(self) -> Path:
        """Where nodes keep what their clients remember."""
        return self.folder / NODES

    @property
    def registration(self) -> Path:
        """Where is written how the keys of nodes were registered, if they have any."""
        return self.logs / f"{REGISTER}.log"

    @property
    def can_resume(self) -> bool:
        """Whether there is something to go on with."""
        file, checkpoints = self.folder / EXPERIMENT, self.folder / CHECKPOINTS
        written = file.is_file() and file.stat().st_size > 0
        return written and checkpoints.is_dir() and any(checkpoints.iterdir())

    @property
    def has_rounds(self) -> bool:
        """Whether a round is written down."""
        return (self.folder / ROUNDS).exists()

    def skip(self, rounds: int) -> None:
        """Leave out so many rounds, which were done before."""
        self._known = max(self._known, rounds)

    def new_rounds(self) -> Sequence[RoundFigures]:
        """Return the rounds that are written down and were not returned before."""
        table = self.folder / ROUNDS
        size = table.stat().st_size if table.exists() else 0
        if size == self._size:
            return []
        self._size = size
        added = rows_so_far(self.folder / ROUNDS)[self._known :]
        self._known += len(added)
        return added

    def unlock(self) -> None:
        """Take away the lock of a process that was killed."""
        if self.folder.is_dir():
            with suppress(FlexcflError), locked(self.folder):
                pass

    def clean_up(self) -> None:
        """Take away what a process that was killed could not, so that another may begin."""
        self.unlock()
        if not self.can_resume and not self.has_rounds:
            self._empty()

    def forget(self) -> None:
        """Remove the memory of the nodes of a run that is done."""
        shutil.rmtree(self.nodes, ignore_errors=True)

    def discard(self, made: Sequence[Path]) -> None:
        """Remove a run of which nothing came, and the folders that were ``made`` for it."""
        self._empty()
        shutil.rmtree(self.logs, ignore_errors=True)
        places.remove(made)

    def _empty(self) -> None:
        for name in (CHECKPOINTS, NODES):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (EXPERIMENT, *TABLES):
            (self.folder / name).unlink(missing_ok=True)
