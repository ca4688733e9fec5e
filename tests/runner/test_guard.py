"""What is not finite stops a run."""

import numpy as np
import pytest

from flexcfl.errors import TrainingError
from flexcfl.protocol import Evaluated, Trained
from flexcfl.runner import guard


def reply(loss: float = 1.0, update: float = 1.0) -> Trained:
    updates = np.ones((3, 4), np.float32)
    updates[1, 2] = update
    return Trained(np.array([5, 8, 9]), updates, np.ones(3, np.int64), np.array([1.0, loss, 1.0]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_round_client_and_remedy_are_named(value: float) -> None:
    with pytest.raises(
        TrainingError, match=r"loss of client 8 .* in round 4: .*local\.l2 or local\.prox"
    ):
        guard.check(reply(loss=value), 4)
    with pytest.raises(
        TrainingError, match=r"update of client 8 .* in round 4: .*local\.l2 or local\.prox"
    ):
        guard.check(reply(update=value), 4)


def test_what_is_finite_passes() -> None:
    guard.check(reply(), 1)
    guard.check(Evaluated(np.arange(1), np.array([np.inf]), np.ones(1, int), np.ones(1, int)), 1)
