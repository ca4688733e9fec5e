"""Bytes of a round."""

import numpy as np

from flexcfl.metrics import traffic
from flexcfl.protocol import Evaluate, Evaluated, Local, Train, Trained


def test_all_orders_and_replies_of_a_round_are_added_up() -> None:
    two, models = np.arange(2), np.zeros((1, 10), np.float32)
    group = np.zeros(2, np.int64)
    train = Train(two, models, group, Local())
    updates, one = np.zeros((1, 10), np.float32), np.ones(1, int)
    trained = Trained(two[:1], updates, one, np.ones(1), group[:1])
    evaluate = Evaluate(two, models, group)
    evaluated = Evaluated(two, np.ones(2), np.ones(2, int), np.ones(2, int))
    down, up = traffic([(train, trained), (evaluate, evaluated)])
    assert down == 2 * 40 + 2 * 40
    assert up == (40 + 24) + 2 * 24


def test_silence_is_free() -> None:
    assert traffic([]) == (0, 0)
