"""A run that is finished, read back from its folder; of damaged files nothing is believed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.record import reading, state
from flexcfl.record.folder import EXPERIMENT, SUMMARY, Extent
from flexcfl.record.same import difference
from flexcfl.record.state import tidy
from flexcfl.record.summary import Summary
from flexcfl.record.tables import ROUNDS, RoundFigures, columns

__all__ = ["FinishedRun", "checked_summary", "curves", "is_finished", "read_back"]

MOST_BYTES = 2**20  # a hundred times what a summary has
Finite = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class _Accuracy:
    best: Finite | None
    final: Finite | None
    median: Finite | None
    first_round: int | None = None  # which earlier versions do not tell


@dataclass(frozen=True)
class _Traffic:
    transfers: int
    relative_to_fedavg: Finite
    down_bytes: int
    up_bytes: int


@dataclass(frozen=True)
class _Summary:
    """What a comparison needs of a ``summary.json``."""

    algorithm: str
    dataset: str
    model: str
    shift: str | None
    seed: int
    rounds: int
    clients: int
    accuracy: _Accuracy
    traffic: _Traffic
    shifted: int
    detected: int
    migrations: int
    placed: int
    seconds: Finite
    diverged: int = 0  # which earlier versions do not tell


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """The summary of a finished run, and the accuracy of each round, NaN where there is none.

    ``honest`` is that of the clients that do not attack.
    """

    summary: Summary
    accuracy: NDArray[np.float64]
    honest: NDArray[np.float64]


def is_finished(path: Path) -> bool:
    """Whether the run in a folder is done; what a link leads to is not ours to look into."""
    if path.is_symlink():
        raise SettingsError(f"'{path}' is a link and not the folder of a run: move it away.")
    return state.is_finished(path)


def read_back(path: Path, experiment: Experiment) -> FinishedRun:
    """Return what a finished run found, whose folder must be one of this very experiment."""
    with _damage_told(path, EXPERIMENT):
        other = difference(_settings(path / EXPERIMENT), experiment.tables())
    if other:
        raise SettingsError(
            f"The run in '{path}' is another one ({other} is not the same): move its folder away."
        )
    with _damage_told(path, SUMMARY):
        summary = checked_summary(disk.read(path / SUMMARY, MOST_BYTES + 1), experiment)
    with _damage_told(path, ROUNDS):
        rounds = _rounds(path, experiment.run.rounds)
        accuracy = _accuracy([each.accuracy for each in rounds])
        honest = _accuracy([each.honest_accuracy for each in rounds])
    tidy(path)
    return FinishedRun(summary, accuracy, honest)


def curves(path: Path, rounds: int) -> Mapping[str, NDArray[Any]]:
    """Return the figures of all rounds of a finished run, as one array for each figure."""
    with _damage_told(path, ROUNDS):
        return columns(ROUNDS, _rounds(path, rounds))


def _rounds(path: Path, rounds: int) -> Sequence[RoundFigures]:
    whole = {ROUNDS: Extent().plus(disk.read(path / ROUNDS))}
    return reading.rows(path, whole, rounds)[ROUNDS]


@contextmanager
def _damage_told(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, SettingsError):
        raise SettingsError(
            f"'{path / name}' is damaged: move the folder '{path}' away to have that run done "
            "again."
        ) from None


def _settings(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ValueError(file)
    return toml.read(file)


def checked_summary(content: bytes, experiment: Experiment) -> Summary:
    """Return a summary if it has what a comparison needs, and is one of this experiment."""
    if len(content) > MOST_BYTES:
        raise ValueError(len(content))
    needed = TypeAdapter(_Summary).validate_json(content, strict=True)
    found = (needed.algorithm, needed.dataset, needed.model, needed.shift)
    names = (experiment.algorithm.name, experiment.data.name, experiment.model.name)
    numbers = (experiment.run.seed, experiment.run.rounds)
    if found != (*names, "+".join(experiment.shift) or None):
        raise ValueError(found)
    if (needed.seed, needed.rounds) != numbers:
        raise ValueError(numbers)
    summary: Summary = json.loads(content)
    return summary


def _accuracy(curve: Sequence[float | None]) -> NDArray[np.float64]:
    if not all(each is None or 0 <= each <= 1 for each in curve):
        raise ValueError(curve)
    return np.array(curve, dtype=np.float64)  # None becomes NaN
