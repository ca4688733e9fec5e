"""The examples that a client visits, and how clients are stacked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.engine.schedule import draw_batches, step_blocks
from flexcfl.errors import TrainingError
from flexcfl.protocol import Local
from flexcfl.seeds import generator

SIZES = st.integers(1, 70)
BATCHES = st.integers(1, 30)


@given(size=SIZES, batch=BATCHES, epochs=st.integers(1, 4), seed=st.integers(0, 99))
def test_every_epoch_visits_each_example_once(
    size: int, batch: int, epochs: int, seed: int
) -> None:
    examples = np.arange(1000, 1000 + size)
    schedule = draw_batches(examples, Local(epochs=epochs, batch=batch), generator(seed, "test"))
    steps = -(-size // batch)
    assert len(schedule) == epochs * steps
    for epoch in range(epochs):
        part = slice(epoch * steps, (epoch + 1) * steps)
        pairs = zip(schedule.rows[part], schedule.counts[part], strict=True)
        visited = np.concatenate([rows[:count] for rows, count in pairs])
        np.testing.assert_array_equal(np.sort(visited), examples)
    last = schedule.counts * (np.arange(len(schedule)) >= len(schedule) - steps)
    np.testing.assert_allclose(schedule.closing, last / size, rtol=1e-6)


def test_every_epoch_has_an_order_of_its_own_and_every_client_a_key() -> None:
    one, other = (
        draw_batches(np.arange(40), Local(epochs=2, batch=40), generator(0, "test", client))
        for client in (0, 1)
    )
    orders = {tuple(rows.tolist()) for rows in (*one.rows, *other.rows)}
    assert len(orders) == 4
    assert one.key != other.key


def test_a_client_without_examples_cannot_train() -> None:
    with pytest.raises(TrainingError, match="without examples"):
        draw_batches(np.empty(0, np.int64), Local(), generator(0, "test"))


@given(size=SIZES, batch=BATCHES, steps=st.integers(1, 60))
def test_a_number_of_steps_takes_the_place_of_epochs(size: int, batch: int, steps: int) -> None:
    local = Local(epochs=1, steps=steps, batch=batch)
    schedule = draw_batches(np.arange(size), local, generator(0, "test"))
    assert len(schedule) == steps
    np.testing.assert_allclose(schedule.closing.sum(), 1, rtol=1e-5)


@given(sizes=st.lists(SIZES, min_size=1, max_size=12), batch=BATCHES, most=st.integers(1, 400))
def test_blocks_hold_every_step_of_every_client_and_nothing_else(
    sizes: list[int], batch: int, most: int
) -> None:
    local = Local(epochs=2, batch=batch)
    sizes = sorted(sizes, reverse=True)
    schedules = [draw_batches(np.arange(size), local, generator(0, "test", size)) for size in sizes]
    steps = [0] * len(sizes)
    for block in step_blocks(schedules, most):
        assert block.rows.size <= max(most, block.clients * block.rows.shape[2])
        for client in range(block.clients):
            assert block.start == steps[client]
            for step in range(len(block.rows)):
                own = schedules[client]
                count = own.counts[steps[client]]
                present = block.weights[step, client] > 0
                np.testing.assert_array_equal(
                    block.rows[step, client, present], own.rows[steps[client], :count]
                )
                np.testing.assert_allclose(block.weights[step, client, present], 1 / count)
                assert block.closing[step, client] == own.closing[steps[client]]
                steps[client] += 1
    assert steps == [len(schedule) for schedule in schedules]
