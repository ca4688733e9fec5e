"""The ledger: model transfers as the paper counts them, and bytes."""

import numpy as np
import pytest

from flexcfl.protocol import (
    FLOAT32_BYTES,
    LOWEST_LOSS,
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    Evaluate,
    Evaluated,
    Exchange,
    Ids,
    Keep,
    Kept,
    Local,
    Migrate,
    Place,
    Placed,
    Settle,
    Train,
    Trained,
)
from flexcfl.record.metrics import Cost, Ledger

SIZE, GROUPS = 10, 3
MODELS = np.zeros((GROUPS, SIZE), np.float32)
MODEL = SIZE * FLOAT32_BYTES


def clients(number: int) -> Ids:
    return np.arange(number)


def trained(number: int) -> Trained:
    ids = clients(number)
    return Trained(ids, np.zeros((number, SIZE), np.float32), ids + 1, np.zeros(number), ids * 0)


def placed(number: int) -> Placed:
    return Placed(clients(number), clients(number) * 0)


def evaluated(number: int) -> Evaluated:
    ids = clients(number)
    return Evaluated(ids, np.zeros(number), ids, ids)


# Of four clients asked three answer.
ASKED, HEARD = clients(4), 3
EXCHANGES: dict[str, Exchange] = {
    "train": (Train(ASKED, MODELS, ASKED * 0, Local()), trained(HEARD)),
    "cold start": (Train(ASKED, MODELS, ASKED * 0, Local(), "cold-start"), trained(HEARD)),
    "placement": (Train(ASKED, MODELS, ASKED * 0, Local(), "placement"), trained(HEARD)),
    "choice": (Train(ASKED, MODELS, LOWEST_LOSS, Local()), trained(HEARD)),
    "place": (Place(ASKED, MODELS[0], MODELS, Local()), placed(HEARD)),
    "keep": (Keep(ASKED, MODELS[0], MODELS), Kept(clients(HEARD))),
    "migrate": (Migrate(ASKED, Local(), 2), placed(HEARD)),
    "choose": (Choose(ASKED, MODELS), Chosen(clients(HEARD), clients(HEARD))),
    "settle": (Settle(ASKED), Kept(clients(HEARD))),
    "check": (CheckDrift(ASKED), Checked(clients(HEARD), clients(HEARD) > 1)),
    "evaluate": (Evaluate(ASKED, MODELS, ASKED * 0), evaluated(HEARD)),
}
TRANSFERS = {
    "train": {"training": 4 + 3},
    "cold start": {"cold-start": 4 + 3},
    "placement": {"assignment": 4 + 3},
    "choice": {"training": 4 + 3, "assignment": 4 * 2},
    "place": {"directions": 4 * 3},
    "keep": {"directions": 4 * 3},
    "migrate": {},
    "choose": {"assignment": 4 * 3},
    "settle": {},
    "check": {},
    "evaluate": {"query": 4},
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_transfers_follow_the_papers_rules(name: str) -> None:
    costs = Ledger.of(EXCHANGES[name]).costs
    counted = {purpose: cost.transfers for purpose, cost in costs.items() if cost.transfers}
    assert counted == TRANSFERS[name]


def test_a_newcomers_origin_goes_with_the_cold_start() -> None:
    costs = Ledger.of(EXCHANGES["place"]).costs
    assert costs["cold-start"] == Cost(0, 4 * MODEL, 0)
    assert costs["directions"].down_bytes == 4 * GROUPS * MODEL


def test_ledgers_add_up_by_purpose_and_evaluation_is_outside_the_total() -> None:
    both = Ledger.of(EXCHANGES["train"]) + Ledger.of(EXCHANGES["evaluate"], measuring=True)
    twice = both + Ledger.of(EXCHANGES["train"]) + Ledger.between_groups(5)
    assert twice.costs["training"] == Cost(14, 2 * 4 * MODEL, 2 * 3 * (MODEL + 24))
    assert twice.costs["evaluation"] == Cost(0, 4 * MODEL, 3 * 24)
    assert twice.total == Cost(14 + 5, 2 * 4 * MODEL, 2 * 3 * (MODEL + 24))
    assert both.costs["training"].transfers == 7, "adding must leave what is added alone"


def test_nothing_said_nothing_spent() -> None:
    assert Ledger().total == Cost() == Ledger.between_groups(0).total
