"""What a finished run leaves beside its rounds: who is in which group, and the models."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from safetensors.numpy import save

from flexcfl.protocol import Serving, Vector
from flexcfl.runner import tables
from flexcfl.runner.prepare import Prepared

__all__ = ["CLIENTS", "FOUNDERS", "MODELS", "files"]

CLIENTS, FOUNDERS, MODELS = "clients.csv", "founders.csv", "models"


def files(
    prepared: Prepared, serving: Serving, summary: Mapping[str, Any]
) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of files, one at a time because models may be large."""
    structure, names = prepared.federation.structure, prepared.federation.names
    arrival = prepared.cohorts.arrival
    yield CLIENTS, tables.clients(serving.model_of, arrival, structure, names).encode()
    if serving.clustering is not None:
        yield FOUNDERS, tables.founders(serving.clustering).encode()
    about = {key: summary[key] for key in ("algorithm", "dataset", "model", "seed", "rounds")}
    for group, vector in enumerate(serving.models):
        name = f"{MODELS}/group-{group}.safetensors"
        yield name, _safetensors(prepared, vector, {**about, "group": group})
    if serving.auxiliary is not None:
        name = f"{MODELS}/auxiliary.safetensors"
        yield name, _safetensors(prepared, serving.auxiliary, {**about, "group": None})


def _safetensors(prepared: Prepared, vector: Vector, about: Mapping[str, Any]) -> bytes:
    # One entry, because safetensors writes several in no fixed order.
    metadata = {"flexcfl": json.dumps(about)}
    # safetensors takes the memory as it lies, whatever the strides say.
    named = prepared.engine.unflatten(vector).items()
    return save({name: np.asarray(value, order="C") for name, value in named}, metadata)
