"""One run, from a prepared experiment to its result and its folder."""

import json
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from safetensors.numpy import save

from flexcfl.protocol import Serving
from flexcfl.runner import toml
from flexcfl.runner.folder import RunFolder
from flexcfl.runner.loop import Figures, Round, train
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
    figures, serving = _collected(view(folder.record(rounds) if folder else rounds))
    summary = summarised(prepared, figures, perf_counter() - started)
    if folder:
        folder.finish(_safetensors(prepared, serving, summary), summary)
    return Run(
        experiment=prepared.experiment,
        rounds=columns(figures),
        summary=summary,
        models=list(serving.models),
        folder=folder.path if folder else None,
        engine=prepared.engine,
    )


def _rounds(prepared: Prepared) -> Iterator[Round]:
    settings, federation = prepared.experiment.run, prepared.federation
    world = Simulation(prepared.engine, federation, settings.seed)
    return train(prepared.algorithm, world, prepared.engine.initial, federation.clients, settings)


def _collected(rounds: Iterable[Round]) -> tuple[list[Figures], Serving]:
    """Keep all figures but only the last models, which may be large."""
    figures = []
    for done in rounds:
        figures.append(done.figures)
        serving = done.serving
    return figures, serving


def _safetensors(prepared: Prepared, serving: Serving, summary: dict[str, Any]) -> Iterator[bytes]:
    about = {key: summary[key] for key in ("algorithm", "dataset", "model", "seed", "rounds")}
    for group, vector in enumerate(serving.models):
        # One entry, because safetensors writes several in no fixed order.
        metadata = {"flexcfl": json.dumps({**about, "group": group})}
        # safetensors takes the memory as it lies, whatever the strides say.
        named = prepared.engine.unflatten(vector).items()
        yield save({name: np.asarray(value, order="C") for name, value in named}, metadata)
