"""Nodes with files of their own, small enough for many runs: who has which labels is known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import RecordDict

from flexcfl.flower.client import answer
from flexcfl.flower.messages import OrderHeading, order_record, read_reply
from flexcfl.protocol import Order

SHAPE, CLASSES, CLIENTS = (4,), 4, 8
OWN = f"""
[data]
name = "own"
[model]
name = "mclr"
[algorithm]
name = "flexcfl"
groups = 2
alpha = 4
[local]
epochs = 2
rate = 0.1
[network]
clients = {CLIENTS}
shape = {list(SHAPE)}
classes = {CLASSES}
nodes = 2
[run]
rounds = 4
cohort = {CLIENTS}
"""
RUN, SESSION = "0123456789abcdef", "a" * 16


class Trap:
    """What ends the process when it is unpickled."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('it was run')",))


def points(labels: tuple[int, ...], number: int, seed: int) -> dict[str, Any]:
    """Return the arrays of a client that has these labels, each near a corner of its own."""
    rng = np.random.default_rng(seed)
    y = np.resize(labels, number)
    x = np.eye(CLASSES)[y] * 2 + rng.normal(size=(number, CLASSES)) * 0.2
    return {"x_train": x[4:], "y_train": y[4:], "x_test": x[:4], "y_test": y[:4]}


def lay(folder: Path, clients: int = CLIENTS) -> Path:
    """Write the files of all clients: the first half has labels 0 and 1, the others 2 and 3."""
    folder.mkdir(parents=True, exist_ok=True)
    for client in range(clients):
        labels = (0, 1) if client < clients // 2 else (2, 3)
        np.savez(folder / f"{client}.npz", **points(labels, 24 + client, client))
    return folder


def owners(files: Path, memory: Path) -> dict[int, Mapping[str, Any]]:
    """Return the configurations of two nodes, each with clients of both kinds."""
    common = {"files": str(files), "memory": str(memory)}
    return {7: {**common, "clients": "0-1 4-5"}, 8: {**common, "clients": "2-3 6-7"}}


def heading(experiment: str = OWN, number: int = 1, **changes: Any) -> OrderHeading:
    values: dict[str, Any] = {"run": RUN, "session": SESSION, "round": number, **changes}
    return OrderHeading(experiment=experiment, **values)


def asked(
    order: Order[Any] | None, config: Mapping[str, Any], head: OrderHeading | None = None
) -> tuple[RecordDict, list[str]]:
    """Return what a node answers, and its remarks."""
    remarks: list[str] = []
    letter = order_record(head or heading(), order)
    return answer(letter, config, remarks.append), remarks


def columns(
    order: Order[Any], config: Mapping[str, Any], head: OrderHeading | None = None
) -> Mapping[str, Any]:
    """Return the columns of the reply of a node."""
    return read_reply(order, asked(order, config, head)[0]).columns
