"""FedAvg, driven by hand."""

import numpy as np

from flexcfl.algorithms import FedAvg
from flexcfl.protocol import Local, Serving, Train, Trained


def test_a_conversation_by_hand() -> None:
    method = FedAvg(Local(rate=0.5))
    state = Serving(np.array([[1.0, 2.0]], np.float32), np.zeros(5, np.int64))

    talk = method.round(state, np.array([0, 2, 4]), np.ones(5, np.bool_), np.random.default_rng(0))
    order = next(talk)
    assert isinstance(order, Train)
    assert order.clients.tolist() == [0, 2, 4]
    assert order.models is state.models
    assert np.array_equal(order.model_of, [0, 0, 0])
    assert order.purpose == "training"
    assert order.local == method.local

    # Client 2 stays silent; 0 has three examples and 4 has one.
    updates = np.array([[1.0, 0.0], [5.0, 4.0]], np.float32)
    reply = Trained(np.array([0, 4]), updates, np.array([3, 1]), np.zeros(2), np.zeros(2, np.int64))
    try:
        talk.send(reply)
    except StopIteration as stop:
        after = stop.value
    else:
        raise AssertionError("a round is one order")
    assert after.models.tolist() == [[1.0 + 2.0, 2.0 + 1.0]]
    assert after.model_of.tolist() == [0] * 5


def test_it_starts_with_one_random_model_for_all() -> None:
    def initial(rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=4).astype(np.float32)

    talk = FedAvg(Local()).start(initial, np.ones(3, np.bool_), np.random.default_rng(7))
    try:
        next(talk)
    except StopIteration as stop:
        state = stop.value
    else:
        raise AssertionError("nobody need be asked")
    assert np.array_equal(state.models, initial(np.random.default_rng(7))[np.newaxis])
    assert FedAvg(Local()).serving(state).model_of.tolist() == [0, 0, 0]
