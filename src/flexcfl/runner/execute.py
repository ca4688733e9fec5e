"""One run, from a prepared experiment to its result and its folder."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from flexcfl.guards import Guards
from flexcfl.protocol import Serving
from flexcfl.runner import leaving
from flexcfl.runner.callbacks import Beginning, Callback, Tell, View, accompanied, remark
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.figures import (
    Entry,
    Figures,
    GroupFigures,
    Membership,
    Messages,
    Missing,
    Shifted,
    Timing,
)
from flexcfl.runner.folder import GROUPS, ROUNDS, TABLES, RunFolder
from flexcfl.runner.hosting import SIMULATED, Hosting
from flexcfl.runner.keeping import Running, done_with, keeping
from flexcfl.runner.loop import Round, World, train
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import Restored
from flexcfl.runner.result import Run, columns
from flexcfl.runner.stopping import Stop
from flexcfl.runner.summary import summarised

__all__ = ["View", "execute"]


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
    """Run all rounds, each written down where there is a folder and then shown by ``view``.

    What is ``restored`` from that folder need not be done again. Where somebody may ask to ``stop``
    there is a checkpoint before that. ``hosting`` says where the clients are, and ``callbacks`` are
    told of everything. ``tell`` passes on what a person should know.
    """

    def executed(heard: View) -> Run:
        # Who shows rounds tidies up when a callback breaks them off.
        return _executed(prepared, lambda each: view(heard(each)), folder, stop, restored, hosting)

    return accompanied(executed, callbacks, _beginning(prepared, folder, restored), tell)


def _beginning(
    prepared: Prepared, folder: RunFolder | None, restored: Restored | None
) -> Beginning:
    path = folder.path if folder else None
    if restored is None:
        return Beginning(prepared.experiment, path)
    rows = restored.rows  # copied, as these lists will grow
    return Beginning(prepared.experiment, path, tuple(rows[ROUNDS]), tuple(rows[GROUPS]))


def _executed(
    prepared: Prepared,
    view: View,
    folder: RunFolder | None,
    stop: Stop | None,
    restored: Restored | None,
    hosting: Hosting,
) -> Run:
    started = perf_counter() - (restored.about.seconds if restored else 0)
    world, labels = hosting.world(prepared), hosting.labels(prepared)
    if restored is not None and restored.memory is not None:
        world.recall(restored.memory)
    rounds = _rounds(prepared, world, restored)
    kept = _Kept() if restored is None else _kept(restored)
    if folder is None:
        kept.collect(view(rounds))
    else:
        known = (prepared, labels, world.memory, lambda: perf_counter() - started)
        with keeping(folder, Running(*known, stop or Stop()), restored) as keep:
            kept.collect(view(keep(folder.record(rounds))))
    serving, newcomer = kept.last, leaving.newcomer(prepared.algorithm, kept.state)
    seconds = perf_counter() - started
    summary = summarised(prepared, kept.figures, kept.messages, serving, world.releases, seconds)
    if folder:
        folder.finish(leaving.files(prepared, serving, newcomer, summary), summary)
        done_with(folder)
    return Run(
        experiment=prepared.experiment,
        rounds=columns(Figures, kept.figures),
        groups=columns(GroupFigures, kept.groups),
        ledger=columns(Entry, kept.costs),
        membership=columns(Membership, kept.members),
        missing=columns(Missing, kept.missing),
        messages=columns(Messages, kept.messages),
        shifts=columns(Shifted, kept.shifts),
        labels=labels.columns,
        summary=summary,
        models=list(serving.models),
        auxiliary=serving.auxiliary,
        group_of=serving.model_of,
        clustering=serving.clustering,
        folder=folder.path if folder else None,
        engine=prepared.engine,
        waiting=serving.waiting,
        names=prepared.federation.names,
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
    """Return the guards, without any by which one client's update decides on that of another.

    Where the server promises privacy it shortens all updates anyway.
    """
    promised = experiment.privacy.level == "group"
    return replace(experiment.guards, norm_bound="none") if promised else experiment.guards


@dataclass(eq=False)
class _Kept:
    """All figures of a run, but only the last models and state, which may be large."""

    serving: Serving | None = None
    state: Any = None
    figures: list[Figures] = field(default_factory=list)
    groups: list[GroupFigures] = field(default_factory=list)
    costs: list[Entry] = field(default_factory=list)
    members: list[Membership] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    messages: list[Messages] = field(default_factory=list)
    shifts: list[Shifted] = field(default_factory=list)

    @property
    def last(self) -> Serving:
        """The models in service in the end: a run has at least one round."""
        assert self.serving is not None
        return self.serving

    def collect(self, rounds: Iterator[Round]) -> None:
        for done in rounds:
            self.serving, self.state = done.serving, done.state
            self.figures.append(done.figures)
            self.groups.extend(done.groups)
            self.costs.extend(done.costs)
            self.members.extend(done.members)
            self.missing.extend(done.missing)
            self.messages.extend(done.messages)
            self.shifts.extend(done.shifts)


def _kept(restored: Restored) -> _Kept:
    tables = [restored.rows[name] for name in TABLES if TABLES[name] is not Timing]
    state = None if restored.past is None else restored.past.state
    return _Kept(restored.serving, state, *tables)
