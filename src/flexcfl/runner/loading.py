"""``flexcfl.load``: a finished run read back from its folder, without the data behind it."""

import csv
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load as tensors

from flexcfl import disk
from flexcfl.data import Federation
from flexcfl.data.federation import stand_in
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import Layer
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import NO_GROUP, Clustering, Ids, Vector, state_type
from flexcfl.record import reading
from flexcfl.record.checkpoints import Found, Store, UnfitError, rebuilt
from flexcfl.record.folder import CLIENTS, EXPERIMENT, FOUNDERS, LABELS, MODELS, NEWCOMER, SUMMARY
from flexcfl.record.places import command
from flexcfl.record.state import check_run, is_finished
from flexcfl.record.summary import Summary
from flexcfl.record.tables import GROUPS, ROUNDS, tabled
from flexcfl.report.terminal.results import results
from flexcfl.runner import leaving
from flexcfl.runner.alone import alone
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import WRONG, check_arrays, served
from flexcfl.runner.result import Run
from flexcfl.settings import keywords

if TYPE_CHECKING:
    from torch import nn

    from flexcfl.engine import Engine

__all__ = ["load"]

MOST_BYTES = 2**20  # a hundred times what a summary has
MOST_NUMBERS = 2**28  # in one example: a gigabyte
# What reading damaged files ends with; nesting without end is the last.
TROUBLES = (*WRONG, OSError, csv.Error, SafetensorError, RecursionError)
LABEL_COLUMNS = ("client", "label", "train", "test")
Size = Annotated[int, Field(ge=1, le=2**31)]


@dataclass(frozen=True)
class _About:
    """What of ``summary.json`` it takes to build the models again."""

    algorithm: str
    dataset: str
    model: str
    rounds: Size
    clients: Size
    groups: Size
    shape: Annotated[tuple[Size, ...], Field(max_length=8)]
    classes: Size
    own: tuple[str, ...]
    clustering: dict[str, Any] | None


@keywords()
def load(folder: str | Path, *, model: "str | Callable[[], nn.Module] | None" = None) -> Run:
    """Return the run that is in a folder, as ``flexcfl.run`` or ``flexcfl.resume`` returned it.

    Its data are not needed. Shifts and a detector of your own are not in the files, so that
    ``run.experiment`` does not have them.

    Args:
        folder: The folder of a finished run, the ``out`` of ``flexcfl.run``.
        model: The function that returns the ``nn.Module``, or its name as
            ``"package.module:factory"``, where the run has one of your own.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.load("runs/mine")  # doctest: +SKIP
        >>> run.model(0)  # doctest: +SKIP

    """
    path = Path(folder)
    check_run(path)
    if not is_finished(path):
        raise SettingsError(
            f"The run in '{path}' is not finished: go on with it ({command(path)}), and then "
            "load it."
        )
    with _told(path):
        summary = _summary(path)
        about = _about(path, summary)
        _check_model(path, about, model)
        experiment = _experiment(path, about)
        run = _run(path, experiment, summary, about, model)
        results(run)  # what cannot be shown is no run
    return run


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except TROUBLES as error:
        raise SettingsError(
            f"The run in '{path}' cannot be loaded, for its files are damaged or of another "
            f"version ({error!s:.200}): run it again."
        ) from None


def _summary(path: Path) -> Summary:
    content = disk.read(path / SUMMARY, MOST_BYTES + 1)
    summary = json.loads(content) if len(content) <= MOST_BYTES else None
    if not isinstance(summary, dict):
        raise ValueError(SUMMARY)
    return cast(Summary, summary)


def _about(path: Path, summary: Summary) -> _About:
    there = list(summary)
    if "shape" not in there and "versions" in there:
        raise SettingsError(
            f"The run in '{path}' was made by a flexcfl that did not write down what loading it "
            f"takes: run it again (its settings are in '{path / EXPERIMENT}')."
        )
    try:
        return TypeAdapter(_About).validate_json(json.dumps(summary), strict=True)
    except ValidationError as error:
        wrong = ".".join(map(str, error.errors()[0]["loc"]))
        raise ValueError(f"{SUMMARY}: {wrong}") from None


def _check_model(path: Path, about: _About, model: object) -> None:
    if "model" in about.own and model is None:
        raise SettingsError(
            f"The run in '{path}' has a model of its own, which only Python has: give the function "
            f"that made it, as in flexcfl.load({str(path)!r}, model=make), or its name, as in "
            "--model package.module:make."
        )


def _experiment(path: Path, about: _About) -> Experiment:
    tables = toml.read(path / EXPERIMENT)
    for part, table in (("shifts", "shift"), ("detector", "drift")):
        if part in about.own:  # objects, which no file has
            tables.pop(table, None)
    network = tables.get("network", {})
    brought = "data" in about.own or (isinstance(network, dict) and "shape" in network)
    own = UserObjects(_blank(about)) if brought else NO_OBJECTS
    experiment = resolve([Layer("file", tables)], own).experiment
    names = (experiment.algorithm.name, experiment.data.name, experiment.model.name)
    if names != (about.algorithm, about.dataset, about.model):
        raise ValueError(f"{EXPERIMENT} and {SUMMARY} are of different runs")
    return experiment


