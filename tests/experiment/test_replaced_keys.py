"""An experiment is varied: defaults of a replaced name go, settings of the user stay."""

from dataclasses import replace
from typing import Any

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer, replaced_keys
from flexcfl.experiment.resolve import resolve
from tests.pairwise import pairwise

NAMES = sorted(set(DATASETS) - {"leaf", "npz"})
POOLS = sorted(set(NAMES) - {"clusters", "synthetic"})
ARRIVALS = [{"round": 3, "share": 0.5}]


def resolved(*layers: dict[str, Any]) -> Experiment:
    return resolve([SettingsLayer("given", layer) for layer in layers]).experiment


def varied(first: dict[str, Any], then: dict[str, Any]) -> Experiment:
    """Return the result of a saved experiment with further settings."""
    written = SettingsLayer("file", resolved(first).tables())
    return resolve([written, SettingsLayer("given", then)]).experiment


@pytest.mark.parametrize(("first", "then", "algorithm"), pairwise(NAMES, NAMES, sorted(ALGORITHMS)))
def test_another_dataset_or_algorithm_brings_all_that_it_would_bring_by_itself(
    first: str, then: str, algorithm: str
) -> None:
    choice = {"data.name": then, "algorithm.name": algorithm}
    assert varied({"data.name": first}, choice) == resolved(choice)


@pytest.mark.parametrize(
    "chosen",
    [
        {"local.rate": 0.5},
        {"run.rounds": 7, "run.seed": 3},
        {"model.name": "mlp"},
        {"local.steps": 3, "local.l2": 0.1},
        {"algorithm.name": "fedavg", "run.cohorts": "round-robin-then-uniform"},
        {"shift.name": ["swap-part"], "shift.probability": 0.2},
        {"data.arrivals": ARRIVALS},
    ],
)
def test_settings_of_the_user_outlive_the_dataset_and_the_algorithm(chosen: dict[str, Any]) -> None:
    then = {"data.name": "femnist", "algorithm.name": "fedprox"}
    assert varied({"data.name": "mnist", **chosen}, then) == resolved({**chosen, **then})


def test_the_cohorts_of_an_algorithm_go_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(ALGORITHMS["fedavg"], cohorts="round-robin-then-uniform")
    monkeypatch.setitem(ALGORITHMS.ours, "other", other)
    cohorts = "round-robin-then-uniform"
    fedavg = {"algorithm.name": "fedavg"}
    assert varied(fedavg, {"algorithm.name": "other"}).run.cohorts == cohorts
    assert varied({"algorithm.name": "other"}, {"algorithm.name": "fedavg"}).run.cohorts == (
        "uniform"
    )


def test_a_proximal_weight_never_makes_fedavg_what_it_is_not() -> None:
    tuned = {"algorithm.name": "fedprox", "local.prox": 0.1}
    assert varied(tuned, {"algorithm.name": "fedavg"}).local.prox == 0
    assert varied(tuned, {"data.name": "mnist"}).local.prox == 0.1
    # A file that names no algorithm sets the weight itself.
    assert resolved({"local.prox": 0.1}, {"algorithm.name": "fedprox"}).local.prox == 0.1
    assert varied({}, {"algorithm.name": "fedprox", "local.prox": 0}).local.prox == 0


def test_another_dataset_sets_aside_the_options_of_the_first_even_where_it_has_no_name() -> None:
    for first in ({"data.clients": 20}, {"data.name": "digits", "data.clients": 20}):
        assert resolved(first, {"data.name": "mnist"}) == resolved({"data.name": "mnist"})
        assert resolved(first, {"data.name": "digits"}).data.options.clients == 20


def test_a_chosen_option_stays_with_an_algorithm_that_has_it_too() -> None:
    file = {"algorithm.name": "flexcfl", "algorithm.groups": 4, "algorithm.eta_g": 0.1}
    same = {"algorithm.name": "fedgroup"}
    assert varied(file, same) == resolved({**file, **same})
    fewer = {"algorithm.name": "ifca"}
    assert varied(file, fewer) == resolved({"algorithm.groups": 4, **fewer})
    assert varied(file, {"algorithm.name": "fedavg"}) == resolved({"algorithm.name": "fedavg"})
    # A file may leave the name of the algorithm to the command line.
    unnamed = resolved({"algorithm.groups": 4}, {"algorithm.name": "flexcfl"})
    assert unnamed.algorithm.options.groups == 4


