"""What a run depends on is recognised, and differences are named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.record.checkpoints import flattened, rebuilt
from flexcfl.runner.origin import Fingerprint, Origin, versions
from tests.record.checkpoints.interrupted import PICTURES, pictures, prepared


def of(**settings: Any) -> Origin:
    return Origin.of(prepared(**settings))


@pytest.fixture(scope="module")
def origin() -> Origin:
    return of()


def test_the_same_is_known_again(origin: Origin) -> None:
    origin.check(of())
    assert origin == of()
    assert origin.changed_versions(of()) == ""


def test_a_run_from_before_fesem_could_begin_with_one_model_is_known_again() -> None:
    now = of(algorithm="fesem", algorithm__start="distinct")
    old = replace(now, settings=tuple(each for each in now.settings if "start" not in each[0]))
    assert len(old.settings) == len(now.settings) - 1
    old.check(now)
    with pytest.raises(SettingsError, match=r"\[algorithm\] start is not what it was"):
        old.check(of(algorithm="fesem"))


def test_it_can_be_written_down(origin: Origin) -> None:
    assert rebuilt(Origin, flattened(origin, []), []) == origin


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("[local] rate", {"rate": 0.2}),
        ("[local] epochs", {"epochs": 2}),
        ("[run] rounds", {"rounds": 7}),
        ("[run] cohort", {"cohort": 4}),
        ("[run] seed", {"seed": 1}),
        ("[run] evaluate_every", {"run__evaluate_every": 2}),
        ("[run] evaluate_clients", {"run__evaluate_clients": 3}),
        ("[shift] name", {"shift": "swap-all"}),
        ("[drift] name", {"drift": "mmd"}),
        ("[model] name", {"model": "mlp"}),
        ("[algorithm] groups", {"groups": 3}),
        ("[data] arrivals", {"data__arrivals": [{"round": 3, "share": 0.2}]}),
        ("[algorithm] ", {"algorithm": "ifca"}),
        ("[local] ", {"local__steps": 3}),
    ],
)
def test_another_setting_is_named(name: str, settings: dict[str, Any], origin: Origin) -> None:
    with pytest.raises(SettingsError, match="is not what it was when this run began") as caught:
        origin.check(of(**settings))
    assert name in str(caught.value) or name.split("]")[0] in "[drift"


@pytest.mark.parametrize(
    "settings",
    [
        {"run__checkpoint_rounds": 3},
        {"run__checkpoint_seconds": 0},
        {"run__checkpoint_share": 0.5},
        {"run__data": "elsewhere"},
    ],
)
def test_what_makes_no_difference_may_change(settings: dict[str, Any], origin: Origin) -> None:
    origin.check(of(**settings))
    of(**settings).check(origin)


def without(federation: Federation, **changes: Any) -> Federation:
    return replace(federation, **changes)


def test_other_data_are_noticed(origin: Origin) -> None:
    one = pictures()
    labels, examples = one.y.copy(), one.x.copy()
    labels[7] = 1 - labels[7]
    examples[0] += 1
    lists = (one.test, one.train)
    for other in (
        without(one, y=labels),
        without(one, x=examples),
        without(one, train=lists[0], test=lists[1]),
        without(one, classes=4),
    ):
        with pytest.raises(SettingsError, match=r"The data are not those .* --data"):
            origin.check(replace(origin, data=Fingerprint.of(other)))


@given(st.integers(1, 400))
def test_the_sample_of_examples_has_the_first_and_the_last(size: int) -> None:
    one = IndexLists.of([np.array([0])])
    x, y = np.zeros((size, 2), np.float32), np.zeros(size, np.int64)
    base = Federation("one", x, y, one, one, 1)
    for place in (0, size - 1):
        changed = x.copy()
        changed[place] = 1
        assert Fingerprint.of(without(base, x=changed)) != Fingerprint.of(base)


def test_what_only_python_has_must_be_given_again(origin: Origin) -> None:
    assert origin.own == ("data",)
    with pytest.raises(SettingsError, match=r"This run has its own data, .*flexcfl\.resume"):
        origin.check(replace(origin, own=()))
    replace(origin, own=()).check(origin)  # the data are checked as well


def test_other_versions_are_reported_and_nothing_more(origin: Origin) -> None:
    older = replace(origin, versions=(("torch", "1.0"), ("python", versions()["python"])))
    older.check(origin)
    changed = older.changed_versions(origin)
    assert f"torch {versions()['torch']} (was 1.0)" in changed
    assert "numpy" in changed
    assert "not there" in changed
    assert "python" not in changed


def test_own_data_are_what_they_are() -> None:
    assert PICTURES.federation is not None
    assert Fingerprint.of(PICTURES.federation) == Fingerprint.of(pictures())
