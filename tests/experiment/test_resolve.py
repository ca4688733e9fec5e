"""Settings become a complete experiment."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry
from flexcfl.data import DATASETS, Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.arrivals import Arrival
from flexcfl.experiment.defaults import defaults
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.objects import UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.shifts import SwapAll


def resolved(**tables: dict[str, Any]) -> Experiment:
    return resolve([SettingsLayer("given", tables)]).experiment


def chosen(dataset: str, algorithm: str = "fedavg") -> Experiment:
    data = {"name": dataset, **({"folder": "here"} if dataset in ("leaf", "npz") else {})}
    return resolved(data=data, algorithm={"name": algorithm})


@pytest.mark.parametrize(
    ("dataset", "model", "rate"),
    [
        ("mnist", "mclr", 0.03),
        ("femnist", "mclr", 0.003),
        ("synthetic", "mclr", 0.01),
        ("fashion-mnist", "cnn", 0.005),
    ],
)
def test_a_dataset_brings_the_papers_settings(dataset: str, model: str, rate: float) -> None:
    experiment = chosen(dataset)
    assert experiment.model.name == model
    assert experiment.local.rate == rate
    assert (experiment.local.epochs, experiment.local.batch) == (10, 10)
    assert (experiment.run.rounds, experiment.run.cohort) == (300, 20)
    assert experiment.run.cohorts == "uniform"
    assert experiment.local.prox == 0
    assert chosen(dataset, "fedprox").local.prox == 1


def test_the_default_is_flexcfl_on_digits_that_move() -> None:
    experiment = resolve([]).experiment
    assert (experiment.data.name, experiment.algorithm.name) == ("digits", "flexcfl")
    assert experiment.shift == {"swap-all": SwapAll()}
    assert experiment.drift.name == "label-share"
    assert resolved(shift={"name": "none"}).shift == {}
    assert chosen("mnist").shift == {}


def test_any_setting_overrides_the_datasets() -> None:
    experiment = resolved(data={"name": "mnist", "seed": 1}, local={"rate": 0.5}, run={"cohort": 3})
    assert experiment.data.options.seed == 1
    assert (experiment.local.rate, experiment.run.cohort) == (0.5, 3)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@pytest.mark.parametrize("dataset", sorted(DATASETS))
def test_what_is_written_is_complete_and_reads_back_as_the_same(
    dataset: str, algorithm: str, tmp_path: Path
) -> None:
    experiment = chosen(dataset, algorithm)
    file = tmp_path / "experiment.toml"
    file.write_text(toml.written(experiment, ["A remark"]))
    again = resolve([SettingsLayer("file", toml.read(file))])
    assert again.experiment == experiment
    for table in ("local", "run"):
        part = getattr(experiment, table)
        known = {item.name for item in fields(part) if getattr(part, item.name) is not None}
        assert {f"{table}.{key}" for key in known} <= set(again.sources)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"data": {"name": "minst"}}, "There is no dataset 'minst': did you mean 'mnist'?"),
        ({"data": {"name": 3}}, "[data] name must be a text, not 3."),
        ({"algorithm": {"name": "fedavgg"}}, "no algorithm 'fedavgg': did you mean 'fedavg'?"),
        ({"algorithm": {"name": "fedavg", "alpha": 1}}, "[algorithm] has no setting 'alpha'"),
        ({"data": {"clinets": 3}}, "[data] has no setting 'clinets': did you mean 'clients'?"),
        ({"model": {"name": 5}}, "[model] name must be a text, not 5."),
        ({"model": {"layers": 5}}, "[model] has no setting 'layers'"),
        ({"local": {"rate": float("nan")}}, "[local] rate must be a finite number, not nan."),
        ({"local": {"rate": float("inf")}}, "[local] rate must be a finite number, not inf."),
        ({"local": {"rate": 0}}, "[local] rate must be greater than 0, not 0."),
        ({"local": {"rate": "fast"}}, "[local] rate must be a number, not 'fast'."),
        ({"local": {"prox": -1}}, "[local] prox must be greater than or equal to 0, not -1."),
        ({"local": {"epochs": 1.5}}, "[local] epochs must be a whole number, not 1.5."),
        ({"run": {"rounds": 0}}, "[run] rounds must be greater than or equal to 1, not 0."),
        ({"run": {"cohort": -2}}, "[run] cohort must be greater than or equal to 1, not -2."),
        ({"run": {"rounds": True}}, "[run] rounds must not be true"),
        ({"run": {"seed": -1}}, "[run] seed must be greater than or equal to 0, not -1."),
        ({"run": {"evaluate_evry": 2}}, "did you mean 'evaluate_every'?"),
        (
            {"run": {"batch_size": 2}},
            "[run] has no setting 'batch_size': did you mean 'local.batch",
        ),
        ({"run": {"cohorts": "all"}}, "[run] cohorts must be 'uniform' or"),
        ({"data": {"arivals": []}}, "[data] has no setting 'arivals': did you mean 'arrivals'?"),
        ({"data": {"arrivals": 3}}, "[data] arrivals must be a list such as [{round = 100"),
        (
            {"data": {"arrivals": [{"round": 9, "share": 0.1}]}, "run": {"rounds": 8}},
            "[data] arrivals has clients appear in round 9, and the run ends after 8",
        ),
        ({"algorithm": {"name": "flexcfl", "alpha": 0}}, "[algorithm] alpha must be greater than"),
        ({"algorithm": {"name": "flexcfl", "apha": 9}}, "no setting 'apha': did you mean 'alpha'?"),
        ({"algorithm": {"name": "ifca", "groups": "auto"}}, "[algorithm] groups must be a whole"),
    ],
)
def test_a_mistake_is_one_sentence(tables: dict[str, dict[str, Any]], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolved(**tables)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox"])
def test_algorithms_with_one_model_have_one_group(algorithm: str) -> None:
    one = resolved(algorithm={"name": algorithm, "groups": 1})
    assert one == resolved(algorithm={"name": algorithm})
    with pytest.raises(SettingsError, match="one model for everybody and has no groups"):
        resolved(algorithm={"name": algorithm, "groups": 3})


def test_an_algorithm_that_finds_its_groups_is_not_given_their_number() -> None:
    with pytest.raises(SettingsError, match="'cfl' finds the number of its groups by itself"):
        resolved(algorithm={"name": "cfl", "groups": 3})


@dataclass(frozen=True)
class Clustered:
    groups: Annotated[int, Field(ge=1)] = 2


def test_the_papers_groups_reach_an_algorithm_that_has_groups() -> None:
    entry = AlgorithmEntry("clustered", make=ALGORITHMS["fedavg"].make, options=Clustered)
    for dataset, groups in (("mnist", 3), ("femnist", 5), ("digits", 5)):
        assert defaults(dataset, entry)["algorithm.groups"] == groups
        assert "algorithm.alpha" not in defaults(dataset, entry)
    assert "algorithm.groups" not in defaults("mnist", ALGORITHMS["fedavg"])


@pytest.mark.parametrize(
    ("dataset", "groups", "alpha"),
    [
        ("mnist", 3, 20),
        ("femnist", 5, 20),
        ("synthetic", 5, 20),
        ("fashion-mnist", 5, 20),
        ("digits", 5, 10),
        ("clusters", 3, 10),
    ],
)
def test_a_dataset_brings_groups_and_founders(dataset: str, groups: int, alpha: int) -> None:
    for algorithm in ("flexcfl", "fedgroup", "flexcfl-rac"):
        options = chosen(dataset, algorithm).algorithm.options
        assert (options.groups, options.alpha) == (groups, alpha)
    for algorithm in ("flexcfl-rcc", "ifca", "fesem", "flhc"):
        assert chosen(dataset, algorithm).algorithm.options.groups == groups


def test_the_number_of_groups_may_be_left_to_the_algorithm() -> None:
    options = resolved(algorithm={"name": "flexcfl", "groups": "auto"}).algorithm.options
    assert options.groups == "auto"


ARRIVALS = [{"round": 5, "share": 0.25}, {"round": 50, "share": 0.125}]


@pytest.mark.parametrize("dataset", sorted(DATASETS))
def test_arrivals_are_for_every_dataset_and_survive_being_written_down(
    dataset: str, tmp_path: Path
) -> None:
    folder = {"folder": "here"} if dataset in ("leaf", "npz") else {}
    experiment = resolved(data={"name": dataset, "arrivals": ARRIVALS, **folder})
    assert experiment.data.arrivals == (Arrival(5, 0.25), Arrival(50, 0.125))
    file = tmp_path / "experiment.toml"
    file.write_text(toml.written(experiment))
    assert resolve([SettingsLayer("file", toml.read(file))]).experiment == experiment


def test_where_nobody_arrives_later_nothing_is_written() -> None:
    nobody: list[dict[str, Any]] = [{}, {"arrivals": []}]
    for data in nobody:
        assert "arrivals" not in toml.written(resolved(data=data))


def test_the_default_cohort_fits_a_custom_federation_at_its_start(
    blobs: Federation,
) -> None:
    data = {"name": "mine", "arrivals": [{"round": 2, "share": 0.5}]}
    assert (
        resolve([SettingsLayer("given", {"data": data})], UserObjects(blobs)).experiment.run.cohort
        == 3
    )


@pytest.mark.parametrize(
    ("data", "cohort"),
    [
        ({"name": "digits", "clients": 6}, 6),
        ({"name": "digits", "clients": 60}, 20),
        ({"name": "digits", "arrivals": [{"round": 2, "share": 0.9}]}, 10),
        ({"name": "npz", "folder": "clients"}, 3),
        ({"name": "npz", "folder": "nowhere"}, 20),  # which is reported when it is read
    ],
)
def test_the_default_cohort_fits_a_dataset_whose_size_can_be_seen(
    data: dict[str, Any], cohort: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clients").mkdir()
    for name in ("ann", "bob", "cleo"):
        (tmp_path / "clients" / f"{name}.npz").touch()
    assert resolved(data=data).run.cohort == cohort
    assert resolved(data=data, run={"cohort": 7}).run.cohort == 7  # as the user set it


@pytest.mark.parametrize("folder", ["here", "../here", "/somewhere/here"])
def test_paths_are_absolute_so_that_the_file_can_be_run_from_any_folder(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    experiment = resolved(data={"name": "leaf", "folder": folder}, run={"data": folder})
    assert experiment.tables()["data"]["folder"] == str(tmp_path / folder)
    assert experiment.tables()["run"]["data"] == str(tmp_path / folder)


def test_custom_data_need_only_a_name(blobs: Federation) -> None:
    mine = SettingsLayer("given", {"data": {"name": "mine"}})
    assert resolve([mine], UserObjects(blobs)).experiment.data.name == "mine"
    with pytest.raises(SettingsError, match="no dataset 'mine'"):
        resolve([mine])


def test_of_epochs_and_steps_only_what_is_in_effect_is_written() -> None:
    experiment = resolved(local={"epochs": 3, "steps": 5})
    assert "epochs" not in experiment.tables()["local"]
    assert experiment.tables()["local"]["steps"] == 5
    again = resolved(**experiment.tables())
    assert again.tables() == experiment.tables()
