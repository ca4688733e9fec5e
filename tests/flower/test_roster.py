"""Who hosts whom, and since when: nodes come and go, and what is said of clients stays true."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.flower.nodes import Roster
from flexcfl.protocol.cohorts import NEVER, Cohorts

CLIENTS = 6


def roster(planned: list[int] | None = None, cohort: int = 2) -> Roster:
    return Roster(0, np.array(planned or [0] * CLIENTS), cohort)


def divided(found: Roster, clients: list[int]) -> dict[int, list[int]]:
    asked = np.array(clients)
    return {node: asked[mine].tolist() for node, mine in found.divided(asked)}


def test_clients_are_asked_where_they_are() -> None:
    found = roster()
    found.join(2**63, np.array([0, 1]), 0)
    found.join(7, np.array([3, 4]), 0)
    assert divided(found, [4, 3, 2, 1]) == {2**63: [1], 7: [4, 3]}
    assert divided(found, [2, 5]) == {}


def test_of_two_nodes_with_one_client_the_later_has_it_as_long_as_it_is_there() -> None:
    found = roster()
    found.join(1, np.array([0, 1]), 0)
    found.join(2, np.array([1, 2]), 0)
    assert divided(found, [0, 1, 2]) == {1: [0], 2: [1, 2]}
    found.join(1, np.array([0, 1]), 3)  # it came back
    assert divided(found, [0, 1, 2]) == {1: [0, 1], 2: [2]}
    found.leave(1)
    assert divided(found, [0, 1, 2]) == {2: [1, 2]}
    found.leave(1)
    assert found.nodes == [2]


def test_a_node_may_come_back_with_other_clients() -> None:
    found = roster()
    found.join(1, np.array([0, 1]), 0)
    found.join(1, np.array([1, 2]), 2)
    assert divided(found, [0, 1, 2]) == {1: [1, 2]}
    assert found.arrival.tolist() == [0, 0, 2, NEVER, NEVER, NEVER]


def test_who_was_there_once_stays_and_who_is_new_arrives() -> None:
    found = roster(planned=[0, 0, 5, 5, 0, 0], cohort=1)
    found.join(1, np.array([0, 2]), 0)
    assert found.present(0).tolist() == [True] + [False] * 5
    found.leave(1)
    assert found.present(9).tolist() == [True, False, True, False, False, False]
    found.join(2, np.array([0, 3, 4]), 7)
    assert found.arrival.tolist() == [0, NEVER, 5, 7, 7, NEVER]


def test_what_was_known_before_a_crash_and_who_is_new_since() -> None:
    found = roster(cohort=1)
    found.join(1, np.array([0, 1]), 0)
    found.join(2, np.array([4]), 0)
    before = np.array([0, 3, 2, NEVER, NEVER, NEVER])
    found.recall(before, 5)
    assert found.arrival.tolist() == [0, 3, 2, NEVER, 6, NEVER]
    assert before.tolist() == [0, 3, 2, NEVER, NEVER, NEVER]
    assert found.present(5).tolist() == [True, True, True, False, False, False]


@given(
    order=st.permutations(range(CLIENTS)),
    parts=st.integers(1, CLIENTS),
    policy=st.sampled_from(["uniform", "round-robin-then-uniform"]),
)
def test_cohorts_do_not_depend_on_who_hosts_whom(order: list[int], parts: int, policy: str) -> None:
    planned = np.array([0, 0, 0, 2, 2, 4])
    found = Roster(3, planned, 2, policy)  # type: ignore[arg-type]
    for node, clients in enumerate(np.array_split(np.array(order), parts)):
        found.join(node, np.sort(clients), 0)
    simulated = Cohorts(3, planned, 2, policy)  # type: ignore[arg-type]
    for number in range(1, 8):
        np.testing.assert_array_equal(found.choose(number), simulated.choose(number))
        np.testing.assert_array_equal(found.present(number), simulated.present(number))
        assert found.toured(number) == simulated.toured(number)


@given(joining=st.integers(2, 5))
def test_who_joins_later_changes_no_cohort_before(joining: int) -> None:
    early, late = roster(), roster()
    for found in (early, late):
        found.join(1, np.arange(4), 0)
    late.join(2, np.array([4, 5]), joining)
    for number in range(1, joining):
        np.testing.assert_array_equal(early.choose(number), late.choose(number))
    chosen = np.concatenate([late.choose(number) for number in range(joining, joining + 30)])
    assert set(chosen.tolist()) == set(range(CLIENTS))