def _blank(about: _About) -> Federation:
    """Return a federation of one client with one blank example."""
    if prod(about.shape) > MOST_NUMBERS:
        raise ValueError(f"{SUMMARY}: shape")
    return stand_in(about.dataset, 1, about.shape, about.classes)


def _run(
    path: Path,
    experiment: Experiment,
    summary: Summary,
    about: _About,
    model: "str | Callable[[], nn.Module] | None",
) -> Run:
    prepared = alone(experiment, _blank(about), about.clients, model)
    models, auxiliary = _models(path, prepared.engine)
    newcomer, waiting = _newcomer(path, prepared, models)
    if len(models) != about.groups + len(waiting):
        raise ValueError(f"{len(models)} models of {about.groups} groups")
    group_of, names = _clients(path, len(models))
    if len(group_of) < about.clients:
        raise ValueError(CLIENTS)
    return Run(
        experiment=experiment,
        tables=tabled(_rows(path, about.rounds)),
        labels=reading.whole(path / LABELS, LABEL_COLUMNS) or _nothing(),
        summary=summary,
        models=models,
        auxiliary=auxiliary,
        group_of=group_of,
        clustering=_clustering(path, about.clustering),
        folder=path,
        engine=prepared.engine,
        waiting=waiting,
        names=names,
        newcomer=newcomer,
    )


def _rows(path: Path, rounds: int) -> Mapping[str, list[Any]]:
    """Return the rows of all tables that grew with the rounds, up to the last."""
    rows = reading.so_far(path)
    if [each.round for each in rows[ROUNDS]] != list(range(1, rounds + 1)):
        raise ValueError(ROUNDS)
    if rows[GROUPS] and rows[GROUPS][-1].round != rounds:
        raise ValueError(GROUPS)
    return rows


def _nothing() -> dict[str, NDArray[Any]]:
    return {name: np.empty(0, dtype=np.int64) for name in LABEL_COLUMNS}


def _models(path: Path, engine: "Engine") -> tuple[list[Vector], Vector | None]:
    folder = path / MODELS
    files = (folder / leaving.group(number) for number in itertools.count())
    there = list(itertools.takewhile(Path.is_file, files))
    models = [engine.flatten(tensors(disk.read(file))) for file in there]
    beside = folder / leaving.AUXILIARY
    return models, engine.flatten(tensors(disk.read(beside))) if beside.is_file() else None


def _newcomer(path: Path, prepared: Prepared, models: list[Vector]) -> tuple[Any, tuple[int, ...]]:
    """Return the state that a newcomer finds, and which models are no groups."""
    found = next(Store(path / NEWCOMER).found(), f"'{NEWCOMER}' is missing")
    if not isinstance(found, Found):
        raise ValueError(found)
    check_arrays(found, prepared)
    content, arrays = found.checkpoint.content, list(found.checkpoint.arrays)
    if not isinstance(content, dict) or content.keys() != {"state", "models", "waiting"}:
        raise UnfitError(f"'{NEWCOMER}' is not of a run")
    waiting: tuple[int, ...] = rebuilt(tuple[int, ...], content["waiting"], [])
    if not set(waiting) <= set(range(len(models))):
        raise UnfitError("a model that is no group is not there")
    if content["state"] is None:
        return None, waiting
    place: int | None = rebuilt(int | None, content["models"], [])
    if place is not None:
        arrays[place] = np.stack(models)
    state = rebuilt(state_type(prepared.algorithm), content["state"], arrays)
    if len(served(prepared, state).models) != len(models):
        raise UnfitError("its models are not those of the groups")
    return state, waiting


def _clients(path: Path, models: int) -> tuple[Ids, tuple[str, ...]]:
    """Return the group of every client, and what clients are called."""
    table = reading.whole(path / CLIENTS, ["client"])
    groups = np.asarray(table["group"], dtype=np.float64)
    group_of = np.where(np.isnan(groups), NO_GROUP, groups).astype(np.int64)
    if not np.array_equal(table["client"], np.arange(len(group_of))):
        raise ValueError(CLIENTS)
    if group_of.min() < NO_GROUP or group_of.max() >= models:
        raise ValueError(CLIENTS)
    names = tuple(table["name"].tolist())
    return group_of, names if any(names) else ()


def _clustering(path: Path, summed: Mapping[str, Any] | None) -> Clustering | None:
    table = reading.whole(path / FOUNDERS, ["client", "group"])
    if summed is None:
        return None
    if len(table["client"]) != summed["founders"]:
        raise ValueError(FOUNDERS)
    points = [column for name, column in table.items() if name.startswith("x")]
    embedding = np.stack(points, axis=1).astype(np.float64)
    about = (summed["within"], summed["silhouette"])
    return Clustering(table["client"], table["group"], summed["groups"], embedding, *about)
