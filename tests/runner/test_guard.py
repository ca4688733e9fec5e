"""What is not finite stops a run."""

import numpy as np
import pytest

from flexcfl.errors import TrainingError
from flexcfl.protocol import Evaluated, Placed, Trained
from flexcfl.runner import guard

CLIENTS = np.array([5, 8, 9])
ZEROS = np.zeros(3, np.int64)


def trained(loss: float = 1.0, update: float = 1.0) -> Trained:
    updates = np.ones((3, 4), np.float32)
    updates[1, 2] = update
    return Trained(CLIENTS, updates, ZEROS + 1, np.array([1.0, loss, 1.0]), ZEROS)


def placed(cosine: float = 0.5) -> Placed:
    return Placed(CLIENTS, ZEROS, np.array([0.5, cosine, -1.0]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("number", "when"), [(4, "in round 4"), (0, "at the start, when groups are founded")]
)
def test_round_client_and_remedy_are_named(value: float, number: int, when: str) -> None:
    for what, reply in (
        ("loss", trained(loss=value)),
        ("update", trained(update=value)),
        ("cosine", placed(cosine=value)),
    ):
        sentence = rf"{what} of client 8 .* {when}: .*local\.l2 or local\.prox"
        with pytest.raises(TrainingError, match=sentence):
            guard.check(reply, number)


def test_what_is_finite_passes() -> None:
    guard.check(trained(), 1)
    guard.check(placed(), 1)
    guard.check(Evaluated(np.arange(1), np.array([np.inf]), np.ones(1, int), np.ones(1, int)), 1)