def test_an_option_that_was_a_default_gives_way_to_the_other_ones() -> None:
    cfl, flhc = {"algorithm.name": "cfl"}, {"algorithm.name": "flhc"}
    assert resolved(cfl).algorithm.options.rounds_before == 20
    assert varied(cfl, flhc) == resolved(flhc)
    assert varied({**cfl, "algorithm.rounds_before": 7}, flhc) == resolved(
        {**flhc, "algorithm.rounds_before": 7}
    )


def test_a_file_that_names_no_dataset_keeps_what_it_says() -> None:
    # The same values as the defaults of digits, but digits is not named.
    file = {"local.rate": 0.1, "run.rounds": 100, "algorithm.name": "fedavg"}
    experiment = resolved(file, {"data.name": "mnist", "algorithm.name": "fedprox"})
    assert (experiment.local.rate, experiment.run.rounds) == (0.1, 100)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("partition", ["classes", "dirichlet", "iid"])
def test_another_partition_sets_aside_what_only_the_first_takes(name: str, partition: str) -> None:
    for first in ("classes", "dirichlet", "iid"):
        then = {"data.partition": partition}
        experiment = varied({"data.name": name, "data.partition": first}, then)
        assert experiment == resolved({"data.name": name, **then})


def test_another_partition_keeps_what_it_takes_as_well() -> None:
    file = {"data.clients": 30, "data.seed": 4, "data.classes_per_client": 3}
    options = varied(file, {"data.partition": "iid"}).data.options
    assert (options.clients, options.seed, options.classes_per_client) == (30, 4, None)
    unwritten = resolved(file, {"data.partition": "iid"})
    assert unwritten.data.options == options


def test_a_setting_said_with_the_partition_is_never_set_aside() -> None:
    below = {"data.partition": "classes", "data.skew": 1.0}
    above = {"data.partition": "iid", "data.skew": 2.0}
    with pytest.raises(SettingsError, match="skew is for partition = 'classes'"):
        resolved(below, above)
    with pytest.raises(SettingsError, match="skew is for partition = 'classes'"):
        resolved({"data.partition": "iid"}, {"data.skew": 1.0})


def test_epochs_take_the_place_of_steps_below_them() -> None:
    assert replaced_keys({"local.steps": 50}, {"local.epochs": 2}) == {"local.steps"}
    assert replaced_keys({"local.epochs": 50}, {"local.steps": 2}) == set()


@pytest.mark.parametrize("name", ["nonsense", 3, ["digits"], {"a": 1}])
@pytest.mark.parametrize("key", ["data.name", "algorithm.name", "data.partition"])
def test_names_that_are_none_are_left_for_others_to_tell(key: str, name: object) -> None:
    good = {"data.name": "mnist", "algorithm.name": "fedprox", "data.partition": "iid"}
    replaced_keys({key: name}, good)
    replaced_keys(good, {key: name})
    with pytest.raises(SettingsError):
        resolved(good, {key: name})


def test_another_shift_or_detector_leaves_the_options_of_the_first_without_a_meaning() -> None:
    gradual = {"data.name": "mnist", "shift.name": ["gradual"], "shift.duration": 7}
    kept = {**gradual, "shift.probability": 0.2}
    assert varied(kept, {"shift.name": "swap-all"}) == resolved(
        {"data.name": "mnist", "shift.name": "swap-all", "shift.probability": 0.2}
    )
    assert varied(gradual, {"shift.name": "none"}) == resolved({"data.name": "mnist"})
    watched = {"drift.name": "wasserstein", "drift.threshold": 0.3}
    assert varied(watched, {"drift.name": "label-share"}) == resolved({})
    assert varied(watched, {"data.name": "mnist"}) == resolved({**watched, "data.name": "mnist"})
    # An algorithm without migration does not use it.
    assert varied(watched, {"algorithm.name": "ifca"}) == resolved({"algorithm.name": "ifca"})
    with pytest.raises(SettingsError, match="no setting 'threshold'"):
        resolved({"drift.threshold": 0.3})


def test_the_world_that_a_dataset_brings_goes_with_it() -> None:
    moving = {"data.name": "digits", "shift.probability": 0.2}
    assert varied(moving, {"data.name": "mnist"}) == resolved({"data.name": "mnist"})
    assert varied({"data.name": "mnist"}, {"data.name": "digits"}) == resolved({})
    still = {"data.name": "digits", "shift.name": "none"}
    assert varied(still, {"run.seed": 3}).shift == {}
