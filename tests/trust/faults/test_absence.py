"""How often clients are away, vanish and are late."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from flexcfl.protocol import Flags
from flexcfl.trust.faults import Faults
from flexcfl.trust.faults.absence import Absence

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
