"""Runs with clients that vanish, break, attack or keep to themselves, over the registries."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import flexcfl
from flexcfl.aggregation import RULES
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation, by_owner, split
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.experiment.objects import UserObjects
from flexcfl.protocol import NO_GROUP
from flexcfl.protocol.cohorts import Policy
from flexcfl.runner.execute import execute
from flexcfl.runner.result import Run
from flexcfl.trust.faults import ATTACKS, Behaviour, Faults, Roles, SignFlip
from flexcfl.trust.faults.failures import KINDS
from flexcfl.trust.guards import REASONS
from tests.record.checkpoints.interrupted import (
    CLIENTS,
    check_same,
    pictures,
    prepared,
    resumed,
    stopped,
    whole,
)

MOVING: dict[str, Any] = {"shift": "swap-all", "shift__probability": 0.3}
PRIVATE = {"privacy__clip": 0.5, "privacy__noise": 0.1}
TROUBLES: dict[str, dict[str, Any]] = {
    "dropout": {"faults__dropout": 0.4},
    "midway": {"faults__midway": 0.4},
    "slowness": {"faults__slowness": 2.0, "faults__time_budget": 1.5},
    **{kind: {f"faults__{kind}": 0.2} for kind in KINDS},
    **{name: {"attack__name": name, "attack__share": 0.3} for name in ATTACKS},
    "private clients": {"privacy__level": "client", **PRIVATE},
    "private groups": {"privacy__level": "group", **PRIVATE},
    "spent budget": {"privacy__level": "client", **PRIVATE, "privacy__epsilon": 450.0},
}
ALL: dict[str, Any] = {
    "faults__dropout": 0.2,
    "faults__midway": 0.2,
    "faults__slowness": 1.0,
    **{f"faults__{kind}": 0.1 for kind in KINDS},
    "attack__name": "sign-flip",
    "attack__clients": 2,
    "aggregation__name": "median",
    "guards__norm_bound": 3.0,
    "guards__norm_action": "clip",
}
# What of all that went wrong shows in a column of rounds.csv.
COLUMN = {
    "slowness": "rejected_late",
    "nan": "rejected_not_finite",
    "infinite": "rejected_not_finite",
    "huge": "rejected_norm",
    "misshapen": "rejected_shape",
    "stale": "rejected_stale",
}


def ran(**settings: Any) -> Run:
    return execute(prepared(**{**MOVING, **settings}))


def check_whole(run: Run) -> None:
    """Demand that all models are numbers, of a size that honest training gives."""
    models = np.stack(run.models)
    assert np.isfinite(models).all()
    assert np.abs(models).max() < 1e3


@pytest.mark.parametrize("trouble", sorted(TROUBLES))
def test_no_trouble_costs_more_than_itself(trouble: str) -> None:
    run = ran(**TROUBLES[trouble])
    check_whole(run)
    rejected = {name: int(run.rounds[f"rejected_{name}"].sum()) for name in REASONS}
    assert rejected == run.summary["rejected"]
    named = COLUMN.get(trouble, "rejected_none").removeprefix("rejected_")
    assert {name for name, number in rejected.items() if number} == {named} & {*REASONS}


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_withstands_everything_at_once(algorithm: str) -> None:
    check_whole(ran(algorithm=algorithm, **ALL))


@pytest.mark.slow
@pytest.mark.parametrize("trouble", sorted(TROUBLES))
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_with_every_trouble(algorithm: str, trouble: str) -> None:
    check_whole(ran(algorithm=algorithm, **TROUBLES[trouble]))


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("algorithm", ["flexcfl", "cfl", "fesem-mig"])
def test_every_rule_makes_models(rule: str, algorithm: str) -> None:
    run = ran(algorithm=algorithm, aggregation__name=rule)
    check_whole(run)
    assert run.summary["aggregation"] == rule


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_rules_reach_every_algorithm(algorithm: str) -> None:
    mean, median = (ran(algorithm=algorithm, aggregation__name=rule) for rule in ("mean", "median"))
    assert not np.array_equal(np.concatenate(mean.models), np.concatenate(median.models))


@pytest.mark.parametrize("name", ["all", "spent budget", "label-flip"])
def test_what_went_wrong_goes_wrong_again_after_a_stop(name: str, tmp_path: Path) -> None:
    settings = {**MOVING, **(ALL if name == "all" else TROUBLES[name])}
    expected = whole(prepared(**settings), tmp_path / "whole")
    for number, last in enumerate((2, 4)):
        stopped(prepared(**settings), tmp_path / "parts", last, again=number > 0)
    check_same(resumed(tmp_path / "parts"), expected)


def test_faults_are_the_same_for_every_algorithm() -> None:
    """Those that train the whole cohort, whatever for, lose the same clients in every round."""
    names = ("fedavg", "fedprox", "ifca", "fesem")
    runs = [ran(algorithm=name, run__cohorts="uniform", **ALL) for name in names]
    for run in runs:
        assert run.summary["attack"] == {"name": "sign-flip", "clients": 2}
        for column in ("trained", "rejected_late", "rejected_not_finite", "rejected_shape"):
            assert run.rounds[column].tolist() == runs[0].rounds[column].tolist(), column
    assert len(set(runs[0].rounds["trained"].tolist())) > 1


def test_a_clean_run_has_neither_attackers_nor_rejections() -> None:
    run = ran()
    assert [run.summary[name] for name in ("attack", "privacy", "honest")] == [None] * 3
    assert not sum(run.summary["rejected"].values())
    assert np.isnan(run.rounds["honest_accuracy"]).all()
    assert (run.rounds["trained"] == run.rounds["cohort"]).all()


def test_honest_clients_are_measured_by_themselves(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"attack__name": "label-flip", "attack__clients": 4}
    run = whole(prepared(algorithm="fedavg", **settings), tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))
    assert summary["attack"] == {"name": "label-flip", "clients": 4}
    with (tmp_path / "run" / "rounds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["honest_accuracy"] for row in rows)
    assert (run.rounds["honest_accuracy"] != run.rounds["accuracy"]).any()


def test_a_round_in_which_nobody_answers_leaves_all_models_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Drop-out begins after the start: without clients, no group could be founded."""
    original = Behaviour.at

    def at(self: Behaviour, number: int, executor: Any) -> Any:
        always = Behaviour(Faults(dropout=1.0), None, self.roles, self.seed)
        return original(always if number > 1 else self, number, executor)

    monkeypatch.setattr(Behaviour, "at", at)
    for algorithm in ALGORITHMS:
        first = ran(algorithm=algorithm, rounds=1, faults__dropout=1e-9)
        later = ran(algorithm=algorithm, rounds=4, faults__dropout=1e-9)
        assert np.array_equal(np.stack(first.models), np.stack(later.models)), algorithm
        assert later.rounds["trained"][1:].tolist() == [0, 0, 0]
        # Nothing trained, so there is no loss; the models are tested all the same.
        assert np.isnan(later.rounds["loss"][1:]).all()


