"""The server's memory does not grow with rounds."""

import gc
import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message

from flexcfl.flower.messages import NodeInfo, node_info_record, read_order, reply_record
from flexcfl.protocol import (
    CheckDrift,
    Checked,
    Evaluate,
    Evaluated,
    Keep,
    Kept,
    Migrate,
    Place,
    Placed,
    Train,
    Trained,
)
from tests.flower.inprocess import InProcessGrid, served

CLIENTS, FEATURES, CLASSES = 12, 600, 10
MODEL = (FEATURES + 1) * CLASSES * 4  # bytes, of which one more in every round would be 4 MB
STARTED, SETTLED, ROUNDS = 10, 20, 200


def answer(order: Any) -> Any:
    """Answer without data, so that all memory is the server's."""
    clients = order.clients
    match order:
        case Train(model_of=np.ndarray() as model_of):
            rng = np.random.default_rng(clients)
            updates = rng.normal(size=(len(clients), MODEL // 4)).astype(np.float32)
            return Trained(clients, updates, clients + 1, clients / 10, model_of)
        case Place() | Migrate():
            return Placed(clients, clients % 2)
        case CheckDrift():
            return Checked(clients, clients % 5 == 0)
        case Keep():
            return Kept(clients)
        case Evaluate():
            return Evaluated(clients, clients / 10, clients, clients * 2)
    raise AssertionError(order)


def node(message: Message, context: Context) -> Message:
    _, order = read_order(message.content)
    if order is None:
        mine = np.arange(context.node_id, CLIENTS, 2)
        content = node_info_record(NodeInfo(mine, CLIENTS, (FEATURES,), CLASSES))
    else:
        content = reply_record(answer(order), "float32")
    return Message(content, reply_to=message)


@dataclass(eq=False)
class Watched(InProcessGrid):
    """A grid that looks at the memory of the process."""

    sizes: dict[int, int] = field(default_factory=dict)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Look once in some rounds, before anything is sent in them."""
        messages = list(messages)
        number = int(messages[0].metadata.group_id)
        if number == STARTED:
            tracemalloc.start()
        if number in (SETTLED, ROUNDS) and number not in self.sizes:
            gc.collect()
            self.sizes[number] = tracemalloc.get_traced_memory()[0]
        return super().push_messages(messages)


@pytest.mark.slow
def test_memory_of_two_hundred_rounds(tmp_path: Path) -> None:
    """But for the lines of its tables, which are some in every round."""
    grid = Watched({0: {}, 1: {}}, node, listening=False)
    settings = {"algorithm.name": "flexcfl", "data.features": FEATURES, "data.clients": CLIENTS}
    rounds = {"run.rounds": ROUNDS, "run.evaluate_every": ROUNDS, "run.cohort": 4}
    try:
        run = served(grid, {**settings, **rounds}, tmp_path / "run", nodes=2)
    finally:
        tracemalloc.stop()
    assert run.rounds["trained"].tolist() == [4] * ROUNDS
    grown = grid.sizes[ROUNDS] - grid.sizes[SETTLED]
    lines = sum(len(getattr(run, each)["round"]) for each in ("rounds", "groups", "messages"))
    assert grown < MODEL + 500 * lines, f"{grown:,} bytes, {lines} lines"
    assert not grid.waiting
