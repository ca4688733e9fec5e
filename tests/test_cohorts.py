"""Who takes part in a round."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.cohorts import Policy, choose

POLICIES: tuple[Policy, ...] = get_args(Policy)


def cohort(policy: Policy, number: int, clients: int, size: int, seed: int = 0) -> list[int]:
    chosen = choose(policy, seed=seed, number=number, clients=clients, size=size)
    assert chosen.dtype == np.int64
    return [int(client) for client in chosen]


@given(
    st.sampled_from(POLICIES),
    st.integers(0, 2**32),
    st.integers(1, 50),
    st.integers(1, 60),
    st.data(),
)
def test_a_cohort_has_its_size_and_holds_each_client_once_in_ascending_order(
    policy: Policy, seed: int, number: int, clients: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, clients))
    chosen = cohort(policy, number, clients, size, seed)
    assert len(chosen) == size
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= set(range(clients))
    assert chosen == cohort(policy, number, clients, size, seed)


@given(st.integers(0, 100), st.integers(1, 40), st.data())
def test_round_robin_sees_everybody_once_before_anybody_twice(
    seed: int, clients: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, clients))
    tour = range(1, clients // size + 1)  # the rounds that end before the tour does
    seen = [c for n in tour for c in cohort("round-robin-then-uniform", n, clients, size, seed)]
    assert len(seen) == len(set(seen))
    last = cohort("round-robin-then-uniform", len(tour) + 1, clients, size, seed)
    if clients % size:
        assert set(seen) | set(last) == set(range(clients))
    else:
        assert set(seen) == set(range(clients))


def test_after_the_tour_both_policies_draw_the_same() -> None:
    rounds = range(6, 20)
    uniform = [cohort("uniform", number, 10, 2) for number in rounds]
    assert [cohort("round-robin-then-uniform", number, 10, 2) for number in rounds] == uniform


@pytest.mark.parametrize("policy", POLICIES)
def test_rounds_and_seeds_differ(policy: Policy) -> None:
    cohorts = {
        tuple(cohort(policy, number, 1000, 20, seed)) for number in range(1, 9) for seed in (0, 1)
    }
    assert len(cohorts) == 16


def test_uniform_is_uniform() -> None:
    counts = np.zeros(10)
    for number in range(1, 2001):
        counts[cohort("uniform", number, 10, 3)] += 1
    # Each client is drawn 600 times in the mean, with a standard deviation of about 20.5.
    assert np.abs(counts - 600).max() < 5 * 20.5


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cohort_may_be_the_whole_federation(policy: Policy) -> None:
    for number in (1, 2):
        assert cohort(policy, number, 7, 7) == list(range(7))
