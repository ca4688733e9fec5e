"""The files of a finished run next to its rounds: clients' groups, models, and newcomer state.

``newcomer`` is a checkpoint of the algorithm's state for a single client that arrives after the
run. Its models are those of the groups, which are not written twice.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from flexcfl.protocol import Algorithm, Serving, Vector, Welcoming
from flexcfl.record import checkpoints
from flexcfl.record import csv_tables as tables
from flexcfl.record.checkpoints import Checkpoint, flattened
from flexcfl.record.folder import CLIENTS, FOUNDERS, MODELS, NEWCOMER
from flexcfl.record.record import founders_of
from flexcfl.record.summary import Summary
from flexcfl.runner.prepare import Prepared

if TYPE_CHECKING:
    from flexcfl.engine import Engine

AUXILIARY = "auxiliary.safetensors"


def artifact_files(
    prepared: Prepared, serving: Serving, newcomer: Any, summary: Summary
) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files, one at a time because models may be large."""
    structure, names = prepared.federation.structure, prepared.federation.names
    arrival = prepared.cohorts.arrival
    yield CLIENTS, tables.clients_to_csv(serving.model_of, arrival, structure, names).encode()
    if serving.clustering is not None:
        yield FOUNDERS, tables.columns_to_csv(founders_of(serving.clustering)).encode()
    for name, content in model_files(prepared.engine, serving.models, serving.auxiliary, summary):
        yield f"{MODELS}/{name}", content
    for name, content in checkpoints.checkpoint_files(
        _checkpoint(serving, newcomer, summary["rounds"])
    ):
        yield f"{NEWCOMER}/{name}", content


def newcomer_state(algorithm: Algorithm[Any], state: Any) -> Any:
    """Return the state for a single newcomer, or None if the algorithm cannot place newcomers."""
    return algorithm.newcomer(state) if isinstance(algorithm, Welcoming) else None


def model_file_name(number: int) -> str:
    """Return the file name of a group's model."""
    return f"group-{number}.safetensors"


def model_files(
    engine: "Engine",
    vectors: Iterable[Vector],
    auxiliary: Vector | None,
    about: Mapping[str, Any],
) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the model files, with metadata taken from ``about``."""
    known = {key: about[key] for key in ("algorithm", "dataset", "model", "seed", "rounds")}
    for number, vector in enumerate(vectors):
        yield model_file_name(number), _safetensors(engine, vector, {**known, "group": number})
    if auxiliary is not None:
        yield AUXILIARY, _safetensors(engine, auxiliary, {**known, "group": None})


def _safetensors(engine: "Engine", vector: Vector, about: Mapping[str, Any]) -> bytes:
    # A single entry, because safetensors writes several entries in no fixed order.
    metadata = {"flexcfl": json.dumps(about)}
    # safetensors copies the raw memory and ignores the strides.
    named = engine.unflatten(vector).items()
    return save({name: np.asarray(value, order="C") for name, value in named}, metadata)


def _checkpoint(serving: Serving, state: Any, rounds: int) -> Checkpoint:
    """Return the newcomer's checkpoint; ``models`` is the index of the groups' models in it."""
    arrays: list[NDArray[Any]] = []
    plain = flattened(state, arrays)
    place = next((n for n, each in enumerate(arrays) if each is serving.models), None)
    if place is not None:
        arrays[place] = serving.models[:0]
    content = {"state": plain, "models": place, "waiting": list(serving.waiting)}
    return Checkpoint(rounds, content, arrays)
