"""One run, from a prepared experiment to its result and its folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import TypeAlias

from flexcfl.drift import Watch
from flexcfl.protocol import Serving
from flexcfl.runner import leaving, toml
from flexcfl.runner.figures import Entry, Figures, GroupFigures, Membership
from flexcfl.runner.folder import RunFolder
from flexcfl.runner.loop import Round, train
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.result import Run, columns
from flexcfl.runner.summary import summarised
from flexcfl.simulation import Simulation

__all__ = ["View", "execute"]

View: TypeAlias = Callable[[Iterator[Round]], Iterator[Round]]


def execute(prepared: Prepared, view: View = iter, folder: RunFolder | None = None) -> Run:
    """Run all rounds, each written down where there is a folder and then shown by ``view``."""
    started = perf_counter()
    if folder:
        folder.begin(toml.written(prepared.experiment, prepared.remarks))
    rounds = _rounds(prepared)
    kept = _collected(view(folder.record(rounds) if folder else rounds))
    serving = kept.serving
    summary = summarised(prepared, kept.figures, serving, perf_counter() - started)
    if folder:
        folder.finish(leaving.files(prepared, serving, summary), summary)
    return Run(
        experiment=prepared.experiment,
        rounds=columns(Figures, kept.figures),
        groups=columns(GroupFigures, kept.groups),
        ledger=columns(Entry, kept.costs),
        membership=columns(Membership, kept.members),
        summary=summary,
        models=list(serving.models),
        auxiliary=serving.auxiliary,
        group_of=serving.model_of,
        clustering=serving.clustering,
        folder=folder.path if folder else None,
        engine=prepared.engine,
        waiting=serving.waiting,
    )


def _rounds(prepared: Prepared) -> Iterator[Round]:
    experiment = prepared.experiment
    settings = experiment.run
    watch = Watch(experiment.drift.options, prepared.federation.clients)
    world = Simulation(
        prepared.engine, prepared.timeline, settings.seed, watch if experiment.migrates else None
    )
    return train(prepared.algorithm, world, prepared.engine.initial, prepared.cohorts, settings)


@dataclass(eq=False)
class _Kept:
    """All figures of a run, but only the last models, which may be large."""

    serving: Serving
    figures: list[Figures] = field(default_factory=list)
    groups: list[GroupFigures] = field(default_factory=list)
    costs: list[Entry] = field(default_factory=list)
    members: list[Membership] = field(default_factory=list)


def _collected(rounds: Iterator[Round]) -> _Kept:
    first = next(rounds)
    kept = _Kept(first.serving)
    for done in chain([first], rounds):
        kept.serving = done.serving
        kept.figures.append(done.figures)
        kept.groups.extend(done.groups)
        kept.costs.extend(done.costs)
        kept.members.extend(done.members)
    return kept
