"""A run restored from its folder: the newest valid checkpoint and the matching table rows."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.experiment.objects import UserObjects
from flexcfl.protocol import NO_GROUP, Serving, state_type
from flexcfl.record import reading
from flexcfl.record.checkpoints import FoundCheckpoint, Store, UnfitError, rebuilt
from flexcfl.record.folder import EXPERIMENT, Extent
from flexcfl.record.run_folders import CHECKPOINTS
from flexcfl.record.tables import MESSAGES, TABLES
from flexcfl.runner.hosting import SIMULATED, Hosting
from flexcfl.runner.loop import FinishedRounds
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared

# Errors that arrays of wrong sizes raise when they are used.
WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class TableExtent:
    """The extent of a table when a checkpoint was made."""

    name: str
    extent: Extent


@dataclass(frozen=True)
class CheckpointInfo:
    """The content of a checkpoint, except the states of the algorithm and of the world."""

    origin: Origin
    seconds: float
    tables: tuple[TableExtent, ...]


@dataclass(frozen=True, eq=False)
class Restored:
    """A run as it was after a round; ``past`` is None if no round was finished.

    ``rows`` are the rows of its tables, and ``remarks`` are sentences for the user.
    """

    found: FoundCheckpoint
    about: CheckpointInfo
    past: FinishedRounds | None
    serving: Serving | None
    memory: Any
    rows: Mapping[str, list[Any]]
    remarks: tuple[str, ...]

    @property
    def number(self) -> int:
        """The last round that is not repeated."""
        return self.found.checkpoint.round

    @property
    def extents(self) -> dict[str, Extent]:
        """The extents of the tables."""
        return {table.name: table.extent for table in self.about.tables}

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """Turn an error that a forged checkpoint may cause into a ``SettingsError``.

        Such an error can occur at any time, and cannot be distinguished from a bug.
        """
        try:
            yield
        except WRONG as error:
            raise SettingsError(
                f"The checkpoint of round {self.number} leads to an error "
                f"({type(error).__name__}: {error}): start a new run; if nobody has touched the "
                "folder, look for it in code of your own, or report it."
            ) from error


def restore(
    folder: Path, prepared: Prepared, origin: Origin, hosting: Hosting = SIMULATED
) -> Restored:
    """Return the run as of the newest usable checkpoint, with remarks on newer ones."""
    remarks: list[str] = []
    for found in Store(folder / CHECKPOINTS).found():
        if isinstance(found, str):
            remarks.append(found)
            continue
        try:
            return _fitting(folder, found, prepared, origin, remarks, hosting)
        except UnfitError as error:
            name = folder / CHECKPOINTS / f"round-{found.checkpoint.round}.json"
            remarks.append(f"'{name}' cannot be used: {error}")
    why = f" ({remarks[0]})" if remarks else ""
    begin = "run" if prepared.experiment.network.nodes is None else "federate"
    what = f"begin anew: flexcfl {begin} {shlex.quote(str(folder / EXPERIMENT))}"
    if prepared.own:
        same = " and ".join(prepared.own)
        what = f"begin anew with flexcfl.run, or give it the same {same} as before."
    raise SettingsError(f"There is no checkpoint in '{folder}' to go on with{why}: {what}")


def check_custom_parts(folder: Path, own: UserObjects) -> None:
    """Refuse to resume a run without its custom objects."""
    origin = _origin(folder)
    if origin is not None:
        origin.check_own(own.parts)


def custom_parts(folder: Path) -> tuple[str, ...]:
    """Return which parts of the run in a folder are custom objects."""
    origin = _origin(folder)
    return () if origin is None else origin.own


def _origin(folder: Path) -> Origin | None:
    """Return the origin of a run from its newest readable checkpoint."""
    for manifest in Store(folder / CHECKPOINTS).manifests():
        with suppress(UnfitError):  # raised again when the checkpoint is used
            if not isinstance(manifest, str):
                return _about(manifest.content, []).origin
    return None


def _about(content: Any, arrays: Sequence[NDArray[Any]]) -> CheckpointInfo:
    if not isinstance(content, dict) or content.keys() != {"about", "state", "world"}:
        raise UnfitError("it is not of a run")
    about: CheckpointInfo = rebuilt(CheckpointInfo, content["about"], arrays)
    names = {table.name for table in about.tables}
    if not (0 <= about.seconds < inf and names <= TABLES.keys()):
        raise UnfitError("it is not of a run")
    return about


def _fitting(
    folder: Path,
    found: FoundCheckpoint,
    prepared: Prepared,
    origin: Origin,
    remarks: list[str],
    hosting: Hosting,
) -> Restored:
    checkpoint = found.checkpoint
    content, arrays = checkpoint.content, checkpoint.arrays
    about = _about(content, arrays)
    _check_hosting(about, hosting)
    about.origin.check(origin)
    extents = {table.name: table.extent for table in about.tables}
    rows = reading.rows_at_checkpoint(folder, extents, checkpoint.round)
    changed = about.origin.changed_versions(origin)
    if changed:
        remarks = [*remarks, f"With {changed} the rest may differ from the run as it began."]
    if checkpoint.round == 0:
        return Restored(found, about, None, None, None, rows, tuple(remarks))
    check_arrays(found, prepared)
    memory = rebuilt(hosting.memory, content["world"], arrays)
    if memory.number != checkpoint.round:
        raise UnfitError(f"its world is of round {memory.number}")
    state = rebuilt(state_type(prepared.algorithm), content["state"], arrays)
    serving = checked_serving(prepared, state)
    past = FinishedRounds(checkpoint.round, state, serving.model_of)
    return Restored(found, about, past, serving, memory, rows, tuple(remarks))


def _check_hosting(about: CheckpointInfo, hosting: Hosting) -> None:
    """Refuse to resume in this process if a table of messages shows that clients are on nodes."""
    if hosting is SIMULATED and any(table.name == MESSAGES for table in about.tables):
        raise SettingsError(
            "The clients of this run are on nodes: go on where it was begun, with 'flexcfl resume' "
            "on the machine of 'flexcfl federate', or with flwr run and resume=true "
            "(docs/flower.md)."
        )


def check_arrays(found: FoundCheckpoint, prepared: Prepared) -> None:
    """Refuse arrays that no run can have.

    Vectors must have the size of this run's models, because compiled loops do not check bounds.
    Rows without columns take no space in a file, but looping over them can take forever.
    """
    parameters = prepared.engine.parameters
    for array in found.checkpoint.arrays:
        if array.ndim and len(array) and not array.size:
            raise UnfitError(f"it has {len(array)} rows of nothing")
        if array.dtype == np.float32 and array.shape[-1:] != (parameters,):
            raise UnfitError(f"it has vectors of shape {array.shape} where {parameters} are wanted")


def checked_serving(prepared: Prepared, state: Any) -> Serving:
    """Return the models of a state after checking that it fits this run's clients."""
    try:
        serving = prepared.algorithm.serving(state)
        models, model_of = serving.models, serving.model_of
        sizes = (models.ndim, model_of.shape) == (2, (prepared.federation.clients,))
        inside = model_of.min() >= NO_GROUP and model_of.max() < len(models)
    except WRONG as error:
        raise UnfitError(f"its state makes no sense ({type(error).__name__}: {error})") from None
    if not (sizes and inside):
        raise UnfitError("its state is not of these clients")
    return serving
