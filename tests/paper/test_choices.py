"""Choices: each changes what it concerns, and nothing that it does not."""

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.paper.catalogue import METHODS, ROWS, SHIFTS
from flexcfl.paper.cells import CHOICES, Cell, TablePart, chosen
from flexcfl.paper.targets import TARGETS, Request
from flexcfl.shifts.detection import DETECTORS

VALUES = [(name, value) for name, choice in CHOICES.items() for value in choice.values]
OTHERS = [(name, value) for name, value in VALUES if value != CHOICES[name].default]
EVERYWHERE = [
    TablePart(ROWS["synthetic-mclr"], method, shift)
    for method in METHODS.values()
    for shift in ("none", *SHIFTS)
]


def experiment(part: TablePart) -> Experiment:
    return Cell(part).experiment


@pytest.mark.parametrize(("name", "value"), VALUES)
def test_every_value_gives_an_experiment_wherever_it_applies(name: str, value: str) -> None:
    for part in EVERYWHERE:
        other = part.choosing(((name, value),))
        assert other.chosen in ((), ((name, value),))
        assert experiment(other).algorithm.name == part.method.algorithm


@pytest.mark.parametrize(("name", "value"), OTHERS)
def test_a_choice_changes_a_cell_exactly_if_it_changes_its_experiment(
    name: str, value: str
) -> None:
    changed = 0
    for part in EVERYWHERE:
        other = part.choosing(((name, value),))
        assert (other == part) == (experiment(other) == experiment(part))
        assert (other == part) == (Cell(other).folder == Cell(part).folder)
        changed += other != part
    assert changed


@pytest.mark.parametrize("name", CHOICES)
def test_defaults_say_nothing(name: str) -> None:
    choice = CHOICES[name]
    assert choice.values[choice.default] == {}
    assert all(choice.values[value] for value in list(choice.values)[1:])
    assert chosen({name: choice.default}) == ()


def concerned(name: str, shift: str) -> set[str]:
    wanted = ((name, list(CHOICES[name].values)[1]),)
    row = ROWS["synthetic-mclr"]
    return {
        key for key, each in METHODS.items() if TablePart(row, each, shift).choosing(wanted).chosen
    }


FLEX = {"fedgroup", "flexcfl", "flexcfl-rcc", "flexcfl-rac", "flexcfl-eta0.1", "flexcfl-eta5"}


@pytest.mark.parametrize(
    ("name", "static", "moving"),
    [
        ("pretraining", FLEX, FLEX),
        ("first-model", FLEX, FLEX),
        ("sharing", {"flexcfl-eta0.1", "flexcfl-eta5"}, {"flexcfl-eta0.1", "flexcfl-eta5"}),
        ("averaging", *[{"ifca", "ifca-mig", "fesem", "fesem-mig"}] * 2),
        ("drift", set(), (FLEX - {"fedgroup"}) | {"ifca-mig", "fesem-mig"}),
        ("cohorts", {"fedavg", "fedprox"}, {"fedavg", "fedprox"}),
        ("l2", METHODS.keys(), METHODS.keys()),
    ],
)
def test_whom_a_choice_concerns(name: str, static: set[str], moving: set[str]) -> None:
    assert concerned(name, "none") == static
    assert concerned(name, "swap-all") == concerned(name, "incremental") == moving


def test_a_detector_that_nobody_asks_is_no_difference() -> None:
    assert {key for key in METHODS if ALGORITHMS[METHODS[key].algorithm].migrates} == concerned(
        "drift", "swap-part"
    )
    assert set(CHOICES["drift"].values) <= DETECTORS.keys()
    (default,) = {experiment(part).drift.name for part in EVERYWHERE}
    assert default == CHOICES["drift"].default


def test_choices_come_in_one_order_whatever_the_order_given() -> None:
    given = {"l2": "code", "sharing": "additive", "drift": "label-share"}
    expected = (("sharing", "additive"), ("l2", "code"))
    assert chosen(given) == chosen(dict(reversed(given.items()))) == expected


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"shering": "convex"}, "There is no choice 'shering': did you mean 'sharing'?"),
        ({"sharing": "aditive"}, "no sharing to choose 'aditive': did you mean 'additive'?"),
        ({"drift": "mnd"}, "no drift to choose 'mnd': did you mean 'mmd'?"),
        ({"l2": 0.001}, "There is no l2 to choose '0.001'. Known: code, none."),
        ({"l2": ["code"]}, "There is no l2 to choose '['code']': did you mean 'code'?"),
        ({"l2": {"code": 1}}, "There is no l2 to choose "),
        ({"l2": True}, "There is no l2 to choose 'True'"),
    ],
)
def test_what_does_not_exist_is_answered_with_the_nearest(
    given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        chosen(given)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("target", ["table3", "table4", "figure-overhead"])
@pytest.mark.parametrize(("name", "value"), OTHERS)
def test_only_what_a_choice_changes_is_run_again(target: str, name: str, value: str) -> None:
    row = (TARGETS[target].rows[0],)
    usual = Request(target, row).cells()
    other = Request(target, row, chosen=((name, value),)).cells()
    assert len(usual) == len(other) == len({cell.folder for cell in other})
    for before, after in zip(usual, other, strict=True):
        assert after in (before, Cell(before.part.choosing(((name, value),))))
        assert (after == before) == (after.experiment == before.experiment)


@pytest.mark.parametrize("target", ["choices", "table2", "bound"])
def test_what_takes_no_choice_refuses_it(target: str) -> None:
    with pytest.raises(SettingsError, match=f"nothing to choose for '{target}': leave --choose"):
        Request(target, chosen=(("l2", "code"),)).cells()
