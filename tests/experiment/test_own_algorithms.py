"""Algorithms given as classes and as objects: found again by names and settings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.aggregation import Median
from flexcfl.algorithms import ALGORITHMS, CFL, FLHC, IFCA, FedAvg, FeSEM, FlexCFL, told
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.protocol import Local

SHORT: dict[str, Any] = {"rounds": 2, "cohort": 3, "epochs": 1}


@dataclass(frozen=True)
class Mine(FedAvg):
    """FedAvg under another name."""

    patience: int = 3


@pytest.mark.parametrize("name", ALGORITHMS.ours)
def test_what_the_registry_makes_is_known_by_its_name(name: str) -> None:
    entry = ALGORITHMS.ours[name]
    local = Local(prox=1.0) if entry.proximal else Local()
    found, settings = told(entry.make(entry.options(), local))
    assert found == ("fedavg" if name == "fedprox" else name)
    assert settings == ({"local.prox": 1.0} if entry.proximal else {})


@pytest.mark.parametrize(
    ("algorithm", "name", "settings"),
    [
        (FlexCFL(groups=4, alpha=2), "flexcfl", {"algorithm.groups": 4, "algorithm.alpha": 2}),
        (FlexCFL(groups="auto", migrates=False), "fedgroup", {"algorithm.groups": "auto"}),
        (IFCA(migrates=True), "ifca-mig", {}),
        (FeSEM(Local(rate=0.5), start="distinct"), "fesem",
         {"algorithm.start": "distinct", "local.rate": 0.5}),
        (CFL, "cfl", {}),
        (FLHC, "flhc", {}),
        (FedAvg, "fedavg", {}),
        (Mine(Local(), patience=9), f"{__name__}:Mine", {"algorithm.patience": 9}),
        (Mine, f"{__name__}:Mine", {}),
    ],
)  # fmt: skip
def test_classes_and_objects_have_names_and_settings(
    algorithm: object, name: str, settings: dict[str, object]
) -> None:
    assert told(algorithm) == (name, settings)


def test_an_object_runs_as_its_name_does(blobs: Federation) -> None:
    named = flexcfl.run(dataset=blobs, algorithm="flexcfl", groups=2, **SHORT)
    given = flexcfl.run(dataset=blobs, algorithm=FlexCFL(groups=2), **SHORT)
    assert given.experiment == named.experiment
    assert np.array_equal(np.stack(given.models), np.stack(named.models))


def test_a_class_of_ones_own_runs_with_its_fields_as_options(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, algorithm=Mine, set={"algorithm.patience": 5}, **SHORT)
    assert run.experiment.algorithm.name == f"{__name__}:Mine"
    assert run.experiment.algorithm.options.patience == 5
    with pytest.raises(SettingsError, match="patience"):
        flexcfl.run(dataset=blobs, algorithm=Mine, set={"algorithm.patience": "x"}, **SHORT)


def test_what_is_no_algorithm_is_refused(blobs: Federation) -> None:
    @dataclass(frozen=True)
    class Inner(FedAvg):
        pass

    cases: list[tuple[Any, str]] = [
        (5, "algorithm must be a name, a class with start, round, serving"),
        (Inner, "cannot be found by its name, which going on with the run takes: define it at the"),
        (FedAvg(Local(), Median()), "has a rule of its own: set it as aggregation.name"),
        (FlexCFL(groups=2), "'groups' is set twice: leave it out beside the algorithm"),
    ]
    for algorithm, sentence in cases:
        with pytest.raises(SettingsError, match=sentence):
            flexcfl.run(dataset=blobs, algorithm=algorithm, groups=2, **SHORT)
    with pytest.raises(TypeError, match="options are given, and groups as well"):
        FlexCFL(options=FlexCFL(groups=2).options, groups=3)
