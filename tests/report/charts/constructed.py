"""Records of runs that never were."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexcfl.protocol import NO_GROUP
from flexcfl.record.record import Record

NONE = float("nan")
GROWING = {"groups", "membership", "shifts"}


def table(**columns: Sequence[Any]) -> dict[str, Any]:
    return {name: np.array(column) for name, column in columns.items()}


def record(
    accuracy: Sequence[float] = (0.5, 0.7, 0.6),
    method: str = "flexcfl",
    seed: int = 0,
    clients: int = 4,
    **more: Any,
) -> Record:
    """Return the record of a run with a round for each accuracy."""
    rounds = np.arange(1, len(accuracy) + 1)
    figures: Mapping[str, Any] = {
        "round": rounds,
        "accuracy": np.array(accuracy, dtype=float),
        "loss": 1 / rounds,
        "discrepancy": 0.5 / rounds,
        **{name: np.full(len(rounds), 500_000) for name in ("down_bytes", "up_bytes")},
        **{name: np.zeros(len(rounds), np.int64) for name in ("shifted", "detected", "migrated")},
        **more.pop("figures", {}),
    }
    tables = {f"{name}.csv": more.pop(name) for name in GROWING & more.keys()}
    return Record(
        settings={"run": {"seed": seed, "rounds": more.pop("total", 10)}},
        tables={"rounds.csv": figures, **tables},
        group_of=np.full(clients, NO_GROUP),
        label=method,
        **more,
    )


def members(*rows: tuple[int, int, int]) -> dict[str, Any]:
    """Return the table of group changes."""
    number, client, group = zip(*rows, strict=True)
    return table(round=number, client=client, group=group)
