"""Which clients take part in a round."""

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.protocol import Ids
from flexcfl.protocol.cohorts import Cohorts, Policy

POLICIES: tuple[Policy, ...] = get_args(Policy)
TOUR: Policy = "round-robin-then-uniform"


def cohort(policy: Policy, number: int, arrival: Ids | int, size: int, seed: int = 0) -> list[int]:
    """Choose; a number of clients means that all are there from the start."""
    arrivals = np.zeros(arrival, np.int64) if isinstance(arrival, int) else arrival
    chosen = Cohorts(seed, arrivals, size, policy).choose(number)
    assert chosen.dtype == np.int64
    return [int(client) for client in chosen]


@st.composite
def arrivals(draw: Any) -> tuple[Ids, int]:
    """Draw the rounds in which clients arrive, and a size that those there at first allow."""
    first = draw(st.integers(1, 20))
    later = draw(st.lists(st.sampled_from([2, 3, 5, 9, 10]), max_size=20))
    rounds = np.array(draw(st.permutations([0] * first + later)), dtype=np.int64)
    return rounds, draw(st.integers(1, first))


@given(st.sampled_from(POLICIES), st.integers(0, 2**32), st.integers(1, 50), arrivals())
def test_a_cohort_holds_clients_that_are_there_each_once_in_ascending_order(
    policy: Policy, seed: int, number: int, case: tuple[Ids, int]
) -> None:
    arrival, size = case
    chosen = cohort(policy, number, arrival, size, seed)
    assert len(chosen) == size
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= set(np.flatnonzero(arrival <= number).tolist())
    assert chosen == cohort(policy, number, arrival, size, seed)


@pytest.mark.slow
@given(st.integers(0, 100), arrivals())
def test_round_robin_sees_everybody_present_before_anybody_twice(
    seed: int, case: tuple[Ids, int]
) -> None:
    """The tour, round by round, which the closed form must match."""
    arrival, size = case
    seen: set[int] = set()
    for number in range(1, 25):
        there = set(np.flatnonzero(arrival <= number).tolist())
        chosen = set(cohort(TOUR, number, arrival, size, seed))
        new = there - seen
        if not new:
            assert sorted(chosen) == cohort("uniform", number, arrival, size, seed)
        assert len(chosen & new) == min(size, len(new))
        # Clients that came earlier go first.
        waiting = [arrival[client] for client in new - chosen]
        assert not waiting or max(arrival[list(chosen & new)]) <= min(waiting)
        seen |= chosen


@given(st.integers(0, 100), arrivals())
def test_everybody_is_visited_soon_after_the_last_arrival(seed: int, case: tuple[Ids, int]) -> None:
    arrival, size = case
    last = max(int(arrival.max()), 1) + -(-len(arrival) // size)
    visited = {c for number in range(1, last) for c in cohort(TOUR, number, arrival, size, seed)}
    assert visited == set(range(len(arrival)))


@given(st.integers(0, 100), arrivals())
def test_visited_are_all_whom_the_tour_chose_in_earlier_rounds(
    seed: int, case: tuple[Ids, int]
) -> None:
    arrival, size = case
    seen: set[int] = set()
    for number in range(1, 25):
        before = Cohorts(seed, arrival, size).visited(number)
        assert before.tolist() == sorted(seen)
        seen |= set(cohort(TOUR, number, arrival, size, seed))


def test_nobody_is_visited_before_the_first_round() -> None:
    for number in (0, 1):
        assert len(Cohorts(0, np.zeros(9, np.int64), 3).visited(number)) == 0


def test_without_arrivals_the_cohorts_are_those_that_earlier_runs_had() -> None:
    rounds = (1, 2, 4, 5)
    uniform = [[0, 1, 2], [1, 7, 9], [1, 3, 5], [2, 3, 7]]
    tour = [[1, 5, 7], [0, 2, 4], [2, 3, 5], [2, 3, 7]]
    assert [cohort("uniform", number, 10, 3, seed=3) for number in rounds] == uniform
    assert [cohort(TOUR, number, 10, 3, seed=3) for number in rounds] == tour


def test_a_newcomer_is_visited_in_the_round_of_its_arrival_when_the_tour_is_over() -> None:
    arrival = np.array([0, 0, 0, 0, 1000, 1000])
    assert cohort(TOUR, 1000, arrival, 2) == [4, 5]
    assert not {4, 5} & set(cohort(TOUR, 999, arrival, 2))


def test_after_the_tour_both_policies_draw_the_same() -> None:
    rounds = range(6, 20)
    uniform = [cohort("uniform", number, 10, 2) for number in rounds]
    assert [cohort(TOUR, number, 10, 2) for number in rounds] == uniform


@pytest.mark.parametrize("policy", POLICIES)
def test_rounds_and_seeds_differ(policy: Policy) -> None:
    cohorts = {
        tuple(cohort(policy, number, 1000, 20, seed)) for number in range(1, 9) for seed in (0, 1)
    }
    assert len(cohorts) == 16


def test_uniform_is_uniform_over_present_clients() -> None:
    counts = np.zeros(12)
    for number in range(1, 2001):
        counts[cohort("uniform", number, np.array([0] * 10 + [5000] * 2), 3)] += 1
    assert counts[10:].tolist() == [0, 0]
    # Each client is drawn 600 times in the mean, with a standard deviation of about 20.5.
    assert np.abs(counts[:10] - 600).max() < 5 * 20.5


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cohort_may_be_the_whole_federation(policy: Policy) -> None:
    for number in (1, 2):
        assert cohort(policy, number, 7, 7) == list(range(7))


def test_who_is_present() -> None:
    later = Cohorts(0, np.array([0, 3, 2]), 1)
    assert later.present(0).tolist() == later.present(1).tolist() == [True, False, False]
    assert later.present(2).tolist() == [True, False, True]
    assert later.present(3).all()
    first = Cohorts(0, np.array([0, 1]), 1)
    assert first.present(0).tolist() == [True, False]
    assert first.present(1).all()
    assert Cohorts(0, np.zeros(3, np.int64), 1).present(0).all()


@given(st.sampled_from(POLICIES), st.integers(0, 100), arrivals())
def test_what_was_asked_before_does_not_matter(
    policy: Policy, seed: int, case: tuple[Ids, int]
) -> None:
    asked = Cohorts(seed, *case, policy)
    forth = [asked.choose(number).tolist() for number in range(1, 14)]
    back = [asked.choose(number).tolist() for number in range(13, 0, -1)]
    fresh = [Cohorts(seed, *case, policy).choose(number).tolist() for number in range(1, 14)]
    assert forth == back[::-1] == fresh
