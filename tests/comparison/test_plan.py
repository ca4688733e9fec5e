"""Which runs there are, and what is refused before any of them is started."""

from typing import Any

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.comparison.plan import DEFAULT, PlannedRun, own_settings, plan_runs, shared_settings
from flexcfl.errors import SettingsError
from flexcfl.experiment.layers import options_layer


def plan(*names: str, seeds: int = 1, **assigned: Any) -> dict[str, PlannedRun]:
    layer = options_layer({}, {key.replace("__", "."): value for key, value in assigned.items()})
    return {run.folder: run for run in plan_runs(names, seeds, layer)}


def test_every_algorithm_has_every_seed_and_they_go_ahead_side_by_side() -> None:
    runs = plan("fedavg", "ifca", seeds=2)
    assert list(runs) == ["fedavg-seed0", "ifca-seed0", "fedavg-seed1", "ifca-seed1"]
    assert all(run.experiment.run.seed == run.seed for run in runs.values())
    assert [run.experiment.algorithm.name for run in runs.values()] == ["fedavg", "ifca"] * 2


def test_all_algorithms_can_be_compared_and_differ_in_nothing_else() -> None:
    runs = plan(*ALGORITHMS).values()
    common = shared_settings([run.experiment for run in runs])
    for run in runs:
        whole, others = run.experiment.tables(), own_settings(run.experiment, common)
        assert others.pop("algorithm") == whole["algorithm"]
        assert others.pop("local") == {"prox": run.experiment.local.prox}
        assert others.keys() <= {"drift"}  # which only those have that ask for it
    assert common["run"]["cohorts"] == "round-robin-then-uniform"
    assert "prox" not in common["local"]


def test_what_is_shared_and_what_is_ones_own_make_the_whole_but_for_the_seed() -> None:
    runs = plan(*DEFAULT, seeds=2)
    common = shared_settings([run.experiment for run in runs.values()])
    for run in runs.values():
        whole, rest = run.experiment.tables(), own_settings(run.experiment, common)
        seed = {"seed": whole["run"].pop("seed")}
        assert seed == {"seed": run.seed}
        assert whole == {name: common.get(name, {}) | rest.get(name, {}) for name in whole}


def test_cohorts_are_the_same_for_all_whatever_they_are() -> None:
    runs = plan("fedavg", "flexcfl", run__cohorts="uniform").values()
    assert {run.experiment.run.cohorts for run in runs} == {"uniform"}


def test_a_setting_that_only_some_have_is_given_to_those() -> None:
    settings: dict[str, Any] = {"algorithm__groups": 3, "algorithm__eta_g": 0.1}
    runs = plan("fedavg", "ifca", "flexcfl", "cfl", **settings)
    options = {run.algorithm: run.experiment.algorithm.options for run in runs.values()}
    assert (options["flexcfl"].groups, options["flexcfl"].eta_g) == (3, 0.1)
    assert options["ifca"].groups == 3
    assert not hasattr(options["cfl"], "groups")


def test_the_weight_of_fedprox_leaves_the_others_as_they_are() -> None:
    runs = plan("fedavg", "fedprox", local__prox=0.1)
    assert runs["fedavg-seed0"].experiment.local.prox == 0
    assert runs["fedprox-seed0"].experiment.local.prox == 0.1


def test_without_fedprox_its_term_can_be_given_to_all() -> None:
    runs = plan("fedavg", "ifca", local__prox=0.1).values()
    assert {run.experiment.local.prox for run in runs} == {0.1}


@pytest.mark.parametrize(
    ("names", "settings", "sentence"),
    [
        ("fedavg flexcf", {}, "There is no algorithm 'flexcf': did you mean 'flexcfl'?"),
        ("fedavg ifca fedavg", {}, "'fedavg' is named twice: name every algorithm once."),
        ("", {}, "There is no algorithm to compare"),
        ("fedavg", {"seeds": 0}, "seeds must be a whole number from 1 to 1000, not 0"),
        ("fedavg", {"seeds": -1}, "not -1: correct --seeds"),
        ("fedavg", {"seeds": True}, "not True"),
        ("fedavg", {"algorithm__groups": 3}, "'fedavg' trains one model for everybody"),
        ("fedavg", {"algorithm__eta_g": 1}, "'fedavg': [algorithm] has no setting 'eta_g'"),
        ("fedavg flexcfl", {"algorithm__eta": 1}, "None of the algorithms (fedavg, flexcfl) has a"),
        ("fedavg flexcfl", {"algorithm__eta": 1}, "'eta': did you mean 'eta_g'?"),
        ("fedavg ifca", {"algorithm__groups": "auto"}, "'ifca': [algorithm] groups must be a whol"),
        ("fedavg ifca", {"algorithm__name": "cfl"}, "name the algorithms as its arguments"),
        ("fedavg ifca", {"run__seed": 3}, "set their number with --seeds"),
        ("fedavg ifca", {"local__rte": 3}, "[local] has no setting 'rte': did you mean 'rate'?"),
        ("fedavg ifca", {"data__name": "minst"}, "There is no dataset 'minst'"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    names: str, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        plan(*names.split(), **settings)
    assert sentence in str(caught.value)
