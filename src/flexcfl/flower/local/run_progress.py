"""The progress of a run, read from its folder by another process."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flexcfl.errors import FlexcflError
from flexcfl.record import run_folders
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.lock import locked
from flexcfl.record.reading import rows_so_far
from flexcfl.record.run_folders import CHECKPOINTS, LOGS, NODES
from flexcfl.record.tables import ROUNDS, TABLES, RoundFigures

REGISTER = "register"  # the step that registers the keys of nodes, only with TLS


@dataclass(eq=False)
class RunProgress:
    """The progress of the run in a folder."""

    folder: Path
    _known: int = 0  # rounds that were returned already
    _size: int = 0  # of their table at that time

    @property
    def logs(self) -> Path:
        """The folder for the output of processes."""
        return self.folder / LOGS

    @property
    def nodes(self) -> Path:
        """The folder for what the nodes' clients remember."""
        return self.folder / NODES

    @property
    def registration(self) -> Path:
        """The log of the registration of the nodes' keys; it exists only with TLS."""
        return self.logs / f"{REGISTER}.log"

    @property
    def can_resume(self) -> bool:
        """Whether the run has a checkpoint from which it can be resumed."""
        file, checkpoints = self.folder / EXPERIMENT, self.folder / CHECKPOINTS
        written = file.is_file() and file.stat().st_size > 0
        return written and checkpoints.is_dir() and any(checkpoints.iterdir())

    @property
    def has_rounds(self) -> bool:
        """Whether a round has been written."""
        return (self.folder / ROUNDS).exists()

    def skip(self, rounds: int) -> None:
        """Skip the first ``rounds`` rounds, because they were done before."""
        self._known = max(self._known, rounds)

    def new_rounds(self) -> Sequence[RoundFigures]:
        """Return the rounds that were written since the last call."""
        table = self.folder / ROUNDS
        size = table.stat().st_size if table.exists() else 0
        if size == self._size:
            return []
        self._size = size
        added = rows_so_far(self.folder / ROUNDS)[self._known :]
        self._known += len(added)
        return added

    def unlock(self) -> None:
        """Remove the lock of a process that was killed."""
        if self.folder.is_dir():
            with suppress(FlexcflError), locked(self.folder):
                pass

    def clean_up(self) -> None:
        """Remove what a killed process has left behind, so that another may begin."""
        self.unlock()
        if not self.can_resume and not self.has_rounds:
            self._empty()

    def forget(self) -> None:
        """Remove the nodes' memory of a finished run."""
        shutil.rmtree(self.nodes, ignore_errors=True)

    def discard(self, made: Sequence[Path]) -> None:
        """Remove a run without a round, and the folders that were ``made`` for it."""
        self._empty()
        shutil.rmtree(self.logs, ignore_errors=True)
        run_folders.remove(made)

    def _empty(self) -> None:
        for name in (CHECKPOINTS, NODES):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (EXPERIMENT, *TABLES):
            (self.folder / name).unlink(missing_ok=True)
