"""Clients that appear later."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.errors import SettingsError
from flexcfl.experiment.arrivals import Arrival, Arrivals, check_rounds, checked, drawn, numbers


def asked(*pairs: tuple[int, float]) -> Arrivals:
    return checked([{"round": number, "share": share} for number, share in pairs])


def test_a_share_of_all_clients_is_held_back_until_its_round() -> None:
    arrival = drawn(asked((10, 0.2), (30, 0.05)), clients=100, seed=0)
    assert arrival.dtype == np.int64
    found = dict(zip(*np.unique(arrival, return_counts=True), strict=True))
    assert found == {0: 75, 10: 20, 30: 5}


def test_who_comes_later_is_drawn_from_the_seed() -> None:
    one, same, other = (drawn(asked((5, 0.5)), 50, seed) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()
    assert one.tolist() != sorted(one.tolist())


def test_without_arrivals_everybody_is_there_from_the_start() -> None:
    assert checked([]) == checked(()) == ()
    assert drawn((), 4, seed=0).tolist() == [0, 0, 0, 0]


@given(st.lists(st.floats(0.01, 0.3), max_size=5), st.integers(1, 500))
def test_numbers_are_as_near_to_the_shares_as_whole_numbers_can_be(
    shares: list[float], clients: int
) -> None:
    arrivals = tuple(Arrival(number, share) for number, share in enumerate(shares, start=2))
    if sum(shares) >= 1:
        return
    there, *brought = numbers(arrivals, clients)
    assert there + sum(brought) == clients
    assert there >= 0
    assert all(abs(n - share * clients) <= 1 for n, share in zip(brought, shares, strict=True))
    # So a share that is worth one client brings one.
    assert all(n >= 1 for n, share in zip(brought, shares, strict=True) if share * clients >= 1)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (5, "[data] arrivals must be a list such as [{round = 100, share = 0.2}], not 5."),
        ({"round": 5, "share": 0.2}, "[data] arrivals must be a list such as"),
        ("[{round: 5}]", "[data] arrivals must be a list such as"),
        ([5], "[data] arrivals must be tables as in [{round = 100, share = 0.2}], not 5."),
        ([{"round": 5}], "[data] arrivals[0] needs the setting 'share', which has no default."),
        (
            [{"round": 5, "share": 0.1}, {"round": 6, "shar": 0.1}],
            "[data] arrivals[1] has no setting 'shar': did you mean 'share'?",
        ),
        (
            [{"round": 1, "share": 0.1}],
            "[data] arrivals[0] round must be greater than or equal to 2, not 1.",
        ),
        ([{"round": 2.5, "share": 0.1}], "[data] arrivals[0] round must be a whole number"),
        ([{"round": True, "share": 0.1}], "[data] arrivals[0] round must be"),
        ([{"round": 2, "share": 0}], "[data] arrivals[0] share must be greater than 0, not 0."),
        ([{"round": 2, "share": 1}], "[data] arrivals[0] share must be less than 1, not 1."),
        ([{"round": 2, "share": float("nan")}], "[data] arrivals[0] share must be"),
        (
            [{"round": 9, "share": 0.1}, {"round": 4, "share": 0.1}],
            "[data] arrivals are in the rounds 9, 4: put them in order, each round once.",
        ),
        (
            [{"round": 9, "share": 0.1}, {"round": 9, "share": 0.1}],
            "[data] arrivals are in the rounds 9, 9: put them in order, each round once.",
        ),
        (
            [{"round": 8, "share": 0.1}, {"round": 9, "share": 0.2}, {"round": 10, "share": 0.7}],
            "[data] arrivals hold back 1 of all clients, and somebody must be there from the start",
        ),
    ],
)
def test_a_mistake_is_one_sentence(value: Any, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        checked(value)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_nobody_can_arrive_after_the_end() -> None:
    check_rounds((), 1)
    check_rounds(asked((2, 0.1), (9, 0.1)), 9)
    with pytest.raises(
        SettingsError, match=r"appear in round 9, and the run ends after 8: .*--rou"
    ):
        check_rounds(asked((2, 0.1), (9, 0.1)), 8)


def test_a_share_that_is_nobody_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"share of 0.01 of 10 clients, .*round 4, is nobody"):
        drawn(asked((4, 0.01)), clients=10, seed=0)
