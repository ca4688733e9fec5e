"""A run's checkpoints while it goes on: what they hold, when they are made, how a run stops."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from flexcfl.data.describe import LabelSkew
from flexcfl.experiment import toml
from flexcfl.record import csv_tables as tables
from flexcfl.record.checkpoints import Checkpoint, Saver, Store, flattened
from flexcfl.record.folder import LABELS, RunFolder, as_disk_error
from flexcfl.record.places import CHECKPOINTS
from flexcfl.record.tables import Round
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import About, Restored, Table
from flexcfl.runner.stopping import Stop, StoppedError

__all__ = ["Keep", "Running", "keeping"]

Keep: TypeAlias = Callable[[Iterable[Round]], Iterator[Round]]


@dataclass(frozen=True, eq=False)
class Running:
    """A run that goes on; what is known of it is asked when a checkpoint is made.

    ``labels`` are those that its clients have at the start.
    """

    prepared: Prepared
    labels: LabelSkew
    memory: Callable[[], Any]
    seconds: Callable[[], float]
    stop: Stop


@contextmanager
def keeping(folder: RunFolder, run: Running, restored: Restored | None) -> Iterator[Keep]:
    """Hand out what keeps a run's rounds, from its beginning or from what is ``restored``."""
    settings, store = run.prepared.experiment.run, Store(folder.path / CHECKPOINTS)
    saver = Saver(
        _saving(folder, store),
        settings.checkpoint_rounds,
        settings.checkpoint_seconds,
        settings.checkpoint_share,
    )
    keeper = _Keeper(folder, run, saver, Origin.of(run.prepared))
    with saver:
        if restored is None:
            folder.begin(
                toml.written(run.prepared.experiment, run.prepared.remarks),
                [(LABELS, tables.of_columns(run.labels.columns).encode())]
                if run.labels.known
                else [],
            )
            saver.insist(0, keeper.beginning)
        else:
            store.go_on(restored.found)
            saver.saved = restored.number
            folder.extents = restored.extents
            folder.cut()
        yield keeper.kept


def _saving(folder: RunFolder, store: Store) -> Callable[[Checkpoint], None]:
    def save(checkpoint: Checkpoint) -> None:
        folder.flush()  # a checkpoint tells how far tables go, so they come first
        with as_disk_error(folder.path / CHECKPOINTS):
            store.save(checkpoint)

    return save


@dataclass(frozen=True, eq=False)
class _Keeper:
    folder: RunFolder
    run: Running
    saver: Saver
    origin: Origin

    def kept(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """Hand on the rounds; after some of them, and before stopping, there is a checkpoint."""
        last = self.run.prepared.experiment.run.rounds
        for done in rounds:
            number = done.figures.round
            self.saver.offer(number, lambda: self._after(done))  # noqa: B023  (called at once)
            yield done
            if self.run.stop.asked is not None and number < last:
                self.saver.insist(number, lambda: self._after(done))  # noqa: B023
                how_far = f"after round {number} of {last}"
                raise StoppedError(how_far, self.folder.path, self.run.stop)

    def beginning(self) -> Checkpoint:
        """Return the checkpoint of a run that has done nothing yet."""
        return self._made(0, None, None)

    def _after(self, done: Round) -> Checkpoint:
        return self._made(done.figures.round, done.state, self.run.memory())

    def _made(self, number: int, state: Any, memory: Any) -> Checkpoint:
        arrays: list[NDArray[Any]] = []
        extents = tuple(Table(*each) for each in self.folder.extents.items())
        content = {
            "about": flattened(About(self.origin, self.run.seconds(), extents), arrays),
            "state": flattened(state, arrays),
            "world": flattened(memory, arrays),
        }
        return Checkpoint(number, content, arrays)