def test_where_nobody_is_there_to_found_groups_one_sentence_says_so() -> None:
    with pytest.raises(TrainingError, match=r"Only 0 of all clients .* wait for more clients"):
        ran(faults__dropout=1.0)


@pytest.mark.parametrize("policy", get_args(Policy))
def test_accuracy_is_measured_though_some_never_find_a_group(policy: str) -> None:
    """All were selected once; IFCA places clients that train, and some send nothing usable."""
    run = ran(algorithm="ifca", faults__nan=0.3, cohort=6, rounds=9, run__cohorts=policy)
    cohorts = prepared(cohort=6, run__cohorts=policy).cohorts
    seen: set[int] = set()
    for number, accuracy in enumerate(run.rounds["accuracy"], start=1):
        seen |= set(cohorts.choose(number).tolist())
        assert np.isnan(accuracy) == (len(seen) < CLIENTS)
    assert len(seen) == CLIENTS
    assert run.rounds["tested"][-1] < CLIENTS


def scaled(clients: list[int], factor: float) -> Federation:
    """Return ten clients with random labels, the features of some of them multiplied."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 6)).astype(np.float32), rng.integers(3, size=200)
    owner = np.arange(200) % 10
    x[np.isin(owner, clients)] *= factor
    train, test = split(by_owner(owner), test_share=0.2, rng=rng)
    return Federation("mine", x, y, train, test, classes=3)


@pytest.mark.parametrize(
    ("clients", "factor", "diverged"),
    [([], 1, 0), ([5, 6, 7, 8], 1e30, 0), ([5, 6, 7, 8, 9], 1e30, 3), ([*range(10)], 1e3, 3)],
    ids=["fine", "fewer than half", "half of them", "by the loss"],
)
def test_rounds_in_which_training_diverged_are_counted(
    clients: list[int], factor: float, diverged: int
) -> None:
    mine = scaled(clients, factor)
    run = flexcfl.run(dataset=mine, algorithm="fedavg", rounds=3, cohort=10)
    assert run.summary["diverged"] == diverged


def test_a_newcomer_whose_training_diverges_is_in_no_group() -> None:
    options: dict[str, Any] = {"rounds": 3, "cohort": 5, "groups": 2, "seed": 1}
    run = flexcfl.run(dataset=scaled([9], 1e30), **options, set={"algorithm.alpha": 3})
    assert run.group_of[9] == NO_GROUP
    assert NO_GROUP not in run.group_of[:9]
    assert run.rounds["rejected_not_finite"].sum() > 0


def test_everybody_diverging_is_no_fault_of_a_client() -> None:
    with pytest.raises(TrainingError, match=r"The training of all .* diverged.*--rate"):
        ran(algorithm="fedavg", rate=1e30, local__l2=1e6)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"faults__dropout": 1.5}, r"\[faults\] dropout must be less than or equal to 1, not 1.5"),
        ({"faults__nan": -0.1}, r"\[faults\] nan must be greater than or equal to 0"),
        ({"faults__nan": 0.6, "faults__huge": 0.6}, "clients"),
        ({"attack__name": "sign-flip", "attack__clients": 13}, "13"),
        ({"attack__name": "sign-flop"}, "sign-flip"),
        ({"attack__share": 0.2}, r"\[attack\] share is set, but no attack is chosen"),
        ({"aggregation__name": "trimmed-mean", "aggregation__trim": 0.5}, r"\[aggregation\] trim"),
        ({"aggregation__name": "medium"}, "median"),
        ({"aggregation__trim": 0.1}, r"\[aggregation\] has no setting 'trim'"),
        ({"privacy__level": "client", "privacy__epsilon": 0}, r"epsilon must be greater than 0"),
        ({"privacy__level": "client", "privacy__epsilon": 1e-6}, "epsilon"),
        ({"privacy__noise": 2.0}, r"\[privacy\] noise is set, but .* privacy\.level"),
        ({"privacy__level": "group", "aggregation__name": "krum"}, "krum"),
        ({"privacy__level": "group", "guards__founder_cosine": 0}, "privacy.level=client"),
        ({"guards__norm_bound": 0}, r"\[guards\] norm_bound must be greater than or equal to 1"),
        ({"guards__norm_bund": 1}, "norm_bound"),
    ],
)
def test_bad_input_is_one_clear_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as caught:
        prepared(**settings)
    assert str(caught.value).rstrip().endswith((".", "?"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("attack", ["sign-flip", "label-flip"])
def test_with_cfl_attackers_end_in_a_cluster_of_their_own(attack: str) -> None:
    """As Sattler et al. (ICASSP 2020) found, if honest clients agree with each other."""
    settings = {
        "data.partition": "iid",
        "data.clients": 30,
        "algorithm.participation": "full",
        "algorithm.rounds_before": 2,
        "algorithm.eps1": 1e6,
        "algorithm.eps2": 0.0,
        "algorithm.gamma": 0.7,
        "attack.name": attack,
        "attack.clients": 9,
    }
    run = flexcfl.run(dataset="digits", algorithm="cfl", shift="none", rounds=6, set=settings)
    hostile = Roles.drawn(Faults(), SignFlip(clients=9), 30, seed=0).hostile
    (honest,) = set(run.group_of[~hostile].tolist())
    (others,) = set(run.group_of[hostile].tolist())
    assert honest != others


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("[attack]\nshare = 0.2", "no attack is chosen"),
        ("[aggregation]\ntrim = 0.2", "has no setting 'trim'"),
        ("[privacy]\nlevel = 'none'\nclip = 5.0", "clip is set"),
        ("[drift]\nthreshold = 0.2", "has no setting 'threshold'"),
    ],
)
def test_a_file_without_a_needed_setting_is_refused(
    file: str, sentence: str, tmp_path: Path
) -> None:
    """An option without the name that it belongs to is not dropped silently."""
    (tmp_path / "experiment.toml").write_text(file, "utf-8")
    with pytest.raises(SettingsError, match=sentence):
        flexcfl.run(tmp_path / "experiment.toml", rounds=1)


def test_a_number_of_attackers_takes_the_place_of_a_share_and_back() -> None:
    file = {"attack": {"name": "noise", "share": 0.1}}
    for setting, number in ((("clients", 3), 3), (("share", 0.3), 30)):
        run = flexcfl.run(file, rounds=1, set={f"attack.{setting[0]}": setting[1]})
        assert run.summary["attack"] == {"name": "noise", "clients": number}
        file = {"attack": run.experiment.tables()["attack"]}


def test_guards_that_are_off_are_off_again_when_the_run_is_repeated(tmp_path: Path) -> None:
    settings = {"guards.norm_bound": "none", "faults.huge": 0.1}
    run = flexcfl.run(algorithm="fedavg", rounds=2, set=settings, out=tmp_path / "run")
    again = flexcfl.run(tmp_path / "run" / "experiment.toml")
    assert run.summary["rejected"] == again.summary["rejected"]
    assert not run.summary["rejected"]["norm"]
    assert np.array_equal(run.models[0], again.models[0])


def test_a_few_broken_clients_never_end_a_run() -> None:
    """With drop-out they may be all of a cohort that are left."""
    federation = pictures()
    x = federation.x.copy()
    for client in (3, 8):
        x[federation.train[client]] = 1e30
    own = UserObjects(federation=replace(federation, x=x))
    for seed in range(12):
        ready = prepared("fedavg", own, rounds=30, seed=seed, faults__dropout=0.6)
        check_whole(execute(ready))


def test_who_does_not_hear_of_its_group_has_none() -> None:
    """FlexCFL-RAC draws groups: a client that is away would not know later that it drifted."""
    settings = {**MOVING, "cohort": 3, "faults__dropout": 0.5, "algorithm": "flexcfl-rac"}
    ready = prepared(**settings)
    placed = execute(ready).rounds["placed"]
    absence = Behaviour(ready.experiment.faults, None, ready.roles, 0).absence
    chosen = {number: ready.cohorts.choose(number) for number in range(1, len(placed) + 1)}
    before = placed[0]
    for number, count in enumerate(placed[1:].tolist(), start=2):
        away = absence.away(number)
        assert away is not None
        assert count - before <= np.count_nonzero(~away[chosen[number]])
        before = count
