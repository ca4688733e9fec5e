"""What every shift of the registry promises, whatever it does."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl.shifts
from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.shifts import SHIFTS, Holdings, Shift, ShiftEntry, Timeline
from flexcfl.testing import checks
from flexcfl.testing.shifts import everybody, of_labels, often
from tests.shifts.worlds import lists, moment

PAGE = Path(__file__).parents[2] / "docs" / "shifts.md"
PAIRING = {"swap-all", "swap-part", "gradual", "recurring"}
NAMES = ["swap-all", "swap-part", "incremental", "label-permutation", "rotation"]
NAMES += ["gradual", "recurring"]


@pytest.fixture(params=list(SHIFTS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def entry(name: str) -> ShiftEntry:
    return SHIFTS[name]


def options(entry: ShiftEntry) -> list[Any]:
    shift: Any = entry.shift
    return list(fields(shift))


def test_it_keeps_what_every_shift_promises(name: str) -> None:
    for check in checks("shift", name):
        check()


def test_these_are_the_shifts() -> None:
    assert list(SHIFTS) == NAMES


def test_it_is_summed_up_in_a_line_and_exported(entry: ShiftEntry) -> None:
    assert 10 < len(entry.summary) < 80
    assert not entry.summary.endswith(".")
    assert entry.shift.__name__ in flexcfl.shifts.__all__


def test_every_option_has_a_default_and_is_explained(name: str, entry: ShiftEntry) -> None:
    entry.shift()
    page = PAGE.read_text("utf-8")
    assert f"`{name}`" in page
    for option in options(entry):
        assert f"``{option.name}``" in (entry.shift.__doc__ or "")
        assert f"`{option.name}`" in page


def test_the_probability_of_the_paper_is_the_default(entry: ShiftEntry) -> None:
    given = [option.default for option in options(entry) if option.name == "probability"]
    assert given in ([], [0.05])


def test_an_unknown_setting_is_one_sentence(entry: ShiftEntry) -> None:
    with pytest.raises(SettingsError, match=r"^\[shift\] has no setting 'sped': .*[.?]$"):
        validated(entry.shift, {"sped": 1}, "[shift]")


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"incremental"}))
@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), float("inf"), "often", True])
def test_a_probability_outside_of_0_to_1_is_one_sentence(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=r"^\[shift\] probability must [^\n]*\.$"):
        validated(SHIFTS[name].shift, {"probability": value}, "[shift]")


def test_exchanging_needs_two_clients(name: str, entry: ShiftEntry) -> None:
    shift, alone = entry.shift(), of_labels([[0, 1]], [[2]])
    if name in PAIRING:
        with pytest.raises(SettingsError, match=r"^[^\n]*'hand-made' has only one: [^\n]*\.$"):
            shift.check(alone)
    else:
        shift.check(alone)
        view = Timeline(alone, {name: often(entry)}, 0, everybody(alone)).at(200)
        assert view.train.sizes.tolist() == [2]
    shift.check(of_labels([[0], [1]]))


def test_data_that_are_no_images_are_fine_unless_they_are_turned(
    name: str, entry: ShiftEntry
) -> None:
    flat = np.zeros((6, 5), dtype=np.float32)
    halves = (IndexLists.of([[0, 1], [2, 3]]), IndexLists.of([[4], [5]]))
    federation = Federation("flat", flat, np.arange(6) % 3, *halves, 4)
    if name == "rotation":
        with pytest.raises(SettingsError, match=r"'flat' are of shape \(5,\): [^\n]*\.$"):
            entry.shift().check(federation)
    else:
        entry.shift().check(federation)


def test_it_depends_on_seed_and_round_alone(name: str, entry: ShiftEntry) -> None:
    federation = of_labels([[c, c, (c + 1) % 10] for c in range(10)], [[c] for c in range(10)])

    def story(seed: int) -> list[Any]:
        line = Timeline(federation, {name: often(entry)}, seed, everybody(federation))
        seen = [line.at(number) for number in range(15)]
        return [(lists(view.train), lists(view.test), view.shifted.tolist()) for view in seen]

    assert story(0) == story(0)
    assert story(0) != story(1)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"incremental"}))
def test_probability_0_changes_nothing(name: str) -> None:
    federation, shift = of_labels([[c] for c in range(10)]), SHIFTS[name].shift
    never: Shift = validated(shift, {"probability": 0}, "[shift]")
    holdings = Holdings.of(federation)
    assert never.apply(holdings, moment(federation)) is holdings
