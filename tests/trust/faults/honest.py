"""Honest clients for tests: they always answer, and what they hear is written down."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexcfl.protocol import (
    LOWEST_LOSS,
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    Evaluate,
    Evaluated,
    Ids,
    Keep,
    Kept,
    Local,
    Migrate,
    Order,
    Place,
    Placed,
    Purpose,
    Received,
    Settle,
    Train,
    Trained,
    Vectors,
)
from flexcfl.trust.faults import Attack, Behaviour, Faults, Roles

PARAMETERS, GROUPS, LOCAL = 6, 3, Local()
MODELS: Vectors = np.zeros((GROUPS, PARAMETERS), dtype=np.float32)


def ids(*clients: int) -> Ids:
    return np.array(clients, dtype=np.int64)


def updates(clients: Ids, number: int) -> Vectors:
    """Return what clients learn in a round: numbers that tell the client and the round."""
    places = np.arange(1, PARAMETERS + 1)
    return (clients[:, np.newaxis] + 1 + places / 10 + 100 * number).astype(np.float32)


def train(clients: Ids, purpose: Purpose = "training", choose: bool = False) -> Train:
    return Train(clients, MODELS, LOWEST_LOSS if choose else clients % GROUPS, LOCAL, purpose)


def orders(clients: Ids) -> dict[str, Order[Any]]:
    """Return an order of each kind but ``Evaluate``."""
    return {
        "train": train(clients),
        "train-choosing": train(clients, choose=True),
        "found": train(clients, "cold-start"),
        "follow": train(clients, "placement"),
        "place": Place(clients, MODELS[0], MODELS, LOCAL),
        "migrate": Migrate(clients, LOCAL, GROUPS),
        "keep": Keep(clients, MODELS[0], MODELS),
        "settle": Settle(clients),
        "choose": Choose(clients, MODELS),
        "check": CheckDrift(clients),
    }


@dataclass
class Honest:
    """An executor of one round; ``heard`` has the clients of every order."""

    number: int
    heard: list[list[int]] = field(default_factory=list)

    def __call__(self, order: Any) -> Any:
        clients = order.clients
        self.heard.append(clients.tolist())
        match order:
            case Train():
                chosen = clients % 2 if isinstance(order.model_of, str) else order.model_of
                learnt, loss = updates(clients, self.number), clients / 10 + self.number
                return Trained(clients, learnt, clients + 10 * self.number, loss, chosen)
            case Evaluate():
                return Evaluated(clients, clients / 10, clients, clients)
            case Place() | Migrate():
                return Placed(clients, clients % 2)
            case Choose():
                return Chosen(clients, clients % 2)
            case CheckDrift():
                return Checked(clients, clients % 2 == 0)
            case Keep() | Settle():
                return Kept(clients)
        raise AssertionError(f"nobody knows {order}")


def behaviour(
    faults: Faults | None = None, attack: Attack | None = None, clients: int = 40, seed: int = 5
) -> Behaviour:
    faults = faults or Faults()
    return Behaviour(faults, attack, Roles.drawn(faults, attack, clients, seed), seed)


def received(behaviour: Behaviour, order: Order[Any], number: int = 1) -> Received:
    """Return what reaches the server for the first order of a round."""
    reply: Any = behaviour.at(number, Honest(number))(order)
    assert isinstance(reply, Received)
    return reply
