"""``flexcfl.load``: a finished run read back from its folder, without its data."""

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as tensors

from flexcfl import disk
from flexcfl.data import Federation
from flexcfl.data.federation import placeholder_federation
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.experiment import Tables as Settings
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import Vector, state_type
from flexcfl.record.checkpoints import FoundCheckpoint, Store, UnfitError, rebuilt
from flexcfl.record.folder import CLIENTS, EXPERIMENT, FOUNDERS, MODELS, NEWCOMER, SUMMARY
from flexcfl.record.lifecycle import check_run, is_finished
from flexcfl.record.reading import check_whole, read_contents
from flexcfl.record.record import Record
from flexcfl.record.run_folders import resume_command
from flexcfl.record.summary import Summary
from flexcfl.report.terminal.run_results import result_rows
from flexcfl.runner import artifacts
from flexcfl.runner.hosting import single_client
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import WRONG, check_arrays, checked_serving
from flexcfl.runner.result import Run
from flexcfl.settings import keywords

if TYPE_CHECKING:
    from torch import nn

    from flexcfl.engine import Engine

MOST_NUMBERS = 2**28  # in one example: a gigabyte
# Errors that damaged files raise; RecursionError comes from endless nesting.
TROUBLES = (*WRONG, OSError, csv.Error, SafetensorError, RecursionError)
OBJECTS = {
    "shifts": "shift",
    "detector": "drift",
}  # objects that no file contains, and their tables


@keywords()
def load(folder: str | Path, *, model: "str | Callable[[], nn.Module] | None" = None) -> Run:
    """Load a finished run from its folder, as ``flexcfl.run`` returned it.

    The data of the run are not needed. ``run.experiment`` lacks custom shifts and a custom
    detector, because the files do not contain them.

    Args:
        folder: The folder of a finished run, the ``out`` argument of ``flexcfl.run``.
        model: If the run has a custom model, the function that returns the ``nn.Module``, or its
            name as ``"package.module:factory"``.

    Returns:
        The run with its metrics and models.

    Raises:
        flexcfl.errors.SettingsError: If the folder has no finished run, if its files are damaged,
            or if ``model`` is missing for a run with a custom model.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.load("runs/mine")  # doctest: +SKIP
        >>> module = run.model(0)  # doctest: +SKIP

    """
    path = Path(folder)
    check_run(path)
    if not is_finished(path):
        raise SettingsError(
            f"The run in '{path}' is not finished: resume it with '{resume_command(path)}', then "
            "load it."
        )
    with _as_load_error(path):
        read = read_contents(path)
        _check(read, path, model)
        run = _run(read, path, model)
        result_rows(run)  # a run that cannot be shown is damaged
        run.clustering  # noqa: B018
    return run


@contextmanager
def _as_load_error(path: Path) -> Iterator[None]:
    try:
        yield
    except TROUBLES as error:
        raise SettingsError(
            f"The run in '{path}' cannot be loaded, because its files are damaged or of another "
            f"version ({error!s:.200}): run it again."
        ) from None


def _check(run: Record, path: Path, model: object) -> None:
    """Refuse a run that is incomplete, or that needs a custom model if none is given."""
    summary = run.summary
    if summary is None or not (path / CLIENTS).is_file():
        raise ValueError(CLIENTS)
    if {"shape", "versions"} - summary.keys() == {"shape"}:
        raise SettingsError(
            f"The run in '{path}' is of an earlier version of flexcfl, whose runs cannot be "
            f"loaded: run it again (its settings are in '{path / EXPERIMENT}')."
        )
    check_whole(run)
    if run.clients < summary["clients"]:
        raise ValueError(CLIENTS)
    if len(run.founders["client"]) != (summary["clustering"] or {"founders": 0})["founders"]:
        raise ValueError(FOUNDERS)
    if "model" in summary["own"] and model is None:
        raise SettingsError(
            f"The run in '{path}' has a custom model, which is not in its files: pass the function "
            f"that made it, as in flexcfl.load({str(path)!r}, model=make), or its name, as in "
            "--model package.module:make."
        )


def _run(run: Record, path: Path, model: "str | Callable[[], nn.Module] | None") -> Run:
    summary = cast(Summary, run.summary)
    blank = _blank(summary)
    experiment = _experiment(run.settings, summary["own"], blank)
    prepared = single_client(experiment, blank, summary["clients"], model)
    models, auxiliary = _models(path, prepared.engine)
    newcomer, waiting = _newcomer(path, prepared, models)
    if len(models) != summary["groups"] + len(waiting):
        raise ValueError(f"{len(models)} models of {summary['groups']} groups")
    if run.group_of.max() >= len(models):
        raise ValueError(CLIENTS)
    return Run(
        **vars(run),
        experiment=experiment,
        models=models,
        auxiliary=auxiliary,
        engine=prepared.engine,
        waiting=waiting,
        newcomer=newcomer,
    )


def _blank(summary: Summary) -> Federation:
    """Return a federation of one client with one blank example."""
    if prod(summary["shape"]) > MOST_NUMBERS:
        raise ValueError(f"{SUMMARY}: shape")
    return placeholder_federation(
        summary["dataset"], 1, tuple(summary["shape"]), summary["classes"]
    )


def _experiment(tables: Settings, own: Sequence[str], blank: Federation) -> Experiment:
    left_out = {table for part, table in OBJECTS.items() if part in own}
    said = {name: table for name, table in tables.items() if name not in left_out}
    brought = "data" in own or "shape" in tables.get("network", {})
    objects = UserObjects(blank) if brought else NO_OBJECTS
    return resolve([SettingsLayer("file", said)], objects).experiment


def _models(path: Path, engine: "Engine") -> tuple[list[Vector], Vector | None]:
    folder = path / MODELS
    files = (folder / artifacts.model_file_name(number) for number in itertools.count())
    there = list(itertools.takewhile(Path.is_file, files))
    models = [engine.flatten(tensors(disk.read(file))) for file in there]
    beside = folder / artifacts.AUXILIARY
    return models, engine.flatten(tensors(disk.read(beside))) if beside.is_file() else None


def _newcomer(path: Path, prepared: Prepared, models: list[Vector]) -> tuple[Any, tuple[int, ...]]:
    """Return the algorithm's state for newcomers, and the models that are not groups."""
    found = next(Store(path / NEWCOMER).found(), f"'{NEWCOMER}' is missing")
    if not isinstance(found, FoundCheckpoint):
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
    if len(checked_serving(prepared, state).models) != len(models):
        raise UnfitError("its models are not those of the groups")
    return state, waiting
