"""Which clients attack and fail, and how often they are away, vanish and are late."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from flexcfl.errors import SettingsError
from flexcfl.protocol import Flags
from flexcfl.settings import validated
from flexcfl.trust.faults import ATTACKS, KINDS, Faults, Roles, SignFlip
from flexcfl.trust.faults.attacks import of_share
from flexcfl.trust.faults.failures import SOUND, Absence


def numbers(roles: Roles) -> dict[str, int]:
    return {kind: int((roles.kind_of == place).sum()) for place, kind in enumerate(KINDS)}


@given(st.floats(0, 1), st.integers(1, 2000))
def test_a_share_is_the_nearest_number_but_somebody(share: float, clients: int) -> None:
    number = of_share(share, clients)
    assert number <= clients
    assert (number == 0) == (share == 0)
    assert number == 1 or abs(number - share * clients) <= 0.5


def test_every_share_has_its_clients_and_nobody_two_roles() -> None:
    faults = Faults(nan=0.1, infinite=0.05, huge=0.2, misshapen=0.01, stale=0.15)
    roles = Roles.drawn(faults, SignFlip(share=0.3), 100, seed=0)
    assert roles.hostile.sum() == 30
    assert numbers(roles) == {"nan": 10, "infinite": 5, "huge": 20, "misshapen": 1, "stale": 15}
    assert (roles.kind_of[roles.hostile] == SOUND).all()


def test_it_is_the_seed_that_draws_them() -> None:
    one, same, other = (Roles.drawn(Faults(nan=0.5), None, 50, seed).kind_of for seed in (0, 0, 1))
    assert one.tolist() == same.tolist() != other.tolist()
    assert sorted(one) != one.tolist(), "not simply the first ones"


@given(st.floats(0, 0.5), st.floats(0, 0.5), st.sampled_from(["attack", *KINDS]))
def test_a_larger_share_only_adds(one: float, other: float, kind: str) -> None:
    def who(share: float) -> np.ndarray:
        attack = SignFlip(share=share if kind == "attack" else 0.1)
        faults = Faults() if kind == "attack" else Faults(**{kind: share})
        roles = Roles.drawn(faults, attack, 60, seed=3)
        return roles.hostile if kind == "attack" else roles.kind_of != SOUND

    less, more = who(min(one, other)), who(max(one, other))
    assert not (less & ~more).any()


def test_nobody_attacks_where_nothing_is_wrong() -> None:
    for attack in (None, SignFlip(share=0), SignFlip(clients=0)):
        roles = Roles.drawn(Faults(), attack, 10, seed=0)
        assert not roles.hostile.any()
        assert (roles.kind_of == SOUND).all()


@pytest.mark.parametrize("name", ATTACKS)
def test_attackers_are_a_fifth_or_as_many_as_one_says(name: str) -> None:
    for table, number in (
        ({}, 10),
        ({"share": 0.5}, 25),
        ({"clients": 3}, 3),
        ({"clients": 50}, 50),
    ):
        attack = validated(ATTACKS[name].attack, table, "[attack]")
        assert Roles.drawn(Faults(), attack, 50, seed=0).hostile.sum() == number


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"share": 1.5}, r"\[attack\] share must be less than or equal to 1, not 1.5\."),
        ({"share": -0.1}, r"\[attack\] share must be greater than or equal to 0, not -0.1\."),
        ({"clients": -1}, r"\[attack\] clients must be greater than or equal to 0, not -1\."),
        (
            {"share": 0.5, "clients": 3},
            r"\[attack\] share 0.5 and clients 3 both say how many attack: give only one of them\.",
        ),
        ({"strength": 3}, r"\[attack\] has no setting 'strength': .*\."),
    ],
)
def test_a_wrong_attack_is_one_sentence(name: str, table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=f"^{sentence}$"):
        validated(ATTACKS[name].attack, table, "[attack]")


@pytest.mark.parametrize("name", ["dropout", "midway", *KINDS])
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), "often"])
def test_a_probability_outside_its_range_is_one_sentence(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"^\[faults\] {name} must be .*, not .*\.$"):
        validated(Faults, {name: value}, "[faults]")


@pytest.mark.parametrize(
    "table", [{"slowness": -1}, {"slowness": float("nan")}, {"time_budget": 0}, {"time_budget": -2}]
)
def test_a_wrong_pace_is_one_sentence(table: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=rf"^\[faults\] {next(iter(table))} must be .*\.$"):
        validated(Faults, table, "[faults]")


@pytest.mark.parametrize(
    ("faults", "attack", "sentence"),
    [
        (
            Faults(),
            SignFlip(clients=11),
            r"\[attack\] clients is 11, more than the 10 that there are: lower it, or give a share "
            r"of them\.",
        ),
        (
            Faults(nan=0.6, stale=0.5),
            None,
            r"\[faults\] nan \(6\) and \[faults\] stale \(5\) are together more than the 10 "
            r"clients that there are: lower one\.",
        ),
        (
            Faults(huge=0.5),
            SignFlip(share=0.6),
            r"\[attack\] \(6\) and \[faults\] huge \(5\) are together more than the 10 clients "
            r"that there are: lower one\.",
        ),
    ],
)
def test_more_than_there_are_is_one_sentence(
    faults: Faults, attack: SignFlip | None, sentence: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{sentence}$"):
        Roles.drawn(faults, attack, 10, seed=0)


CLIENTS, ROUNDS = 1000, 30


def flags(faults: Faults, kind: str, seed: int = 0) -> Flags:
    absence = Absence(faults, CLIENTS, seed)
    return np.stack([getattr(absence, kind)(number) for number in range(ROUNDS)])


@pytest.mark.parametrize(("setting", "kind"), [("dropout", "away"), ("midway", "vanishing")])
@pytest.mark.parametrize("probability", [0.01, 0.3, 0.9])
def test_each_is_missing_as_often_as_the_setting_says(
    setting: str, kind: str, probability: float
) -> None:
    missing = flags(Faults(**{setting: probability}), kind)
    low, high = binom.interval(1 - 1e-6, missing.size, probability)
    assert low <= missing.sum() <= high
    low, high = binom.interval(1 - 1e-9, ROUNDS, probability)
    for each in missing.sum(axis=0):  # chance strikes everybody alike
        assert low <= each <= high


@pytest.mark.parametrize(("slowness", "budget"), [(1.0, 3.0), (0.5, 1.2), (2.0, 0.5)])
def test_late_are_those_beyond_the_budget_and_the_same_ones_more_often(
    slowness: float, budget: float
) -> None:
    late = flags(Faults(slowness=slowness, time_budget=budget), "late")
    expected = norm.sf(np.log(budget) / slowness)
    # Clients are independent of each other, the rounds of one client are not.
    assert abs(late.mean() - expected) < 5 * np.sqrt(expected * (1 - expected) / CLIENTS)
    spread, alike = late.mean(axis=0).var(), expected * (1 - expected) / ROUNDS
    assert spread > 3 * alike


def test_the_extremes_are_never_and_always() -> None:
    nothing = Absence(Faults(), CLIENTS, 0)
    assert nothing.away(1) is nothing.vanishing(1) is nothing.late(1) is None
    assert flags(Faults(dropout=1.0), "away").all()
    assert flags(Faults(midway=1.0), "vanishing").all()


def test_kinds_rounds_and_seeds_draw_of_their_own() -> None:
    faults = Faults(dropout=0.5, midway=0.5)
    away, vanishing = flags(faults, "away"), flags(faults, "vanishing")
    for one, other in (
        (away, vanishing),
        (away[0], away[1]),
        (away, flags(faults, "away", seed=1)),
    ):
        assert abs((one == other).mean() - 0.5) < 0.1
    assert np.array_equal(away, flags(Faults(dropout=0.5, nan=0.1), "away"))
