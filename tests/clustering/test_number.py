"""The number of groups is recovered if it is known; without groups, agreement decides."""

from collections.abc import Callable

import numpy as np
import pytest

from flexcfl.clustering import gram, number_of_groups
from tests.clustering.constructed import (
    Constructed,
    linear_clients,
    noisy_vectors,
    permuted_digits,
)
from tests.pairwise import pairwise


def found(federation: Constructed, seed: int = 0, most_groups: int = 10) -> int:
    return number_of_groups(gram(federation.updates), most_groups, np.random.default_rng(seed))


# The number of clients, the kind of draw, and the largest number of groups.
DRAWN = [(80, 0, 8), (100, 1, 10), (100, 2, 10), (100, 3, 10)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("construct", "groups", "drawn"),
    pairwise([linear_clients, permuted_digits, noisy_vectors], [1, 3, 5, 8], DRAWN),
)
def test_many_federations(
    construct: Callable[[int, int, int], Constructed], groups: int, drawn: tuple[int, int, int]
) -> None:
    clients, seed, most_groups = drawn
    assert found(construct(groups, clients, seed), seed, most_groups) == groups


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 12])
def test_more_candidates_than_directions_do_not_blur_the_groups(groups: int) -> None:
    assert found(linear_clients(groups, 200, seed=1), seed=1, most_groups=20) == groups


@pytest.mark.parametrize("most_groups", [3, 8])
def test_clients_that_agree_in_nothing_are_as_many_groups_as_there_may_be(
    most_groups: int,
) -> None:
    everybody_its_own = noisy_vectors(60, 60, seed=0)
    assert found(everybody_its_own, most_groups=most_groups) == most_groups


@pytest.mark.parametrize("cosine", [0.1, 0.3, 0.9])
def test_one_direction_in_any_noise_is_one_group(cosine: float) -> None:
    assert found(noisy_vectors(1, 60, seed=0, cosine=cosine), most_groups=5) == 1


def test_disagreement_never_asks_for_more_groups_than_there_are_different_clients() -> None:
    one = np.random.default_rng(0).standard_normal(50).astype(np.float32)
    three_against_one = Constructed(np.stack([one, one, one, -one]), np.array([0, 0, 0, 1]))
    assert found(three_against_one, most_groups=4) == 2


def test_it_is_deterministic_and_bounded() -> None:
    federation = noisy_vectors(5, 40, seed=1)
    first, again = (found(federation, most_groups=3) for _ in range(2))
    assert first == again <= 3
    assert found(federation, most_groups=1) == 1


@pytest.mark.parametrize("clients", [1, 2])
def test_fewer_than_three_clients_are_one_group(clients: int) -> None:
    assert found(noisy_vectors(1, clients, seed=0)) == 1


def test_clients_that_are_all_the_same_are_one_group() -> None:
    alike = Constructed(np.ones((6, 4), np.float32), np.zeros(6, np.int64))
    silent = Constructed(np.zeros((6, 4), np.float32), np.zeros(6, np.int64))
    assert found(alike) == found(silent) == 1


def test_copies_of_three_updates_are_three_groups() -> None:
    truth = np.arange(15) % 3
    copies = np.random.default_rng(0).standard_normal((3, 50)).astype(np.float32)[truth]
    assert found(Constructed(copies, truth), most_groups=6) == 3


def test_one_odd_client_is_not_a_group() -> None:
    federation = noisy_vectors(1, 60, seed=2, cosine=0.6)
    federation.updates[7] = 20 * np.random.default_rng(0).standard_normal(2000)
    assert found(federation, most_groups=6) == 1
