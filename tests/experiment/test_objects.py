"""Datasets, models, algorithms, shifts and detectors given as classes and as objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

import flexcfl
from flexcfl.aggregation import Median
from flexcfl.algorithms import (
    ALGORITHMS,
    CFL,
    FLHC,
    IFCA,
    FedAvg,
    FeSEM,
    FlexCFL,
    name_and_settings,
)
from flexcfl.data import DATASETS, Federation
from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.experiment.objects import UserObjects, user_objects
from flexcfl.protocol import Local
from flexcfl.shifts import Incremental, LabelPermutation, Release, SwapAll, SwapPart
from flexcfl.shifts.detection import MMD, LabelShare
from tests.blobs import make_blobs
from tests.record.checkpoints.interrupted import content

HERE = __name__
SHORT: dict[str, Any] = {"rounds": 3, "cohort": 3, "epochs": 1}


@dataclass(frozen=True)
class Blobs:
    """Six clients, with data that depend on nothing but the class."""

    shuffled: bool = False

    def __call__(self) -> Federation:
        return make_blobs()


def linear() -> nn.Module:
    return nn.Linear(2, 3)


class Net(nn.Linear):
    """A network that is a class."""

    def __init__(self) -> None:
        super().__init__(2, 3)


@dataclass(frozen=True)
class Mine(FedAvg):
    """FedAvg under another name."""

    patience: int = 3


@dataclass(frozen=True)
class Often(SwapAll):
    """A custom shift."""


@dataclass(frozen=True)
class Strict(LabelShare):
    """A custom detector."""


BASE: dict[str, Any] = {"dataset": make_blobs, "algorithm": FlexCFL(groups=2)}
RELEASES = (Release(0, 0.5), Release(2, 1.0))


@pytest.mark.parametrize(
    ("option", "given", "settings"),
    [
        ("dataset", Blobs, {"data.name": f"{HERE}:Blobs"}),
        ("dataset", Blobs(shuffled=True), {"data.name": f"{HERE}:Blobs", "data.shuffled": True}),
        ("dataset", make_blobs, {"data.name": "tests.blobs:make_blobs"}),
        ("dataset", DATASETS["clusters"].options, {"data.name": "clusters"}),
        ("model", linear, {"model.name": f"{HERE}:linear"}),
        ("model", Net, {"model.name": f"{HERE}:Net"}),
        ("shift", SwapAll, {"shift.name": ["swap-all"]}),
        ("shift", SwapAll(0.2), {"shift.name": ["swap-all"], "shift.probability": 0.2}),
        ("shift", Often(0.2), {"shift.name": [f"{HERE}:Often"], "shift.probability": 0.2}),
        ("shift", [SwapPart(0.1), "swap-all", SwapAll(0.1)], None),  # named twice
        ("shift", [SwapPart(0.05), "swap-all"],
         {"shift.name": ["swap-part", "swap-all"], "shift.probability": 0.05}),
        ("shift", Incremental(RELEASES), {"shift.name": ["incremental"], "shift.schedule": [
            {"round": 0, "share": 0.5}, {"round": 2, "share": 1.0}]}),
        ("drift", MMD, {"drift.name": "mmd"}),
        ("drift", LabelShare(0.3), {"drift.name": "label-share", "drift.fraction": 0.3,
                                    "drift.level": LabelShare().level}),
        ("drift", Strict(0.3), {"drift.name": f"{HERE}:Strict", "drift.fraction": 0.3,
                                "drift.level": LabelShare().level}),
        ("algorithm", FlexCFL(groups=4, alpha=2),
         {"algorithm.name": "flexcfl", "algorithm.groups": 4, "algorithm.alpha": 2}),
        ("algorithm", FlexCFL(groups="auto", migrates=False),
         {"algorithm.name": "fedgroup", "algorithm.groups": "auto"}),
        ("algorithm", IFCA(migrates=True), {"algorithm.name": "ifca-mig"}),
        ("algorithm", FeSEM(Local(rate=0.5), start="distinct"),
         {"algorithm.name": "fesem", "algorithm.start": "distinct", "local.rate": 0.5}),
        ("algorithm", CFL, {"algorithm.name": "cfl"}),
        ("algorithm", FLHC, {"algorithm.name": "flhc"}),
        ("algorithm", FedAvg, {"algorithm.name": "fedavg"}),
        ("algorithm", Mine(Local(), patience=9),
         {"algorithm.name": f"{HERE}:Mine", "algorithm.patience": 9}),
        ("algorithm", Mine, {"algorithm.name": f"{HERE}:Mine"}),
    ],
)  # fmt: skip
def test_what_can_be_found_again_has_a_name_and_settings(
    option: str, given: Any, settings: dict[str, Any] | None
) -> None:
    if settings is None:
        with pytest.raises(SettingsError, match="is named twice"):
            user_objects({option: given})
        return
    assert user_objects({option: given}) == (UserObjects(), settings)


@pytest.mark.parametrize("name", ALGORITHMS.ours)
def test_what_the_registry_makes_is_known_by_its_name(name: str) -> None:
    entry = ALGORITHMS.ours[name]
    local = Local(prox=1.0) if entry.proximal else Local()
    found, settings = name_and_settings(entry.make(entry.options(), local))
    assert found == ("fedavg" if name == "fedprox" else name)
    assert settings == ({"local.prox": 1.0} if entry.proximal else {})


def test_shifts_whose_common_options_differ_stay_objects() -> None:
    """In a file an option is for all shifts that have it."""
    for second in (SwapPart(0.1), SwapPart, "swap-part", LabelPermutation(0.1)):
        objects, given = user_objects({"shift": [SwapAll(0.2), second]})
        assert objects.parts == ("shifts",)
        assert objects.shifts is not None
        assert given == {"shift": list(objects.shifts)}
        assert next(iter(objects.shifts.items())) == ("swap-all", SwapAll(0.2))


class Stopping(flexcfl.Callback):
    """Breaks a run off in its second round."""

    def round(self, done: Any) -> None:
        if done.figures.round == 2:
            raise KeyboardInterrupt


def local_objects() -> dict[str, Any]:
    """Return one object of each kind that no other process could find."""

    @dataclass(frozen=True)
    class Hidden(SwapAll):
        pass

    @dataclass(frozen=True)
    class Watching(LabelShare):
        pass

    @dataclass(frozen=True)
    class Method(FedAvg):
        pass

    objects: dict[str, Any] = {"dataset": lambda: make_blobs(), "model": partial(nn.Linear, 2, 3)}
    return {**objects, "shift": Hidden(0.5), "drift": Watching(0.2), "algorithm": Method}


GIVEN: dict[str, Any] = {
    "dataset": Blobs(),
    "model": linear,
    "shift": Often(0.5),
    "drift": Strict(0.2),
    "algorithm": FlexCFL(groups=2),
}


def interrupted(out: Path, **given: Any) -> flexcfl.Run:
    """Leave a run of this in ``whole``, and one that was broken off in ``part``."""
    each: dict[str, Any] = {**SHORT, "set": {"run.checkpoint_rounds": 1}, **given}
    with pytest.raises(KeyboardInterrupt):
        flexcfl.run(out=out / "part", callbacks=[Stopping()], **each)
    return flexcfl.run(out=out / "whole", **each)


@pytest.mark.parametrize("option", GIVEN)
def test_a_run_of_what_has_a_name_is_repeated_and_resumed_without_it(
    option: str, tmp_path: Path
) -> None:
    """A contract of all kinds."""
    given: dict[str, Any] = {**BASE, option: GIVEN[option]}
    run = interrupted(tmp_path, **given)
    assert run.summary["own"] == []
    assert "To run it again" in (tmp_path / "whole" / "experiment.toml").read_text()
    again = flexcfl.run(tmp_path / "whole" / "experiment.toml")
    assert np.array_equal(np.stack(again.models), np.stack(run.models))
    flexcfl.resume(tmp_path / "part", **({option: given[option]} if option != "algorithm" else {}))
    assert content(tmp_path / "part") == content(tmp_path / "whole")


@pytest.mark.parametrize("option", GIVEN)
def test_a_run_of_what_has_no_name_is_resumed_with_the_same_object(
    option: str, tmp_path: Path
) -> None:
    """A contract of all kinds but algorithms, which are refused."""
    given: dict[str, Any] = {**BASE, option: local_objects()[option]}
    if option == "algorithm":
        with pytest.raises(SettingsError, match="cannot be found by its name, which going on with"):
            flexcfl.run(**given, **SHORT)
        return
    run = interrupted(tmp_path, **given)
    part = {"dataset": "data", "shift": "shifts", "drift": "detector"}.get(option, option)
    assert run.summary["own"] == [part]
    sentence = f"its own {part}, which only Python has: go on with flexcfl.resume, and give it"
    with pytest.raises(SettingsError, match=sentence):
        flexcfl.resume(tmp_path / "part")
    flexcfl.resume(tmp_path / "part", **{option: given[option]})
    assert content(tmp_path / "part") == content(tmp_path / "whole")


def test_another_object_than_the_run_began_with_is_refused(tmp_path: Path) -> None:
    interrupted(tmp_path, dataset=make_blobs, groups=2, drift=Strict(0.2))
    with pytest.raises(SettingsError, match=r"\[drift\] fraction is not what it was"):
        flexcfl.resume(tmp_path / "part", drift=Strict(0.3))


def test_an_object_runs_as_its_name_does(blobs: Federation) -> None:
    named = flexcfl.run(dataset=blobs, algorithm="flexcfl", groups=2, shift="swap-all", **SHORT)
    objects: dict[str, Any] = {"algorithm": FlexCFL(groups=2), "shift": SwapAll()}
    given = flexcfl.run(dataset=blobs, **objects, **SHORT)
    assert given.experiment == named.experiment
    assert np.array_equal(np.stack(given.models), np.stack(named.models))


def test_a_custom_class_runs_with_its_fields_as_options(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, algorithm=Mine, set={"algorithm.patience": 5}, **SHORT)
    assert run.experiment.algorithm.name == f"{HERE}:Mine"
    assert run.experiment.algorithm.options.patience == 5
    with pytest.raises(SettingsError, match="patience"):
        flexcfl.run(dataset=blobs, algorithm=Mine, set={"algorithm.patience": "x"}, **SHORT)
    shifting: dict[str, Any] = {"dataset": blobs, "shift": Often, "set": {"shift.probability": 0.3}}
    assert flexcfl.run(**shifting, **SHORT).experiment.shift == {f"{HERE}:Often": Often(0.3)}


def needy(width: int) -> None: ...


def refused() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"algorithm": 5}, "algorithm must be a name, a class with start, round, serving"
    yield {"algorithm": FedAvg(Local(), Median())}, "has a rule of its own: set it as aggregation"
    yield {"algorithm": FlexCFL(groups=2), "groups": 2}, "'groups' is set twice: leave it out besi"
    yield {"dataset": 5}, r"\[data\] name must be a text, not 5"
    yield {"dataset": lambda: 5}, "which makes the dataset, returned int"
    yield {"shift": 3}, "must be an object with the methods check and apply"
    yield {"shift": {"mine": 3}}, "The shift 'mine' must be an object"
    yield {"shift": {"mine": SwapAll}}, "The shift 'mine' must be an object"
    yield {"shift": needy}, "must be a class with check and apply"
    yield {"drift": 5}, "drift must be a name or an object with the methods profiles and drifted"
    yield {"drift": Net}, "must be a class with profiles and drifted"
    for option, own, key in (("shift", SwapAll(), "probability"), ("drift", MMD(), "level")):
        sentence = f"{key} is set, but {option} is an object of your own: set its options where"
        yield {option: own, "set": {f"{option}.{key}": 0.1}}, sentence
    yield {"shift": {"mine": SwapAll()}, "set": {"shift.probability": 0.1}}, "set its options where"


@pytest.mark.parametrize(("given", "sentence"), list(refused()))
def test_what_does_not_fit_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FlexcflError, match=sentence):
        flexcfl.run(**{**SHORT, "dataset": make_blobs, **given})


def test_options_are_given_once() -> None:
    with pytest.raises(TypeError, match="options are given, and groups as well"):
        FlexCFL(options=FlexCFL(groups=2).options, groups=3)
