"""Do one run after the other: begin it, resume it, or report that it is finished already."""

import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from flexcfl import disk
from flexcfl.comparison.worker_messages import (
    Done,
    Event,
    Failed,
    Faulty,
    News,
    Remark,
    Resumed,
    RoundDone,
    RunSpec,
    Started,
    Task,
)
from flexcfl.data import Federation
from flexcfl.errors import (
    FlexcflError,
    TrainingError,
    data_warnings_to,
    not_installed,
    os_error_text,
    out_of_memory,
)
from flexcfl.experiment.experiment import DataSettings, Experiment
from flexcfl.experiment.objects import UserObjects
from flexcfl.record.folder import EXPERIMENT, LABELS, RunFolder, as_disk_error
from flexcfl.record.lifecycle import claim_folder, remove_checkpoints
from flexcfl.record.lock import LOCK, locked
from flexcfl.record.reading import is_finished, read_back
from flexcfl.record.run_folders import CHECKPOINTS
from flexcfl.record.tables import ROUNDS, Round
from flexcfl.runner.callbacks import Callback
from flexcfl.runner.execute import execute
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.restoring import Restored, restore
from flexcfl.runner.stopping import Stop, stop_on_signals
from flexcfl.runner.tracking import trackers

Send: TypeAlias = Callable[[News], None]

MEMORY = (
    "There is too little memory: lower --jobs, --epochs (or local.steps), --cohort or the number "
    "of clients (data.clients), or choose a smaller --model."
)
# The files that a process leaves if it is killed before its first checkpoint.
FILES = (EXPERIMENT, LABELS)
REMAINS = {*FILES, *(f".{name}{disk.PART}" for name in FILES), LOCK, CHECKPOINTS}


@dataclass
class RunWorker:
    """Does one run after the other, and keeps the data in memory while they stay the same.

    ``federation`` is the caller's own, which replaces the dataset of the runs. ``begun`` says
    whether the last run has begun, and ``hung_up`` that its result is no longer needed.
    ``callbacks`` follow every run. A ``stoppable`` worker listens to signals.
    """

    federation: Federation | None
    hung_up: threading.Event = field(default_factory=threading.Event)
    callbacks: Sequence[Callback] = ()
    stoppable: bool = True
    begun: bool = False
    _loaded: tuple[tuple[DataSettings, Path | None], Federation] | None = None

    def do(self, task: Task, send: Send) -> None:
        """Do the rest of a run, and report its rounds and its end.

        On a signal, a stoppable worker ends the round and makes a checkpoint if the run has a
        folder.
        """
        self.begun = bool(task.folder and is_finished(task.folder))
        if task.folder and self.begun:
            send(Done.of(read_back(task.folder, task.experiment), before=True))
            return

        def remark(sentence: str) -> None:
            send(Remark(sentence))

        callbacks = [*self.callbacks, *trackers(task.track, remark)]
        with data_warnings_to(lambda sentence: remark(f"Warning: {sentence}")):
            prepared = self._prepared(task.experiment)
        self._check_wanted()
        self.begun = True
        with (
            _run_folder(task, prepared) as (folder, found),
            stop_on_signals(tell=False)
            if folder and self.stoppable
            else nullcontext(Stop()) as stop,
        ):
            if found:
                _report_restored(found, send)
            view = partial(self._report, send, stoppable=folder is not None)
            run = execute(prepared, view, folder, stop, found, callbacks=callbacks, tell=remark)
        send(Done.of(run))
        if stop.asked is not None:  # it came in the last round: the run is done
            raise KeyboardInterrupt

    def _report(self, send: Send, rounds: Iterator[Round], stoppable: bool) -> Iterator[Round]:
        for done in rounds:
            send(RoundDone(done.figures.round, done.figures.accuracy))
            if not stoppable:
                self._check_wanted()
            yield done

    def _check_wanted(self) -> None:
        # The signal may be lost: some libraries swallow exceptions raised in their callbacks.
        if self.hung_up.is_set():
            raise KeyboardInterrupt

    def _prepared(self, experiment: Experiment) -> Prepared:
        if self.federation is not None:
            return prepare(experiment, UserObjects(self.federation))
        named = (experiment.data, experiment.run.data)
        known = self._loaded[1] if self._loaded and self._loaded[0] == named else None
        self._loaded = None  # there may not be enough memory for two federations
        prepared = prepare(experiment, UserObjects(known))
        self._loaded = (named, prepared.federation)
        return replace(prepared, own=())  # the settings are enough to load the data again


@contextmanager
def _run_folder(
    task: Task, prepared: Prepared
) -> Iterator[tuple[RunFolder | None, Restored | None]]:
    """Lock the folder of a run, if it has one, and yield it with the state restored from it."""
    path = task.folder
    if path is None:
        yield None, None
    elif _has_begun(path):
        with locked(path):
            found = restore(path, prepared, Origin.of(prepared))
            with found.trusted():
                yield RunFolder(path), found
    else:
        _clear_remains(path)
        with claim_folder(path, task.experiment):
            yield RunFolder(path), None


def _has_begun(path: Path) -> bool:
    """Whether there is a run to resume; the first checkpoint is made before the first round."""
    return (path / ROUNDS).exists() or any((path / CHECKPOINTS).glob("round-*.json"))


def _clear_remains(path: Path) -> None:
    """Clear a folder that has nothing but the files of a run that did not begin."""
    if not path.is_dir() or not {each.name for each in path.iterdir()} <= REMAINS:
        return
    with locked(path):
        remove_checkpoints(RunFolder(path))
        for name in REMAINS - {CHECKPOINTS, LOCK}:
            with as_disk_error(path / name) as file:
                disk.remove(file)


def _report_restored(found: Restored, send: Send) -> None:
    for each in found.remarks:
        send(Remark(each))
    known = [figures.accuracy for figures in found.rows[ROUNDS] if figures.accuracy is not None]
    send(Resumed(found.number, known[-1] if known else None))


def failure_message(error: BaseException, begun: bool) -> Failed | Faulty:
    """Return the message for an error; ``begun`` says whether the run had begun."""
    if isinstance(error, FlexcflError):
        return Failed.of(error, begun)
    if out_of_memory(error):
        return Failed(TrainingError, MEMORY, begun)
    if isinstance(error, OSError):
        return Failed(TrainingError, os_error_text(error), begun)
    if isinstance(error, ImportError):
        return Failed(TrainingError, not_installed(error), begun)
    return Faulty("".join(traceback.format_exception(error)))


def run_in_this_process(
    runs: Sequence[RunSpec],
    worker: RunWorker,
    folder: Path | None,
    track: Sequence[str],
    take: Callable[[Event], None],
) -> None:
    """Do runs in this process, one after the other, and pass their events to ``take``."""
    for run in runs:
        path = folder / run.folder if folder else None
        if not (path and is_finished(path)):
            take((run, Started()))

        def send(message: News, run: RunSpec = run) -> None:
            take((run, message))

        try:
            worker.do(Task(run.experiment, path, tuple(track)), send)
        except FlexcflError as error:
            raise Failed.of(error, worker.begun).error(run) from error
