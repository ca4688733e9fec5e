"""One run, from a prepared experiment to its result and its folder, with checkpoints."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from flexcfl.data.describe import LabelSkew
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.protocol import Serving
from flexcfl.record.checkpoints import Checkpoint, Saver, Store, flattened
from flexcfl.record.csv_tables import columns_to_csv
from flexcfl.record.folder import LABELS, RunFolder, as_disk_error
from flexcfl.record.lifecycle import remove_checkpoints
from flexcfl.record.record import founders_of
from flexcfl.record.run_folders import CHECKPOINTS
from flexcfl.record.tables import GROUPS, ROUNDS, TABLES, Round, columns_by_table
from flexcfl.runner import artifacts
from flexcfl.runner.callbacks import Beginning, Callback, Tell, View, following, remark
from flexcfl.runner.hosting import SIMULATED, Hosting
from flexcfl.runner.loop import World, train
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import CheckpointInfo, Restored, TableExtent
from flexcfl.runner.result import Run
from flexcfl.runner.run_summary import summarize_run
from flexcfl.runner.stopping import Stop, StoppedError
from flexcfl.trust.guards import Guards


def execute(
    prepared: Prepared,
    view: View = iter,
    folder: RunFolder | None = None,
    stop: Stop | None = None,
    restored: Restored | None = None,
    hosting: Hosting = SIMULATED,
    callbacks: Iterable[Callback] = (),
    tell: Tell = remark,
) -> Run:
    """Run all rounds; each is recorded if there is a folder, and then shown by ``view``.

    Rounds that were ``restored`` from the folder are not repeated. If a ``stop`` is requested, a
    checkpoint is saved first. ``hosting`` says where the clients are, ``callbacks`` follow the run,
    and ``tell`` prints sentences for the user.
    """
    with following(callbacks, _beginning(prepared, folder, restored), tell) as followers:
        started = perf_counter() - (restored.about.seconds if restored else 0)
        world, labels = hosting.world(prepared), hosting.labels(prepared)
        if restored is not None and restored.memory is not None:
            world.recall(restored.memory)
        kept = _Kept() if restored is None else _kept(restored)
        known = (prepared, labels, world.memory, lambda: perf_counter() - started)
        with _recorded(folder, _Running(*known, stop or Stop()), restored) as recorded:
            # The view is outermost so that it can clean up if a callback raises.
            for done in view(followers.rounds(recorded(_rounds(prepared, world, restored)))):
                kept.take(done)
        run = _finished(prepared, kept, labels, world.releases, folder, started)
        followers.end(run)
    return run


@dataclass(frozen=True, eq=False)
class _Running:
    """A run in progress; a checkpoint calls ``memory`` and ``seconds`` for the current values.

    ``labels`` are the clients' labels at the start.
    """

    prepared: Prepared
    labels: LabelSkew
    memory: Callable[[], Any]
    seconds: Callable[[], float]
    stop: Stop


@contextmanager
def _recorded(folder: RunFolder | None, run: _Running, restored: Restored | None) -> Iterator[View]:
    """Yield a view that records each round and saves checkpoints, if there is a folder."""
    if folder is None:
        yield iter
        return
    settings, store = run.prepared.experiment.run, Store(folder.path / CHECKPOINTS)

    def save(checkpoint: Checkpoint) -> None:
        folder.flush()  # tables first, because a checkpoint contains their extents
        with as_disk_error(folder.path / CHECKPOINTS):
            store.save(checkpoint)

    limits = (settings.checkpoint_rounds, settings.checkpoint_seconds, settings.checkpoint_share)
    with Saver(save, *limits) as saver:
        recorder = _Recorder(folder, run, saver, Origin.of(run.prepared))
        if restored is None:
            recorder.begin()
        else:
            store.continue_from(restored.found)
            saver.saved = restored.number
            folder.extents = restored.extents
            folder.cut()
        yield recorder.recorded


@dataclass(frozen=True, eq=False)
class _Recorder:
    """Writes the rounds of a run into its folder."""

    folder: RunFolder
    run: _Running
    saver: Saver
    origin: Origin

    def begin(self) -> None:
        """Write the files that a run has before its first round."""
        prepared, labels = self.run.prepared, self.run.labels
        files = [(LABELS, columns_to_csv(labels.columns).encode())] if labels.known else []
        self.folder.begin(toml.written(prepared.experiment, prepared.remarks), files)
        self.saver.save_now(0, lambda: self._checkpoint(0, None, None))

    def recorded(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """Yield the rounds; save a checkpoint when due, and before stopping."""
        last = self.run.prepared.experiment.run.rounds
        for done in self.folder.record(rounds):
            number = done.figures.round
            self.saver.save_if_due(number, lambda: self._after(done))  # noqa: B023  (called at once)
            yield done
            if self.run.stop.asked is not None and number < last:
                self.saver.save_now(number, lambda: self._after(done))  # noqa: B023
                how_far = f"after round {number} of {last}"
                raise StoppedError(how_far, self.folder.path, self.run.stop)

    def _after(self, done: Round) -> Checkpoint:
        return self._checkpoint(done.figures.round, done.state, self.run.memory())

    def _checkpoint(self, number: int, state: Any, memory: Any) -> Checkpoint:
        arrays: list[NDArray[Any]] = []
        extents = tuple(TableExtent(*each) for each in self.folder.extents.items())
        content = {
            "about": flattened(CheckpointInfo(self.origin, self.run.seconds(), extents), arrays),
            "state": flattened(state, arrays),
            "world": flattened(memory, arrays),
        }
        return Checkpoint(number, content, arrays)


def _beginning(
    prepared: Prepared, folder: RunFolder | None, restored: Restored | None
) -> Beginning:
    path = folder.path if folder else None
    if restored is None:
        return Beginning(prepared.experiment, path)
    rows = restored.rows  # copied, because these lists grow
    return Beginning(prepared.experiment, path, tuple(rows[ROUNDS]), tuple(rows[GROUPS]))


def _finished(
    prepared: Prepared,
    kept: "_Kept",
    labels: LabelSkew,
    releases: int,
    folder: RunFolder | None,
    started: float,
) -> Run:
    """Write the final files of a run after its last round, and return its result."""
    serving, newcomer = kept.last, artifacts.newcomer_state(prepared.algorithm, kept.state)
    seconds = perf_counter() - started
    tables = columns_by_table(kept.rows)
    summary = summarize_run(prepared, tables, serving, releases, seconds)
    if folder:
        folder.finish(artifacts.artifact_files(prepared, serving, newcomer, summary), summary)
        remove_checkpoints(folder)
    return Run(
        settings=prepared.experiment.tables(),
        text=toml.written(prepared.experiment, prepared.remarks),
        tables=tables,
        labels=labels.columns,
        founders=founders_of(serving.clustering),
        group_of=serving.model_of,
        summary=summary,
        folder=folder.path if folder else None,
        names=prepared.federation.names,
        experiment=prepared.experiment,
        models=list(serving.models),
        auxiliary=serving.auxiliary,
        engine=prepared.engine,
        waiting=serving.waiting,
        newcomer=newcomer,
    )


def _rounds(prepared: Prepared, world: World, restored: Restored | None) -> Iterator[Round]:
    algorithm, settings = prepared.algorithm, prepared.experiment.run
    made, cohorts = prepared.engine.initial, prepared.cohorts
    past = None if restored is None else restored.past
    honest = None if not prepared.roles.hostile.any() else ~prepared.roles.hostile
    guards = _guards(prepared.experiment)
    return train(algorithm, world, made, cohorts, settings, past, guards, honest)


def _guards(experiment: Experiment) -> Guards:
    """Return the guards, without the norm bound if privacy is at level ``group``.

    At this level, the server clips all updates anyway, and may not compare clients' updates.
    """
    promised = experiment.privacy.level == "group"
    return replace(experiment.guards, norm_bound="none") if promised else experiment.guards


@dataclass(eq=False)
class _Kept:
    """All rows of a run, but only the last models and state, which may be large."""

    serving: Serving | None = None
    state: Any = None
    rows: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in TABLES})

    @property
    def last(self) -> Serving:
        """The final models; a run has at least one round."""
        assert self.serving is not None
        return self.serving

    def take(self, done: Round) -> None:
        self.serving, self.state = done.serving, done.state
        for name, rows in done.rows.items():
            self.rows[name].extend(rows)


def _kept(restored: Restored) -> _Kept:
    state = None if restored.past is None else restored.past.state
    return _Kept(restored.serving, state, dict(restored.rows))
