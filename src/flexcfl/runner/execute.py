"""One run, from a prepared experiment to its result and its folder."""

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TypeAlias

from flexcfl.protocol import Serving
from flexcfl.runner import leaving, toml
from flexcfl.runner.figures import Figures, GroupFigures
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
    figures, groups, serving = _collected(view(folder.record(rounds) if folder else rounds))
    summary = summarised(prepared, figures, serving, perf_counter() - started)
    if folder:
        folder.finish(leaving.files(prepared, serving, summary), summary)
    return Run(
        experiment=prepared.experiment,
        rounds=columns(Figures, figures),
        groups=columns(GroupFigures, groups),
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
    settings = prepared.experiment.run
    world = Simulation(prepared.engine, prepared.federation, settings.seed)
    return train(prepared.algorithm, world, prepared.engine.initial, prepared.arrival, settings)


def _collected(rounds: Iterable[Round]) -> tuple[list[Figures], list[GroupFigures], Serving]:
    """Keep all figures but only the last models, which may be large."""
    figures: list[Figures] = []
    groups: list[GroupFigures] = []
    for done in rounds:
        figures.append(done.figures)
        groups.extend(done.groups)
        serving = done.serving
    return figures, groups, serving
